//! What an attack is, all of them, and the statements that are none.

use super::SNAPSHOT;
use super::{Seed, handoff, imports, journal, object, shadow, stages, tables};
use legbook::event;

/// One try to break a rule.
pub(super) struct Attack {
    /// The trigger that refuses it.
    pub(super) trigger: &'static str,
    /// What the trigger says.
    pub(super) rule: &'static str,
    /// The statements; the last one is refused.
    pub(super) sql: String,
}

/// SQL for texts that are not 64 lower-case hex characters; length and GLOB stop at U+0000.
pub(super) const NOT_DIGESTS: [&str; 9] = [
    "''",
    "printf('%063d', 1)",
    "printf('%065d', 1)",
    "printf('%064X', -1)",
    "printf('%063dg', 1)",
    "printf('%064d', 1) || char(0)",
    "printf('%064d', 1) || char(0) || 'x'",
    "printf('%063d', 1) || char(0)",
    "printf('%062d', 1) || 'é'",
];

/// `text` as an SQL literal.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) fn all(seed: &Seed) -> Vec<Attack> {
    let mut attacks = tables::plain();
    attacks.extend(tables::registry());
    attacks.extend(tables::bodies(seed));
    attacks.extend(stages::all());
    attacks.extend(shadow::all());
    attacks.extend(handoff::all());
    attacks.extend(imports::all());
    attacks.extend(journal::lines(seed));
    attacks.extend(journal::checkpoint_events(seed));
    attacks
}

/// Statements that every rule allows.
pub(super) fn allowed(seed: &Seed) -> Vec<String> {
    let next = seed.next_line();
    let whole = |key: &str, detail: &str| {
        seed.next("run.dispatch.observed", key, object([("detail", detail.into())])).line().to_owned()
    };
    let mut allowed: Vec<String> = [
        next.clone(),
        whole(&"k".repeat(128), &"d".repeat(512)),
        // Counted in characters, whatever they take in bytes or in their spelling.
        whole(&"\u{1F600}".repeat(128), &"\u{1F600}".repeat(512)),
        whole(&"\0".repeat(128), &"\0".repeat(512)),
        whole(&"\\".repeat(128), &"\\u0000".repeat(85)),
        whole(
            "\u{1}\u{8}\t\n\u{b}\u{c}\r\u{e}\u{1f}\u{7f}\"\\/",
            "\u{1}\u{8}\t\n\u{b}\u{c}\r\u{e}\u{1f}\u{7f}\"\\/",
        ),
        seed.next("run.paused", "none", object([])).line().to_owned(),
        seed.next("run.paused", "whole", object([("approval_id", i64::MAX.into())])).line().to_owned(),
        next_checkpoint(seed, None),
        next_checkpoint(seed, Some("run.failed")),
    ]
    .iter()
    .map(|line| insert(seed, line))
    .collect();
    let removal = "INSERT INTO removals (run_id, removed_at, last_sequence, last_digest)";
    allowed.extend(stages::allowed());
    allowed.extend(shadow::allowed());
    allowed.extend(handoff::allowed());
    allowed.extend(imports::allowed());
    allowed.extend([
        // The number is given, and right.
        format!(
            "INSERT INTO events (event_number, line, journal_bytes) VALUES (15, {}, {})",
            quoted(&next),
            seed.bytes + next.len() + 1
        ),
        "INSERT INTO runs (run_number, run_id, created_at) VALUES (4, 'A-z_0.9', '')".to_owned(),
        "UPDATE runs SET status = 'failed', run_dir = '/elsewhere' WHERE run_id = 'run-1'".to_owned(),
        "UPDATE runs SET journaled_at = '2026-03-04T05:06:07.000000Z' WHERE run_id = 'run-2'".to_owned(),
        "UPDATE settings SET value = 10000000 WHERE key = 'max-journal-events'".to_owned(),
        "UPDATE settings SET value = 12 WHERE key = 'max-journal-events'".to_owned(),
        "INSERT INTO removals VALUES ('run-2', '', 0, NULL); DELETE FROM removals".to_owned(),
        format!("UPDATE locks SET pid = 1, lease_seconds = 60; {CLAIM}; DELETE FROM locks"),
        format!(
            "{CLAIM}; {CLAIM}; UPDATE locks SET claim_id = NULL, claimed_at = NULL, claim_pid = NULL, pid = 9"
        ),
        format!("{}; {}", receipt("run-2", "0"), receipt("run-2", "0")),
        receipt("run-1", "2"),
        // A removal, in its order.
        format!(
            "DELETE FROM locks;
             {removal} VALUES ('run-1', '', 2, '{}');
             DELETE FROM events WHERE run_id = 'run-1';
             DELETE FROM checkpoints;
             DELETE FROM runs WHERE run_id = 'run-1'",
            seed.events[1].event_digest()
        ),
    ]);
    allowed
}

pub(super) fn next_checkpoint(seed: &Seed, paired: Option<&str>) -> String {
    let payload = event::checkpoint_payload(seed.checkpoint, SNAPSHOT.len() as i64, paired);
    seed.next(event::CHECKPOINT_EVENT_TYPE, "key-3", payload).line().to_owned()
}

/// Appends `line` to `run-1` with the right `journal_bytes`; REPLACE, so that a rule that only an index holds is seen.
pub(super) fn insert(seed: &Seed, line: &str) -> String {
    insert_sql(&quoted(line), seed.bytes + line.len() + 1)
}

pub(super) fn insert_sql(line: &str, journal_bytes: usize) -> String {
    format!("INSERT OR REPLACE INTO events (line, journal_bytes) VALUES ({line}, {journal_bytes})")
}

/// Stores a receipt under a claim, then removes the lock, as a recovery does.
pub(super) fn receipt(run_id: &str, after_sequence: &str) -> String {
    receipt_of(run_id, after_sequence, "", "")
}

/// A valid receipt's bytes, where `from` is replaced by `to`.
pub(super) fn receipt_of(run_id: &str, after_sequence: &str, from: &str, to: &str) -> String {
    let at = "2026-03-04T05:07:00+00:00";
    let body = format!(
        "{{\n  \"failure\": {{\n    \"owner_pid\": 77,\n    \"phase\": \"stale-lock-recovery\",\n    \
         \"prior_status\": \"started\",\n    \"recovered_at\": \"{at}\"\n  }},\n  \
         \"failure_phase\": \"stale-lock-recovery\",\n  \"finished_at\": \"{at}\",\n  \
         \"status\": \"failed\",\n  \"status_started_at\": \"{at}\"\n}}\n"
    );
    let body = if from.is_empty() { body } else { body.replacen(from, to, 1) };
    format!(
        "INSERT INTO locks (workspace, run_id, token_sha256, acquired_at, pid, last_write_at)
         SELECT '/receipt', run_id, printf('%064d', 1), '{at}', 1, '{at}' FROM runs
         WHERE run_id = '{run_id}' AND run_id NOT IN (SELECT run_id FROM locks UNION SELECT run_id FROM removals);
         UPDATE locks SET claim_id = 'c', claimed_at = '{at}', claim_pid = 4243 WHERE run_id = '{run_id}';
         INSERT OR REPLACE INTO recoveries
             (run_id, after_sequence, recovered_at, owner_pid, prior_status, sha256, byte_size, receipt)
         SELECT '{run_id}', {after_sequence}, '{at}', 77, 'started', printf('%064d', 1), length(body), body
         FROM (SELECT CAST({} AS BLOB) AS body);
         DELETE FROM locks WHERE run_id = '{run_id}'",
        quoted(&body)
    )
}

/// Claims the seed's lock.
pub(super) const CLAIM: &str =
    "UPDATE locks SET claim_id = 'c', claimed_at = '2026-03-04T05:06:08.000000Z', claim_pid = 4243";

pub(super) fn lock(workspace: &str, run_id: &str, token_sha256: &str, lease_seconds: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO locks (workspace, run_id, token_sha256, acquired_at, lease_seconds, last_write_at)
         VALUES ('{workspace}', '{run_id}', {token_sha256}, '', {lease_seconds}, '')"
    )
}
