//! Attacks on the journal: an event's line, its place in the chain, and what a checkpoint event names.

use super::attacks::{Attack, insert, insert_sql, next_checkpoint, quoted};
use super::{LARGE, SNAPSHOT, Seed, object};
use legbook::digest::Digest;
use legbook::event;

/// The line of an event: each place where another text could stand for the same or for a forbidden value.
pub(super) fn lines(seed: &Seed) -> Vec<Attack> {
    let line = seed.next_line();
    let line = line.as_str();
    let mut attacks = Vec::new();
    // The rules of a payload have a trigger of their own.
    let trigger_of =
        |rule: &str| if rule.contains("payload") { "events_insert_payload" } else { "events_insert" };
    let mut add = |rule, sql| attacks.push(Attack { trigger: trigger_of(rule), rule, sql });

    let not_json = "events: the line is not JSON";
    for text in [
        "",
        "x",
        "{",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1,}",
        "{\"a\":0x1}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "/**/{}",
        "{}{}",
    ] {
        add(not_json, insert(seed, text));
    }
    // What a lenient reader of JSON takes, in an otherwise valid line.
    for (from, to) in [
        ("\"sequence\":3", "\"sequence\":0x3"),
        ("\"sequence\":3", "sequence:3"),
        ("\"sequence\":3", "\"sequence\":03"),
        ("\"detail\":\"d\"", "\"detail\":'d'"),
        ("\"detail\":\"d\"", "\"detail\":\"\\x64\""),
        ("\"detail\":\"d\"", "\"detail\":\"\t\""),
        ("\"detail\":\"d\"", "\"detail\":NaN"),
        ("\"detail\":\"d\"", "\"detail\":Infinity"),
        ("\"sequence\":3}", "\"sequence\":3,}"),
        ("\"sequence\":3}", "\"sequence\":3}/**/"),
    ] {
        add(not_json, insert(seed, &put(line, from, to)));
    }

    let not_canonical = "events: the line is not the canonical envelope brigade.run_event.v1";
    for text in ["{}", "[]", "null", "1", "\"x\""] {
        add(not_canonical, insert(seed, text));
    }
    for (from, to) in [
        ("\"sequence\":3", "\"sequence\":3.0"),
        ("\"sequence\":3", "\"sequence\":\"3\""),
        ("\"sequence\":3", "\"sequence\":null"),
        ("\"sequence\":3", "\"sequence\":3,\"sequence\":3"),
        ("\"sequence\":3", "\"sequence\":3,\"extra\":1"),
        ("\"sequence\":3", "\"sequence\": 3"),
        ("\"sequence\":3}", "\"sequence\":3} "),
        ("\"sequence\":3}", "\"sequence\":3}\n"),
        ("{\"event_digest\"", " {\"event_digest\""),
        ("{\"event_digest\"", "{\"aaa\":0,\"event_digest\""),
        ("\"event_digest\":\"", "\"event_digest\":\"\\u0030"),
        ("\"schema_version\":1", "\"schema_version\":1.0"),
        ("\"schema_version\":1", "\"schema_version\":2"),
        ("\"schema_version\":1", "\"schema_version\":\"1\""),
        ("brigade.run_event.v1", "brigade.run_event.v2"),
        ("brigade.run_event.v1", "brigade.run_event.v1\\u0000"),
        ("\"run_id\":\"run-1\"", "\"run_id\":\"run\\u002d1\""),
        ("\"run_id\":\"run-1\"", "\"run_id\":\"run-1\\u0000\""),
        ("\"run_id\":\"run-1\"", "\"run_id\":\"run-2\",\"run_id\":\"run-1\""),
        ("\"run_id\":\"run-1\"", "\"run\\u005fid\":\"run-1\""),
        ("\"event_type\":\"run.dispatch.observed\"", "\"event_type\":\"run.dispatch.observed\\u0000x\""),
        ("\"event_type\":\"run.dispatch.observed\"", "\"event_type\":\"run\\u002edispatch.observed\""),
        ("\"recorded_at\":\"2026-03-04T05:06:07.000008Z\"", "\"recorded_at\":null"),
        ("\"recorded_at\":\"2026", "\"recorded_at\":\"\\u00302026"),
        ("\"payload\":{", "\"payload\":{ "),
        ("\"payload\":{", "\"payload\" :{"),
        ("\"payload\":{\"detail\":\"d\",\"seat\":\"s\"}", "\"payload\":null,\"payload\":{}"),
        ("\"detail\":\"d\"", "\"detail\": \"d\""),
    ] {
        add(not_canonical, insert(seed, &put(line, from, to)));
    }
    for tail in ["char(0)", "char(0) || 'x'", "' x'"] {
        // ' x' behind the object is no JSON at all; a zero byte ends it for SQLite.
        let rule = if tail == "' x'" { not_json } else { not_canonical };
        let length = line.len() + 1 + if tail == "char(0)" { 1 } else { 2 };
        add(rule, insert_sql(&format!("{} || {tail}", quoted(line)), seed.bytes + length));
    }

    let escape = "events: an escape that canonical JSON does not use";
    for spelled in [
        "\\/",
        "\\u0041",
        "\\u000A",
        "\\u000a",
        "\\u0008",
        "\\u0009",
        "\\u000c",
        "\\u000d",
        "\\u001F",
        "\\u0020",
        "\\u007f",
        "\\u00e9",
        "\\ud800",
        "\\ud83d\\ude00",
        "\\u0022",
        "\\u005c",
        "\\\\\\/",
        "\\\\\\u0041",
        "\\\"\\/",
        "\\n\\u2028",
        "\\u1000",
    ] {
        add(escape, insert(seed, &put(line, "\"detail\":\"d\"", &format!("\"detail\":\"{spelled}\""))));
        add(escape, insert(seed, &put(line, "\"key-3\"", &format!("\"{spelled}\""))));
    }
    // An escaped key is another text for the same key.
    add(escape, insert(seed, &put(line, "\"detail\":", "\"\\u0064etail\":")));

    add(
        "events: this row exists",
        format!(
            "INSERT OR REPLACE INTO events (event_number, line, journal_bytes) VALUES (1, {}, {})",
            quoted(line),
            seed.bytes + line.len() + 1
        ),
    );
    let no_run = put(
        &put(line, "\"run_id\":\"run-1\"", "\"run_id\":\"no-run\""),
        "\"event_id\":\"run-1",
        "\"event_id\":\"no-run",
    );
    add("events: there is no such run", insert(seed, &no_run));
    let head = seed.events[1].event_digest();
    add(
        "events: this run is being removed",
        format!(
            "DELETE FROM locks; INSERT INTO removals VALUES ('run-1', '', 2, '{head}'); {}",
            insert(seed, line)
        ),
    );

    let sequence = "events: sequence must be exactly one more than the run's last";
    for number in ["2", "4", "0", "-3", "9223372036854775807"] {
        add(sequence, insert(seed, &put(line, "\"sequence\":3", &format!("\"sequence\":{number}"))));
    }
    let previous = "events: previous_digest must be the last event_digest, null at sequence 1";
    let linked = format!("\"previous_digest\":\"{head}\"");
    for other in [
        "\"previous_digest\":null".to_owned(),
        format!("\"previous_digest\":\"{}\"", seed.events[0].event_digest()),
        format!("\"previous_digest\":\"{}\"", head.to_hex().to_uppercase()),
        "\"previous_digest\":\"\"".to_owned(),
    ] {
        add(previous, insert(seed, &put(line, &linked, &other)));
    }
    let first = put(
        &put(
            &put(line, "\"run_id\":\"run-1\"", "\"run_id\":\"run-2\""),
            "\"event_id\":\"run-1",
            "\"event_id\":\"run-2",
        ),
        "\"sequence\":3",
        "\"sequence\":1",
    );
    add(previous, insert(seed, &first));

    let digest = "events: a digest is 64 lower-case hex characters";
    let (event_digest, request_digest) = (member(line, "event_digest"), member(line, "request_digest"));
    for (name, value) in [("event_digest", event_digest), ("request_digest", request_digest)] {
        let from = format!("\"{name}\":\"{value}\"");
        for other in
            ["", "g", &value[1..], &format!("{value}0"), &"A".repeat(64), &value.replace(&value[..1], "G")]
        {
            add(digest, insert(seed, &put(line, &from, &format!("\"{name}\":\"{other}\""))));
        }
    }

    let event_id = "events: event_id is run_id-sequence-first 12 of event_digest";
    let id = member(line, "event_id");
    for other in [
        "",
        "run-1",
        &id[..id.len() - 1],
        &format!("{id}0"),
        &id.replace("-000003-", "-3-"),
        &id.replace("run-1", "run-2"),
    ] {
        add(
            event_id,
            insert(seed, &put(line, &format!("\"event_id\":\"{id}\""), &format!("\"event_id\":\"{other}\""))),
        );
    }

    let recorded_at = "events: recorded_at is YYYY-MM-DDTHH:MM:SS.ffffffZ";
    for moment in [
        "",
        "now",
        "2026-03-04T05:06:07Z",
        "2026-03-04 05:06:07.000008Z",
        "2026-03-04T05:06:07.000008",
        "2026-03-04T05:06:07.000008+00:00",
        "2026-03-04T05:06:07.00008Z",
        "2026-02-29T05:06:07.000008Z",
        "2026-04-31T05:06:07.000008Z",
        "2026-13-04T05:06:07.000008Z",
        "2026-00-04T05:06:07.000008Z",
        "2026-03-00T05:06:07.000008Z",
        "2026-03-04T24:06:07.000008Z",
        "2026-03-04T25:06:07.000008Z",
        "2026-03-04T05:06:60.000008Z",
        "12026-03-04T05:06:07.000008Z",
        "２026-03-04T05:06:07.000008Z",
    ] {
        add(recorded_at, insert(seed, &put(line, "2026-03-04T05:06:07.000008Z", moment)));
    }

    let key = "events: an idempotency key is a text of 1 to 128 characters";
    let long = "k".repeat(129);
    let (long, nuls, late, smile) = (
        format!("\"{long}\""),
        format!("\"{}\"", "\\u0000".repeat(129)),
        format!("\"a\\u0000{long}\""),
        format!("\"{}\"", "\u{1F600}".repeat(129)),
    );
    for other in ["\"\"", "[\"key-\\n\"]", "{\"\\n\":3}", &long, &nuls, &late, &smile] {
        add(key, insert(seed, &put(line, "\"key-3\"", other)));
    }
    // Without an escape what is no text is told from one by its spelling.
    for other in ["null", "3", "{}", "[\"key-3\"]"] {
        add(not_canonical, insert(seed, &put(line, "\"key-3\"", other)));
    }
    let repeated = "events: the run has an event with this idempotency key";
    add(repeated, insert(seed, &put(line, "\"key-3\"", "\"key-1\"")));
    // Not the same as `key-1`, but the same as itself.
    let mut journal = seed.events.clone();
    let mut sql = String::new();
    let mut bytes = seed.bytes;
    for _ in 0..2 {
        let event = next_of(&journal, "key-1\0");
        bytes += event.line().len() + 1;
        sql.push_str(&format!("{};\n", insert_sql(&quoted(event.line()), bytes)));
        journal.push(event);
    }
    add(repeated, sql);

    let event_type = "events: the event type is not registered";
    for other in ["run.finished", "", "Run.dispatch.observed", "run.dispatch.observed "] {
        add(event_type, insert(seed, &put(line, "run.dispatch.observed", other)));
    }

    let payload = "\"payload\":{\"detail\":\"d\",\"seat\":\"s\"}";
    let keys = "events: the payload is not an object with keys of its type only";
    for other in [
        "null",
        "[]",
        "1",
        "\"detail\"",
        "[\"detail\"]",
        "{\"\":1}",
        "{\"status\":\"ok\"}",
        "{\"detail\":\"d\",\"prompt\":\"p\"}",
        "{\"Detail\":\"d\"}",
        "{\"detail \":\"d\"}",
    ] {
        add(keys, insert(seed, &put(line, payload, &format!("\"payload\":{other}"))));
    }
    let flat = "events: a payload is flat: sorted keys, each once, with null, integers and texts";
    for other in [
        "{\"seat\":\"s\",\"detail\":\"d\"}",
        "{\"detail\":\"d\",\"detail\":\"d\"}",
        "{\"detail\":\"a\",\"detail\":\"b\"}",
        "{\"detail\":[]}",
        "{\"detail\":{}}",
        "{\"detail\":{\"seat\":\"s\"}}",
        "{\"detail\":[\"d\"]}",
        "{\"detail\":true}",
        "{\"detail\":false}",
        "{\"detail\":1.0}",
        "{\"detail\":1e3}",
        "{\"detail\":1E400}",
        "{\"detail\":-0}",
        "{\"detail\":0.0}",
        "{\"detail\":9223372036854775808}",
        "{\"detail\":-9223372036854775809}",
        "{\"detail\":123456789012345678901234567890}",
    ] {
        add(flat, insert(seed, &put(line, payload, &format!("\"payload\":{other}"))));
    }

    let text = "events: a text in a payload is at most 512 characters";
    for other in [
        "d".repeat(513),
        "\u{1F600}".repeat(513),
        "\\u0000".repeat(513),
        format!("\\u0000{}", "d".repeat(512)),
        "\\\\u0000".repeat(86),
    ] {
        add(text, insert(seed, &put(line, "\"detail\":\"d\"", &format!("\"detail\":\"{other}\""))));
    }

    // Whatever else is wrong with it.
    let longest = "events: a line with its newline is at most 16384 bytes";
    add(longest, insert(seed, &" ".repeat(16_384)));
    add(longest, insert(seed, &format!("{line}{}", " ".repeat(16_384 - line.len()))));
    add(longest, insert(seed, &"\u{1F600}".repeat(4_096)));
    add(not_canonical, insert(seed, &format!("{line}{}", " ".repeat(16_383 - line.len()))));

    let bytes = "events: journal_bytes must be the bytes of the journal with this line and its newline";
    for wrong in [0, 1, line.len(), line.len() + 1, seed.bytes + line.len(), seed.bytes + line.len() + 2] {
        add(bytes, insert_sql(&quoted(line), wrong));
    }
    add(bytes, format!("INSERT INTO events (line, journal_bytes) VALUES ({}, NULL)", quoted(line)));

    let (mut more, mut sql) =
        (Vec::new(), "UPDATE settings SET value = 12 WHERE key = 'max-journal-events'".to_owned());
    more.extend(seed.events.iter().cloned());
    let mut total = seed.bytes;
    for sequence in 3..=13 {
        let next = next_of(&more, &format!("key-{sequence}"));
        total += next.line().len() + 1;
        sql.push_str(&format!(";\n{}", insert_sql(&quoted(next.line()), total)));
        more.push(next);
    }
    add("events: the journal would cross max-journal-events", sql);

    // Each line of about 9 KiB; run-long's journal keeps the bound from going below its own.
    let (mut more, mut sql) = (
        Vec::new(),
        "UPDATE settings SET value = (SELECT max(journal_bytes) FROM events) WHERE key = 'max-journal-bytes'"
            .to_owned(),
    );
    more.extend(seed.events.iter().cloned());
    let mut total = seed.bytes;
    while total < 90_000 {
        let next = long_of(&more, &format!("key-{}", more.len() + 1));
        total += next.line().len() + 1;
        sql.push_str(&format!(";\n{}", insert_sql(&quoted(next.line()), total)));
        more.push(next);
    }
    add("events: the journal would cross max-journal-bytes", sql);

    for number in ["9223372036854775807", "16", "0", "-1"] {
        attacks.push(Attack {
            trigger: "events_insert_number",
            rule: "events: event_number must be one more than the highest",
            sql: format!(
                "INSERT OR REPLACE INTO events (event_number, line, journal_bytes) VALUES ({number}, {}, {})",
                quoted(line),
                seed.bytes + line.len() + 1
            ),
        });
    }
    attacks
}

/// The event that names a checkpoint.
pub(super) fn checkpoint_events(seed: &Seed) -> Vec<Attack> {
    let line = next_checkpoint(seed, Some("run.failed"));
    let line = line.as_str();
    let mut attacks = Vec::new();
    let mut add = |rule, sql| attacks.push(Attack { trigger: "events_insert_checkpoint", rule, sql });
    let digest = seed.checkpoint.to_hex();
    let size = format!("\"byte_size\":{},", SNAPSHOT.len());

    let fixed = "events: a checkpoint event has exactly its six keys with their fixed values";
    for (from, to) in [
        (size.as_str(), ""),
        (size.as_str(), "\"byte_size\":\"27\","),
        (size.as_str(), "\"byte_size\":null,"),
        ("application/vnd.brigade.run+json", "application/json"),
        ("\"privacy_class\":\"private\"", "\"privacy_class\":\"public\""),
        ("\"privacy_class\":\"private\",", ""),
        ("events/recovery-checkpoints/", "/events/recovery-checkpoints/"),
        ("events/recovery-checkpoints/", "events/../events/recovery-checkpoints/"),
        ("events/recovery-checkpoints/", "events\\\\recovery-checkpoints\\\\"),
        (".json\"", ".json.tmp\""),
        ("\"paired_event_type\":\"run.failed\",", ""),
        ("\"paired_event_type\":\"run.failed\"", "\"paired_event_type\":1"),
        ("\"paired_event_type\":\"run.failed\"", "\"paired_event_type\":\"run.failed\\u0000\""),
    ] {
        add(fixed, insert(seed, &put(line, from, to)));
    }
    let named = format!("\"sha256\":\"{digest}\"");
    for other in ["\"sha256\":null", "\"sha256\":\"\"", &named.to_uppercase().replace("SHA", "sha")] {
        add(fixed, insert(seed, &put(line, &named, other)));
    }

    let pairing = "events: paired_event_type is null or the event type of a status";
    for other in ["run.planning.completed", "run.snapshot.checkpointed", "", "failed"] {
        add(
            pairing,
            insert(
                seed,
                &put(
                    line,
                    "\"paired_event_type\":\"run.failed\"",
                    &format!("\"paired_event_type\":\"{other}\""),
                ),
            ),
        );
    }

    let stored = "events: the checkpoint is not stored with that size";
    for other in [0, SNAPSHOT.len() - 1, SNAPSHOT.len() + 1, LARGE.len()] {
        add(stored, insert(seed, &put(line, &size, &format!("\"byte_size\":{other},"))));
    }
    add(stored, insert(seed, &line.replace(&digest, &Digest::of(b"nowhere").to_hex())));
    attacks
}

fn next_of(journal: &[event::Event], key: &str) -> event::Event {
    following(journal, key, object([("detail", "d".into())]))
}

fn long_of(journal: &[event::Event], key: &str) -> event::Event {
    let text = "\u{1}".repeat(512);
    following(journal, key, object(["attempt", "detail", "seat"].map(|name| (name, text.as_str().into()))))
}

fn following(journal: &[event::Event], key: &str, payload: legbook::json::Object) -> event::Event {
    event::Event::new(event::EventInput {
        run_id: "run-1",
        sequence: journal.len() as i64 + 1,
        event_type: "run.dispatch.observed",
        recorded_at: "2026-03-04T05:06:07.000008Z",
        idempotency_key: key,
        previous_digest: journal.last().map(event::Event::event_digest),
        payload,
    })
    .unwrap()
}

/// `line` with `to` in the place of `from`, which must be there.
fn put(line: &str, from: &str, to: &str) -> String {
    assert!(line.contains(from), "{from} is not in {line}");
    line.replacen(from, to, 1)
}

/// The text of a member of the envelope.
fn member<'a>(line: &'a str, name: &str) -> &'a str {
    let from = line.find(&format!("\"{name}\":\"")).unwrap() + name.len() + 4;
    line[from..].split('"').next().unwrap()
}
