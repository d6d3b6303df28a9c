//! Attacks on every table but events: each row's identity, sizes and digests, and what is closed or never changes.

use legbook::digest::Digest;
use legbook::event;

use super::attacks::{self, Attack, CLAIM, NOT_DIGESTS, lock, receipt, receipt_of};
use super::{LARGE, Seed};

/// Rules whose statements need nothing of the seed but its names.
pub(super) fn plain() -> Vec<Attack> {
    const REMOVED: &str = "INSERT INTO removals VALUES ('run-2', '', 0, NULL)";
    let table: &[(&str, &str, &[&str])] = &[
        ("store_insert", "store: the identity is written once", &[
            "INSERT OR REPLACE INTO store VALUES (1, 'other', '')",
            "INSERT OR IGNORE INTO store VALUES (-1, 'other', '')",
            "INSERT INTO store VALUES (1, 'other', '') ON CONFLICT (id) DO UPDATE SET store_id = 'other'",
        ]),
        ("store_update", "store: the identity never changes while the store has a home", &[
            "UPDATE OR REPLACE store SET store_id = 'other'",
            "UPDATE store SET created_at = ''",
        ]),
        ("home_insert", "home: a store has one home, with an absolute path", &[
            "INSERT INTO home VALUES (2, x'2f', 1, 1)",
            "REPLACE INTO home VALUES (1, x'2f', 1, 1)",
        ]),
        ("home_update", "home: a home is noted anew, not changed", &["UPDATE home SET path = x'2f'"]),
        ("store_delete", "store: the identity is never removed", &["DELETE FROM store"]),
        ("settings_insert", "settings: there are exactly these; change one with UPDATE", &[
            "INSERT OR REPLACE INTO settings VALUES ('max-journal-events', 99999999, 1, 99999999, '')",
            "REPLACE INTO settings VALUES ('new', 1, 1, 1, '')",
            "INSERT INTO settings VALUES ('max-journal-events', 1, 1, 1, '')
             ON CONFLICT (key) DO UPDATE SET value = 10000001",
        ]),
        ("settings_delete", "settings: a bound is never removed", &["DELETE FROM settings"]),
        ("settings_update", "settings: only the value of a bound changes", &[
            "UPDATE OR REPLACE settings SET key = 'max-journal-bytes' WHERE key = 'max-journal-events'",
            "UPDATE settings SET highest = 99999999, value = 99999999 WHERE key = 'max-journal-events'",
            "UPDATE settings SET lowest = NULL",
            "UPDATE settings SET meaning = NULL",
        ]),
        ("settings_update", "settings: the value is outside what this bound allows", &[
            "UPDATE OR REPLACE settings SET value = 10000001 WHERE key = 'max-journal-events'",
            "UPDATE settings SET value = 0 WHERE key = 'max-journal-bytes'",
        ]),
        ("settings_update", "settings: a journal or checkpoint holds more than that already", &[
            "UPDATE settings SET value = 11 WHERE key = 'max-journal-events'",
            "UPDATE settings SET value = 65536 WHERE key = 'max-journal-bytes'",
            "UPDATE settings SET value = 1499 WHERE key = 'max-checkpoint-bytes'",
        ]),
        ("runs_insert", "runs: this run exists", &[
            "INSERT OR REPLACE INTO runs (run_id, created_at) VALUES ('run-1', '')",
            "INSERT OR REPLACE INTO runs (run_number, run_id, created_at) VALUES (1, 'other', '')",
            "INSERT INTO runs (run_id, created_at) VALUES ('run-1', '') ON CONFLICT (run_id) DO UPDATE SET created_at = ''",
        ]),
        ("runs_insert", "runs: this run was removed by retention", &[
            "INSERT INTO removals VALUES ('run-2', '', 0, NULL); DELETE FROM runs WHERE run_id = 'run-2';
             INSERT OR REPLACE INTO runs (run_id, created_at) VALUES ('run-2', '')",
        ]),
        ("runs_insert", "runs: a run id is 1 to 128 of A-Z a-z 0-9 . _ -", &[
            "INSERT INTO runs (run_id, created_at) VALUES ('', '')",
            "INSERT INTO runs (run_id, created_at) VALUES (printf('%0129d', 1), '')",
            "INSERT INTO runs (run_id, created_at) VALUES ('a/b', '')",
            "INSERT INTO runs (run_id, created_at) VALUES ('a' || char(10), '')",
            "INSERT INTO runs (run_id, created_at) VALUES ('run-1' || char(0), '')",
            "INSERT INTO runs (run_id, created_at) VALUES ('run-1' || char(0) || '/..', '')",
            "INSERT INTO runs (run_id, created_at) VALUES ('é', '')",
            "INSERT INTO runs (run_id, created_at) VALUES ('-r', '')",
            "INSERT INTO runs (run_id, created_at) VALUES ('.', '')",
            "INSERT INTO runs (run_id, created_at) VALUES ('..', '')",
            "INSERT INTO runs (run_id, created_at) VALUES ('latest', '')",
        ]),
        ("runs_insert_number", "runs: run_number must be one more than the highest", &[
            "INSERT INTO runs (run_number, run_id, created_at) VALUES (9223372036854775807, 'other', '')",
            "INSERT INTO runs (run_number, run_id, created_at) VALUES (5, 'other', '')",
            "INSERT INTO runs (run_number, run_id, created_at) VALUES (0, 'other', '')",
            "INSERT INTO runs (run_number, run_id, created_at) VALUES (-1, 'other', '')",
        ]),
        ("runs_update", "runs: a run's identity never changes", &[
            "UPDATE OR REPLACE runs SET run_id = 'run-1' WHERE run_id = 'run-2'",
            "UPDATE OR REPLACE runs SET run_number = 1 WHERE run_number = 2",
            "UPDATE runs SET rowid = 7 WHERE run_number = 2",
            "UPDATE runs SET created_at = ''",
        ]),
        ("runs_update", "runs: a journal once active stays active", &[
            "UPDATE runs SET journaled_at = NULL WHERE run_id = 'run-1'",
            "UPDATE runs SET journaled_at = '' WHERE run_id = 'run-1'",
        ]),
        ("runs_delete", "runs: only a run that retention removes may be deleted, after its events and receipts", &[
            "DELETE FROM runs WHERE run_id = 'run-2'",
            "INSERT INTO removals SELECT run_id, '', sequence, event_digest FROM events WHERE run_id = 'run-long'
                 ORDER BY sequence DESC LIMIT 1;
             DELETE FROM runs WHERE run_id = 'run-long'",
        ]),
        ("removals_insert", "removals: this run is on the list", &[
            "INSERT INTO removals VALUES ('run-2', '', 0, NULL);
             INSERT OR REPLACE INTO removals VALUES ('run-2', 'later', 0, NULL)",
        ]),
        ("removals_insert", "removals: there is no such run", &["INSERT INTO removals VALUES ('no-run', '', 0, NULL)"]),
        ("removals_insert", "removals: the run is locked", &[
            "INSERT INTO removals SELECT run_id, '', sequence, event_digest FROM events
                 WHERE run_id = 'run-1' AND sequence = 2",
        ]),
        ("removals_insert", "removals: last_sequence and last_digest must be the head of the journal", &[
            "INSERT INTO removals VALUES ('run-2', '', 1, NULL)",
            "INSERT INTO removals VALUES ('run-2', '', 0, 'x')",
            "INSERT INTO removals VALUES ('run-2', '', NULL, NULL)",
            "INSERT INTO removals VALUES ('run-long', '', 0, NULL)",
            "INSERT INTO removals VALUES ('run-long', '', 12, NULL)",
            "INSERT INTO removals SELECT run_id, '', sequence, event_digest FROM events
                 WHERE run_id = 'run-long' AND sequence = 11",
        ]),
        ("removals_update", "removals: a removal never changes", &[
            "INSERT INTO removals VALUES ('run-2', '', 0, NULL); UPDATE OR REPLACE removals SET run_id = 'run-1'",
        ]),
        ("runs_update", "runs: a run with a directory keeps one", &["UPDATE runs SET run_dir = NULL"]),
        ("removals_delete", "removals: a removal is never forgotten, unless the run is still whole", &[
            "INSERT INTO removals VALUES ('run-2', '', 0, NULL); DELETE FROM runs WHERE run_id = 'run-2'; DELETE FROM removals",
            "INSERT INTO removals SELECT run_id, '', sequence, event_digest FROM events WHERE run_id = 'run-long' AND sequence = 12;
             DELETE FROM events WHERE run_id = 'run-long' AND sequence = 12; DELETE FROM removals",
        ]),
        ("checkpoints_update", "checkpoints: a checkpoint never changes", &[
            "UPDATE OR REPLACE checkpoints SET body = x''",
            "UPDATE OR REPLACE checkpoints SET rowid = 1 WHERE rowid = 2",
        ]),
        ("checkpoints_delete", "checkpoints: an event names this checkpoint", &[
            "DELETE FROM checkpoints",
            "INSERT INTO removals VALUES ('run-2', '', 0, NULL); DELETE FROM checkpoints",
        ]),
        ("checkpoints_delete", "checkpoints: one is deleted only while retention removes a run", &[
            "DELETE FROM checkpoints WHERE byte_size = 1500",
            "INSERT INTO removals VALUES ('run-2', '', 0, NULL); DELETE FROM runs WHERE run_id = 'run-2';
             DELETE FROM checkpoints WHERE byte_size = 1500",
        ]),
        ("events_update", "events: the journal is append-only", &[
            "UPDATE OR REPLACE events SET event_number = 1 WHERE event_number = 2",
            "UPDATE events SET line = line",
            "UPDATE events SET journal_bytes = 0",
        ]),
        ("events_delete", "events: the journal is append-only", &[
            "DELETE FROM events WHERE run_id = 'run-1' AND sequence = 2",
            "DELETE FROM events",
        ]),
        ("recoveries_insert", "recoveries: this row exists", &["INSERT OR REPLACE INTO recoveries
             SELECT recovery_number, 'run-1', 2, '', NULL, NULL, sha256, byte_size, receipt FROM recoveries"]),
        ("recoveries_update", "recoveries: a receipt never changes", &[
            "UPDATE OR REPLACE recoveries SET receipt = x''",
            "UPDATE OR REPLACE recoveries SET recovery_number = 5",
        ]),
        ("recoveries_delete", "recoveries: a receipt is never removed", &["DELETE FROM recoveries"]),
        ("locks_insert", "locks: this workspace is locked", &[
            "INSERT OR REPLACE INTO locks SELECT * FROM locks",
            "INSERT INTO locks SELECT * FROM locks WHERE true ON CONFLICT (workspace) DO UPDATE SET run_id = 'run-2'",
        ]),
        ("locks_update", "locks: workspace, run, token and acquired_at of a lock never change", &[
            "UPDATE OR REPLACE locks SET workspace = '/x'",
            "UPDATE locks SET run_id = 'run-2'",
            "UPDATE locks SET token_sha256 = printf('%064d', 8)",
            "UPDATE locks SET token_sha256 = NULL",
            "UPDATE locks SET acquired_at = ''",
        ]),
        ("locks_update", "locks: a lease is 1 to 31622400 seconds (366 days)", &[
            "UPDATE locks SET lease_seconds = 0",
            "UPDATE locks SET lease_seconds = -9223372036854775808",
            "UPDATE locks SET lease_seconds = 31622401",
        ]),
        ("locks_update", "locks: an owner has a pid", &[
            "UPDATE locks SET pid = NULL",
            "UPDATE locks SET pid = 0",
            "UPDATE locks SET pid = 4294967296",
        ]),
        ("locks_update", "locks: a time is ISO 8601", &[
            "UPDATE locks SET last_write_at = 'now'",
            "UPDATE locks SET claim_id = 'c', claimed_at = 'now', claim_pid = 1",
        ]),
        ("locks_update", "locks: a claim has an id, a time and a pid, or there is none", &[
            "UPDATE locks SET claim_id = 'c'",
            "UPDATE locks SET claimed_at = '2026-03-04T05:06:07.000000Z'",
            "UPDATE locks SET claim_pid = 1",
            "UPDATE locks SET claim_id = 'c', claimed_at = '2026-03-04T05:06:07.000000Z'",
            "UPDATE locks SET claim_id = 'c', claimed_at = '2026-03-04T05:06:07.000000Z', claim_pid = 0",
        ]),
    ];
    let mut attacks = Vec::new();
    for (trigger, rule, statements) in table {
        for sql in *statements {
            // The seed holds no receipt.
            let first = if *trigger == "recoveries_insert" || sql.contains(" recoveries") {
                format!("{}; ", receipt("run-2", "0"))
            } else {
                String::new()
            };
            attacks.push(Attack { trigger, rule, sql: format!("{first}{sql}") });
        }
    }
    for (trigger, rule, sql) in [
        ("recoveries_insert", "recoveries: there is no such run", receipt("no-run", "0")),
        (
            "recoveries_insert",
            "recoveries: this run is being removed",
            format!("{REMOVED}; {}", receipt("run-2", "0")),
        ),
        (
            "recoveries_insert",
            "recoveries: after_sequence must be the run's last sequence",
            receipt("run-1", "1"),
        ),
        (
            "recoveries_insert",
            "recoveries: after_sequence must be the run's last sequence",
            receipt("run-1", "0"),
        ),
        (
            "recoveries_insert",
            "recoveries: after_sequence must be the run's last sequence",
            receipt("run-1", "NULL"),
        ),
        (
            "recoveries_insert",
            "recoveries: the run has a receipt at this sequence",
            format!("{}; {}", receipt("run-1", "2"), receipt("run-1", "2")),
        ),
        (
            "runs_delete",
            "runs: only a run that retention removes may be deleted, after its events and receipts",
            format!("{}; {REMOVED}; DELETE FROM runs WHERE run_id = 'run-2'", receipt("run-2", "0")),
        ),
        ("locks_insert", "locks: there is no such run", lock("/x", "no-run", "printf('%064d', 1)", "NULL")),
        (
            "locks_insert",
            "locks: this run is being removed",
            format!("{REMOVED}; {}", lock("/x", "run-2", "printf('%064d', 1)", "NULL")),
        ),
        (
            "locks_insert",
            "locks: the run holds the lock of another workspace",
            lock("/x", "run-1", "printf('%064d', 1)", "NULL"),
        ),
        (
            "locks_insert",
            "locks: a lease is 1 to 31622400 seconds (366 days)",
            lock("/x", "run-2", "printf('%064d', 1)", "0"),
        ),
    ] {
        attacks.push(Attack { trigger, rule, sql });
    }
    let lock = |columns: &str, values: &str| {
        format!(
            "INSERT OR REPLACE INTO locks (workspace, run_id, token_sha256, {columns})
             VALUES ('/x', 'run-2', printf('%064d', 1), {values})"
        )
    };
    let (times, time) = ("acquired_at, last_write_at", "'2026-03-04T05:06:07+00:00'");
    for pid in ["NULL", "0", "-1", "4294967296"] {
        let sql = lock(&format!("{times}, pid"), &format!("{time}, {time}, {pid}"));
        attacks.push(Attack { trigger: "locks_insert", rule: "locks: an owner has a pid", sql });
    }
    for (acquired_at, last_write_at) in [("''", time), (time, "'now'"), (time, "'2026-03-04'")] {
        let sql = lock(&format!("{times}, pid"), &format!("{acquired_at}, {last_write_at}, 1"));
        attacks.push(Attack { trigger: "locks_insert", rule: "locks: a time is ISO 8601", sql });
    }
    for claim in ["claim_id", "claimed_at", "claim_pid"] {
        let sql = lock(&format!("{times}, pid, {claim}"), &format!("{time}, {time}, 1, 1"));
        attacks.push(Attack { trigger: "locks_insert", rule: "locks: a new lock has no claim", sql });
    }
    for column in
        ["pid", "start_time", "boot_id", "machine_id", "host_name", "pid_namespace", "last_write_at"]
    {
        let value = if column == "last_write_at" { time } else { "9" };
        let rule = "locks: while a claim stands the owner does not change";
        let sql = format!("{CLAIM}; UPDATE locks SET {column} = {value}");
        attacks.push(Attack { trigger: "locks_update", rule, sql });
    }
    for number in ["9223372036854775807", "5", "0", "-1"] {
        let rule = "recoveries: recovery_number must be one more than the highest";
        let sql = receipt("run-2", "0")
            .replace(
                "(run_id, after_sequence, recovered_at",
                "(recovery_number, run_id, after_sequence, recovered_at",
            )
            .replace("SELECT 'run-2', 0,", &format!("SELECT {number}, 'run-2', 0,"));
        attacks.push(Attack { trigger: "recoveries_insert_number", rule, sql });
    }
    attacks
}

/// The reference tables are closed to every verb.
pub(super) fn registry() -> Vec<Attack> {
    let mut attacks = Vec::new();
    for (triggers, rule, changes) in [
        (
            ["event_types_insert", "event_types_update", "event_types_delete"],
            "event_types: the registry is closed",
            [
                "INSERT OR REPLACE INTO event_types VALUES ('run.created')",
                "UPDATE OR REPLACE event_types SET event_type = 'run.other' WHERE event_type = 'run.created'",
                "DELETE FROM event_types",
            ],
        ),
        (
            ["event_payload_keys_insert", "event_payload_keys_update", "event_payload_keys_delete"],
            "event_payload_keys: the registry is closed",
            [
                "INSERT OR REPLACE INTO event_payload_keys VALUES ('run.created', 'prompt')",
                "UPDATE OR REPLACE event_payload_keys SET key = 'prompt'",
                "DELETE FROM event_payload_keys",
            ],
        ),
        (
            ["event_statuses_insert", "event_statuses_update", "event_statuses_delete"],
            "event_statuses: the registry is closed",
            [
                "INSERT OR REPLACE INTO event_statuses (rowid, event_type, status) VALUES (1, 'run.created', 'ok')",
                "UPDATE OR REPLACE event_statuses SET status = 'ok'",
                "DELETE FROM event_statuses",
            ],
        ),
        (
            ["status_events_insert", "status_events_update", "status_events_delete"],
            "status_events: the registry is closed",
            [
                "INSERT OR REPLACE INTO status_events VALUES ('ok', 'run.failed')",
                "UPDATE OR REPLACE status_events SET event_type = 'run.failed'",
                "DELETE FROM status_events",
            ],
        ),
    ] {
        for (trigger, sql) in triggers.into_iter().zip(changes) {
            attacks.push(Attack { trigger, rule, sql: sql.to_owned() });
        }
    }
    attacks
}

/// Checkpoints, receipts and tokens: digests, sizes, row numbers.
pub(super) fn bodies(seed: &Seed) -> Vec<Attack> {
    let insert = |sha256: &str, size: &str, body: &str| {
        format!(
            "INSERT OR REPLACE INTO checkpoints (sha256, byte_size, body) VALUES ({sha256}, {size}, {body})"
        )
    };
    let mut attacks = Vec::new();
    let mut add = |trigger, rule, sql| attacks.push(Attack { trigger, rule, sql });
    let stored = "checkpoints: this digest is stored";
    add("checkpoints_insert", stored, insert(&format!("'{}'", seed.checkpoint), "0", "x''"));
    for rowid in ["1", "2"] {
        let sql = format!(
            "INSERT OR REPLACE INTO checkpoints (rowid, sha256, byte_size, body) VALUES ({rowid}, printf('%064d', 1), 0, x'')"
        );
        add("checkpoints_insert", stored, sql);
    }
    for rowid in ["0", "-1", "-9223372036854775808"] {
        let sql = format!(
            "INSERT INTO checkpoints (rowid, sha256, byte_size, body) VALUES ({rowid}, printf('%064d', 1), 0, x'')"
        );
        add("checkpoints_insert_number", "checkpoints: a row number below 1", sql);
    }
    for digest in NOT_DIGESTS {
        let rule = "checkpoints: sha256 is 64 lower-case hex characters";
        add("checkpoints_insert", rule, insert(digest, "0", "x''"));
        let rule = "recoveries: sha256 is 64 lower-case hex characters";
        let sql = format!(
            "INSERT INTO recoveries (run_id, after_sequence, recovered_at, sha256, byte_size, receipt)
             VALUES ('run-2', 0, '', {digest}, 0, x'')"
        );
        add("recoveries_insert", rule, sql);
        let rule = "locks: token_sha256 is 64 lower-case hex characters";
        add("locks_insert", rule, lock("/x", "run-2", digest, "NULL"));
    }
    for (size, body) in [("1", "x''"), ("-1", "x''"), ("3", "x'c3a9'"), ("1", "zeroblob(2)"), ("NULL", "x''")]
    {
        let rule = "checkpoints: byte_size must be the size of the body";
        add("checkpoints_insert", rule, insert("printf('%064d', 1)", size, body));
        let rule = "recoveries: byte_size must be the size of the receipt";
        let sql = format!(
            "INSERT INTO recoveries (run_id, after_sequence, recovered_at, sha256, byte_size, receipt)
             VALUES ('run-2', 0, '', printf('%064d', 1), {size}, {body})"
        );
        add("recoveries_insert", rule, sql);
    }
    let rule = "recoveries: a receipt is stored under the claim of a recovery";
    for before in [
        // Nobody has claimed the run; the claim was given back; the claim is of another run.
        "SELECT 1",
        "UPDATE locks SET claim_id = NULL, claimed_at = NULL, claim_pid = NULL WHERE run_id = 'run-2'",
        "DELETE FROM locks WHERE run_id = 'run-2'",
    ] {
        let sql = receipt("run-2", "0").replace("INSERT OR REPLACE", &format!("{before}; INSERT OR REPLACE"));
        let sql = if before == "SELECT 1" {
            sql.replace("UPDATE locks SET claim_id = 'c'", "UPDATE locks SET pid = 1; --")
        } else {
            sql
        };
        add("recoveries_insert", rule, sql);
    }
    for (from, to) in [
        ("\"status\": \"failed\"", "\"status\": \"ok\""),
        ("\"status\": \"failed\"", "\"state\": \"failed\""),
        ("\n  \"status\": \"failed\"", "\n    \"status\": \"failed\""),
        ("\"failure_phase\": \"stale-lock-recovery\"", "\"failure_phase\": \"started\""),
        ("\"phase\": \"stale-lock-recovery\"", "\"phase\": \"started\""),
        ("\"failure\": {", "\"fault\": {"),
        ("\"finished_at\": \"2026", "\"finished_at\": \"2027"),
        ("\"status_started_at\": \"2026", "\"status_started_at\": \"2027"),
        ("\"recovered_at\": \"2026", "\"recovered_at\": \"2027"),
        ("\"owner_pid\": 77", "\"owner_pid\": 78"),
        ("\"prior_status\": \"started\"", "\"prior_status\": null"),
    ] {
        let rule = "recoveries: a receipt has status failed, phase stale-lock-recovery and what its row says";
        add("recoveries_insert", rule, receipt_of("run-2", "0", from, to));
    }
    for body in [r#"{"status": "ok"}"#, r#"{"status": "planning", "finished_at": "now"}"#] {
        let digest = Digest::of(body.as_bytes());
        let payload = event::checkpoint_payload(digest, body.len() as i64, None);
        let line = seed.next(event::CHECKPOINT_EVENT_TYPE, "key-3", payload).line().to_owned();
        let stored =
            insert(&format!("'{digest}'"), &body.len().to_string(), &format!("CAST('{body}' AS BLOB)"));
        let sql = format!("{stored}; {}; {}", attacks::insert(seed, &line), receipt("run-1", "3"));
        add("recoveries_insert", "recoveries: the latest checkpoint has ended the run", sql);
    }
    let sql = format!(
        "UPDATE settings SET value = {} WHERE key = 'max-checkpoint-bytes'; {}",
        LARGE.len(),
        insert("printf('%064d', 1)", "1501", "zeroblob(1501)")
    );
    add("checkpoints_insert", "checkpoints: larger than max-checkpoint-bytes", sql);
    attacks
}
