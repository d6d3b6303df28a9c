//! Attacks on the handoff's tables. Each begins with the rounds that it needs: the seeded store has none.

use super::attacks::{Attack, NOT_DIGESTS};

/// Round `old`, superseded with its nominations, judgments and pending report 1; round `new`, current, with the
/// nominations n1 and n2, judgments of both, the pending report 2 with two angle inputs, angles, and two topics.
const ROUNDS: &str = "
    INSERT INTO rounds (bundle_id, generated_at, mock, nomination_count, head, sha256, stored_at)
        VALUES ('old', '', 0, 2, '{}', printf('%064d', 1), '');
    INSERT INTO nominations (bundle_id, position, nomination_id, body, sha256)
        VALUES ('old', 1, 'n1', '{}', printf('%064d', 1));
    INSERT INTO judgments VALUES ('old', 1, 'n1', NULL, NULL, NULL, '{}', '');
    INSERT INTO pending_reports (bundle_id, generated_at, run_ref, mock, input_count, body, sha256)
        VALUES ('old', '', 'a', 0, 1, '{}', printf('%064d', 1));
    INSERT INTO angle_inputs VALUES (1, 1, 'n1', '{}', printf('%064d', 1));
    UPDATE rounds SET superseded_at = 'then';
    INSERT INTO rounds (bundle_id, generated_at, mock, nomination_count, head, sha256, stored_at)
        VALUES ('new', '', 0, 3, '{}', printf('%064d', 1), '');
    INSERT INTO nominations (bundle_id, position, nomination_id, body, sha256)
        VALUES ('new', 1, 'n1', '{}', printf('%064d', 1)), ('new', 2, 'n2', '{}', printf('%064d', 1));
    INSERT INTO judgments VALUES ('new', 1, 'n1', NULL, NULL, NULL, '{}', '');
    INSERT INTO pending_reports (bundle_id, generated_at, run_ref, mock, input_count, body, sha256)
        VALUES ('new', '', 'b', 0, 3, '{}', printf('%064d', 1));
    INSERT INTO angle_inputs VALUES (2, 1, 'n1', '{}', printf('%064d', 1));
    INSERT INTO angles VALUES (2, 1, 'n1', NULL, NULL, '{}', '');
    INSERT INTO queue VALUES ('topic', 'Topic', '', NULL), ('done', 'Done', '', 'then');
    INSERT INTO queue_counts VALUES ('topic', 'a', '')";

/// Ends the current round and the pending report with it.
const END: &str = "UPDATE rounds SET superseded_at = 'now' WHERE superseded_at IS NULL";
/// Ends the current pending report.
const END_REPORT: &str = "UPDATE pending_reports SET superseded_at = 'now' WHERE superseded_at IS NULL";

fn round(bundle_id: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO rounds (bundle_id, generated_at, mock, nomination_count, head, sha256, stored_at)
         VALUES ({bundle_id}, '', 0, 1, '{{}}', printf('%064d', 1), '')"
    )
}

fn nomination(bundle_id: &str, position: i64, id: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO nominations (bundle_id, position, nomination_id, body, sha256)
         VALUES ('{bundle_id}', {position}, {id}, '{{}}', printf('%064d', 1))"
    )
}

fn judgment(bundle_id: &str, attempt: i64, id: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO judgments VALUES ('{bundle_id}', {attempt}, '{id}', NULL, NULL, NULL, '{{}}', '')"
    )
}

fn report(bundle_id: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO pending_reports (bundle_id, generated_at, run_ref, mock, input_count, body, sha256)
         VALUES ('{bundle_id}', '', 'c', 0, 1, '{{}}', printf('%064d', 1))"
    )
}

fn input(report: i64, position: i64, id: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO angle_inputs VALUES ({report}, {position}, '{id}', '{{}}', printf('%064d', 1))"
    )
}

fn angle(report: i64, attempt: i64, id: &str) -> String {
    format!("INSERT OR REPLACE INTO angles VALUES ({report}, {attempt}, '{id}', NULL, NULL, '{{}}', '')")
}

pub(super) fn all() -> Vec<Attack> {
    let mut attacks = Vec::new();
    let mut add = |trigger, rule, sql: &str| {
        attacks.push(Attack { trigger, rule, sql: format!("{ROUNDS};\n{sql}") });
    };
    rounds(&mut add);
    nominations(&mut add);
    judgments(&mut add);
    reports(&mut add);
    inputs_and_angles(&mut add);
    topics(&mut add);
    attacks
}

type Add<'a> = dyn FnMut(&'static str, &'static str, &str) + 'a;

const NOT_IDS: [&str; 5] = ["''", "printf('%065d', 1)", "'a b'", "'a' || char(0)", "'é'"];

fn rounds(add: &mut Add<'_>) {
    let rule = "rounds: this round exists";
    add("rounds_insert", rule, &format!("{END}; {}", round("'old'")));
    let numbered = round("'x'").replace("(bundle_id", "(round_number, bundle_id");
    add("rounds_insert", rule, &format!("{END}; {}", numbered.replace("('x'", "(1, 'x'")));
    for number in ["9223372036854775807", "99", "0", "-1"] {
        let sql = numbered.replace("('x'", &format!("({number}, 'x'"));
        add(
            "rounds_insert_number",
            "rounds: round_number must be one more than the highest",
            &format!("{END}; {sql}"),
        );
    }
    let rule = "rounds: a store has one current round; supersede it first";
    add("rounds_insert", rule, &round("'x'"));
    let rule = "rounds: a new round is current, fresh and not judged";
    for (column, value) in [("superseded_at", "'now'"), ("expired_at", "'now'"), ("nothing_solid", "1")] {
        let sql = round("'x'")
            .replace("(bundle_id", &format!("({column}, bundle_id"))
            .replace("('x'", &format!("({value}, 'x'"));
        add("rounds_insert", rule, &format!("{END}; {sql}"));
    }
    for id in NOT_IDS {
        let rule = "rounds: a bundle id is 1 to 64 of A-Z a-z 0-9 . _ -";
        add("rounds_insert", rule, &format!("{END}; {}", round(id)));
    }
    let changed = |from: &str, to: &str| format!("{END}; {}", round("'x'").replace(from, to));
    add("rounds_insert", "rounds: mock is 0 or 1", &changed("0, 1, '{}'", "2, 1, '{}'"));
    add("rounds_insert", "rounds: a round has nominations", &changed("0, 1, '{}'", "0, 0, '{}'"));
    for digest in NOT_DIGESTS {
        let rule = "rounds: sha256 is 64 lower-case hex characters";
        add("rounds_insert", rule, &changed("printf('%064d', 1)", digest));
    }
    let rule = "rounds: a round never changes; it expires once and is superseded once";
    for change in [
        "round_number = 9",
        "bundle_id = 'x'",
        "generated_at = 'now'",
        "mock = 1",
        "nomination_count = 1",
        "head = ''",
        "sha256 = printf('%064d', 2)",
        "stored_at = 'now'",
    ] {
        add("rounds_update", rule, &format!("UPDATE OR REPLACE rounds SET {change} WHERE bundle_id = 'new'"));
    }
    for change in ["NULL", "'later'"] {
        add(
            "rounds_update",
            rule,
            &format!("UPDATE rounds SET superseded_at = {change} WHERE bundle_id = 'old'"),
        );
        let expired = "UPDATE rounds SET expired_at = 'now'";
        add("rounds_update", rule, &format!("{expired}; UPDATE rounds SET expired_at = {change}"));
    }
    let rule = "rounds: nothing_solid is the latest attempt at judging the current round";
    for (attempt, of) in [("1", "old"), ("max(attempt)", "old"), ("max(attempt) + 1", "new"), ("0", "new")] {
        let attempt = format!("(SELECT {attempt} FROM judgments WHERE bundle_id = '{of}')");
        let sql = format!("UPDATE OR REPLACE rounds SET nothing_solid = {attempt} WHERE bundle_id = '{of}'");
        add("rounds_update", rule, &sql);
    }
    add(
        "rounds_delete",
        "rounds: a round is history and never deleted",
        "DELETE FROM rounds WHERE bundle_id = 'old'",
    );
}

fn nominations(add: &mut Add<'_>) {
    let rule = "nominations: this nomination exists";
    add("nominations_insert", rule, &nomination("new", 2, "'n3'"));
    add("nominations_insert", rule, &nomination("new", 3, "'n2'"));
    let numbered = nomination("new", 3, "'n3'").replace("(bundle_id", "(nomination_number, bundle_id");
    add("nominations_insert", rule, &numbered.replace("('new'", "(1, 'new'"));
    for number in ["0", "-1"] {
        let rule = "nominations: nomination_number starts at 1";
        add("nominations_insert_number", rule, &numbered.replace("('new'", &format!("({number}, 'new'")));
    }
    let rule = "nominations: only the current round takes nominations, as many as it counts";
    for (bundle_id, position) in [("old", 2), ("none", 1), ("new", 4), ("new", 0)] {
        add("nominations_insert", rule, &nomination(bundle_id, position, "'n9'"));
    }
    for id in NOT_IDS {
        let rule = "nominations: an id is 1 to 64 of A-Z a-z 0-9 . _ -";
        add("nominations_insert", rule, &nomination("new", 3, id));
    }
    for digest in NOT_DIGESTS {
        let sql = nomination("new", 3, "'n3'").replace("printf('%064d', 1)", digest);
        add("nominations_insert", "nominations: sha256 is 64 lower-case hex characters", &sql);
    }
    let rule = "nominations: a nomination never changes";
    add("nominations_update", rule, "UPDATE OR REPLACE nominations SET body = ''");
    let rule = "nominations: a nomination is history and never deleted";
    add("nominations_delete", rule, "DELETE FROM nominations WHERE bundle_id = 'old'");
}

fn judgments(add: &mut Add<'_>) {
    add("judgments_insert", "judgments: this judgment exists", &judgment("new", 1, "n1"));
    let rule = "judgments: only the current round is judged";
    add("judgments_insert", rule, &judgment("old", 2, "n1"));
    add("judgments_insert", rule, &judgment("none", 1, "n1"));
    let rule = "judgments: the round has no nomination of this id";
    add("judgments_insert", rule, &judgment("new", 2, "n3"));
    for attempt in [0, -1, 3] {
        add("judgments_insert", "judgments: attempts count up from 1", &judgment("new", attempt, "n2"));
    }
    for values in ["2, NULL", "NULL, 101", "NULL, -1"] {
        let rule = "judgments: junk is 0, 1 or null and worthiness 0 to 100 or null";
        let sql = judgment("new", 2, "n2").replace("NULL, NULL, NULL", &format!("NULL, {values}"));
        add("judgments_insert", rule, &sql);
    }
    let rule = "judgments: a judgment never changes; judge again";
    add("judgments_update", rule, "UPDATE OR REPLACE judgments SET worthiness = 1");
    let rule = "judgments: a judgment is history and never deleted";
    add("judgments_delete", rule, "DELETE FROM judgments WHERE bundle_id = 'old'");
}

fn reports(add: &mut Add<'_>) {
    let numbered = report("new").replace("(bundle_id", "(pending_number, bundle_id");
    let after_end = |sql: &str| format!("{END_REPORT}; {sql}");
    let rule = "pending_reports: this pending report exists";
    add("pending_reports_insert", rule, &after_end(&numbered.replace("('new'", "(1, 'new'")));
    for number in ["9223372036854775807", "99", "0", "-1"] {
        let rule = "pending_reports: pending_number must be one more than the highest";
        let sql = numbered.replace("('new'", &format!("({number}, 'new'"));
        add("pending_reports_insert_number", rule, &after_end(&sql));
    }
    let rule = "pending_reports: a store has one current pending report; supersede it first";
    add("pending_reports_insert", rule, &report("new"));
    for column in ["superseded_at", "expired_at", "finalized_at"] {
        let rule = "pending_reports: a new pending report is current, fresh and not finalized";
        let sql = report("new")
            .replace("(bundle_id", &format!("({column}, bundle_id"))
            .replace("('new'", "('', 'new'");
        add("pending_reports_insert", rule, &after_end(&sql));
    }
    let rule = "pending_reports: only the current round has one, made with or without mock as the round was";
    add("pending_reports_insert", rule, &after_end(&report("old")));
    add("pending_reports_insert", rule, &after_end(&report("none")));
    add("pending_reports_insert", rule, &after_end(&report("new").replace("'c', 0", "'c', 1")));
    add(
        "pending_reports_insert",
        "pending_reports: the round is not judged",
        &format!("{END}; {}; {}", round("'x'"), report("x")),
    );
    let rule = "pending_reports: run_ref is not empty";
    add("pending_reports_insert", rule, &after_end(&report("new").replace("'c'", "''")));
    let rule = "pending_reports: a pending report has angle inputs";
    add("pending_reports_insert", rule, &after_end(&report("new").replace("0, 1, '{}'", "0, 0, '{}'")));
    for digest in NOT_DIGESTS {
        let rule = "pending_reports: sha256 is 64 lower-case hex characters";
        add("pending_reports_insert", rule, &after_end(&report("new").replace("printf('%064d', 1)", digest)));
    }
    let rule =
        "pending_reports: a pending report never changes; it expires, is finalized and superseded once";
    for change in [
        "pending_number = 9",
        "bundle_id = 'old'",
        "generated_at = 'now'",
        "run_ref = 'x'",
        "mock = 1",
        "input_count = 9",
        "body = ''",
        "sha256 = printf('%064d', 2)",
    ] {
        let sql = format!("UPDATE OR REPLACE pending_reports SET {change} WHERE bundle_id = 'new'");
        add("pending_reports_update", rule, &sql);
    }
    let finalize =
        "UPDATE pending_reports SET finalized_at = '2026-03-04T05:06:07.000000Z' WHERE superseded_at IS NULL";
    for change in ["NULL", "'2026-03-04T05:06:08.000000Z'"] {
        let sql = format!(
            "{finalize}; UPDATE pending_reports SET finalized_at = {change} WHERE superseded_at IS NULL"
        );
        add("pending_reports_update", rule, &sql);
    }
    let late = "pending_reports: only the current one is finalized, at a time after it was stored";
    for sql in [
        finalize.replace("IS NULL", "IS NOT NULL"),
        finalize.replace("2026-03-04T05:06:07.000000Z", "later"),
        format!("UPDATE pending_reports SET expired_at = 'now'; {finalize}"),
    ] {
        add("pending_reports_finalized", late, &sql);
    }
    for column in ["superseded_at", "expired_at"] {
        for change in ["NULL", "'later'"] {
            let once = format!("UPDATE pending_reports SET {column} = coalesce({column}, 'now')");
            let sql =
                format!("{once}; UPDATE pending_reports SET {column} = {change} WHERE bundle_id = 'old'");
            add("pending_reports_update", rule, &sql);
        }
    }
    let rule = "pending_reports: a pending report is history and never deleted";
    add("pending_reports_delete", rule, "DELETE FROM pending_reports WHERE bundle_id = 'old'");
}

fn inputs_and_angles(add: &mut Add<'_>) {
    let rule = "angle_inputs: this angle input exists";
    add("angle_inputs_insert", rule, &input(2, 1, "n2"));
    add("angle_inputs_insert", rule, &input(2, 2, "n1"));
    let rule = "angle_inputs: only the current pending report takes them, as many as it counts";
    for (report, position) in [(1, 2), (9, 1), (2, 4), (2, 0)] {
        add("angle_inputs_insert", rule, &input(report, position, "n2"));
    }
    let rule = "angle_inputs: the round has no nomination of this id";
    add("angle_inputs_insert", rule, &input(2, 2, "n3"));
    for digest in NOT_DIGESTS {
        let rule = "angle_inputs: sha256 is 64 lower-case hex characters";
        add("angle_inputs_insert", rule, &input(2, 2, "n2").replace("printf('%064d', 1)", digest));
    }
    let rule = "angle_inputs: an angle input never changes";
    add("angle_inputs_update", rule, "UPDATE OR REPLACE angle_inputs SET body = ''");
    let rule = "angle_inputs: an angle input is history and never deleted";
    add("angle_inputs_delete", rule, "DELETE FROM angle_inputs WHERE pending_number = 1");

    add("angles_insert", "angles: this angle exists", &angle(2, 1, "n1"));
    let rule = "angles: only the current pending report takes angles";
    add("angles_insert", rule, &angle(1, 1, "n1"));
    add("angles_insert", rule, &angle(9, 1, "n1"));
    let rule = "angles: the pending report has no angle input of this id";
    add("angles_insert", rule, &angle(2, 2, "n2"));
    for attempt in [0, -1, 3] {
        add("angles_insert", "angles: attempts count up from 1", &angle(2, attempt, "n1"));
    }
    let rule = "angles: an angle never changes; finalize again";
    add("angles_update", rule, "UPDATE OR REPLACE angles SET podcast = ''");
    let rule = "angles: an angle is history and never deleted";
    add("angles_delete", rule, "DELETE FROM angles");
}

fn topics(add: &mut Add<'_>) {
    let topic =
        |key: &str, name: &str| format!("INSERT OR REPLACE INTO queue VALUES ({key}, {name}, '', NULL)");
    add("queue_insert", "queue: this topic exists", &topic("'topic'", "'x'"));
    for (key, name) in [("''", "'x'"), ("'x'", "''")] {
        add("queue_insert", "queue: a topic has a name", &topic(key, name));
    }
    let rule = "queue: a topic is covered once and stays covered; nothing else of it changes";
    for change in
        ["normalized_name = 'x'", "name = 'x'", "domain = 'x'", "covered_at = NULL", "covered_at = 'later'"]
    {
        let sql = format!("UPDATE OR REPLACE queue SET {change} WHERE normalized_name = 'done'");
        add("queue_update", rule, &sql);
    }
    add(
        "queue_delete",
        "queue: a topic is never deleted",
        "DELETE FROM queue WHERE normalized_name = 'done'",
    );

    let count = |key: &str, run_ref: &str| {
        format!("INSERT OR REPLACE INTO queue_counts VALUES ('{key}', '{run_ref}', '')")
    };
    let rule = "queue_counts: this run_ref counted this topic";
    add("queue_counts_insert", rule, &count("topic", "a"));
    add("queue_counts_insert", "queue_counts: there is no such topic", &count("none", "a"));
    let rule = "queue_counts: a count never changes";
    add("queue_counts_update", rule, "UPDATE OR REPLACE queue_counts SET run_ref = 'b'");
    add("queue_counts_delete", "queue_counts: a count is never deleted", "DELETE FROM queue_counts");
}

/// Statements that every rule allows.
pub(super) fn allowed() -> Vec<String> {
    let rounds = |sql: &str| format!("{ROUNDS};\n{sql}");
    // json refuses what it is given, should anything be there.
    let none = |query: &str| format!("SELECT json('{{') WHERE EXISTS ({query})");
    vec![
        rounds(&format!("{END}; {}", round("'A-z_0.9'"))),
        rounds(&nomination("new", 3, "'n3'")),
        rounds("UPDATE rounds SET expired_at = 'now'"),
        rounds(&format!("{}; {}", judgment("new", 1, "n2"), judgment("new", 2, "n2"))),
        rounds(&judgment("new", 2, "n2").replace("NULL, NULL, NULL", "'name', 1, 100")),
        rounds(&format!("{END_REPORT}; {}; {}", report("new"), input(3, 1, "n2"))),
        rounds(
            "UPDATE pending_reports SET finalized_at = '2026-03-04T05:06:07.000000Z' WHERE superseded_at IS NULL",
        ),
        rounds("UPDATE pending_reports SET expired_at = 'now'"),
        rounds(&angle(2, 2, "n1")),
        rounds("UPDATE queue SET covered_at = 'now' WHERE normalized_name = 'topic'"),
        rounds("INSERT INTO queue_counts VALUES ('topic', 'b', ''), ('done', 'a', '')"),
        // A pending report ends with its round, and with its judgments.
        rounds(&format!("{END}; {}", none("SELECT 1 FROM pending_reports WHERE superseded_at IS NULL"))),
        rounds(&format!(
            "{}; {}",
            judgment("new", 2, "n1"),
            none("SELECT 1 FROM pending_reports WHERE superseded_at IS NULL")
        )),
    ]
}
