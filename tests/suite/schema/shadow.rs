//! Attacks on the shadow evidence. Each begins with the evidence that it needs: the seeded store has none.

use super::attacks::Attack;

/// Evidence of `run-1`, of two comparisons.
const EVIDENCE: &str =
    "INSERT INTO shadow_evidence VALUES ('run-1', 2, 2, 1, 0, 1, 0, 'started', NULL, NULL);
     INSERT INTO shadow_records VALUES ('run-1', 1, 'match', NULL, 2, '', '', '', '[]', '', NULL)";

fn evidence(run_id: &str, counts: &str) -> String {
    format!("INSERT OR REPLACE INTO shadow_evidence VALUES ({run_id}, 2, {counts}, NULL, NULL, NULL)")
}

fn record(number: &str, outcome: &str, category: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO shadow_records
         VALUES ('run-1', {number}, {outcome}, {category}, 2, '', '', '', '[]', '', NULL)"
    )
}

pub(super) fn all() -> Vec<Attack> {
    let mut attacks = Vec::new();
    let mut add = |trigger, rule, sql: &str| {
        attacks.push(Attack { trigger, rule, sql: format!("{EVIDENCE};\n{sql}") });
    };
    add(
        "shadow_evidence_insert",
        "shadow_evidence: this run has evidence",
        &evidence("'run-1'", "0, 0, 0, 0, 0"),
    );
    for run_id in ["'run-9'", "'RUN-2'", "''"] {
        add(
            "shadow_evidence_insert",
            "shadow_evidence: there is no such run",
            &evidence(run_id, "0, 0, 0, 0, 0"),
        );
    }
    let sum = "shadow_evidence: comparisons is the sum of the outcomes, none of them below 0";
    for counts in ["1, 0, 0, 0, 0", "0, 1, 0, 0, 0", "1, 2, -1, 0, 0", "0, 1, 0, 0, -1", "0, 0, 1, -1, 0"] {
        add("shadow_evidence_insert", sum, &evidence("'run-2'", counts));
    }
    add("shadow_evidence_update", sum, "UPDATE OR REPLACE shadow_evidence SET mismatches = 1");
    let rule = "shadow_evidence: a count never goes down; delete the row to begin anew";
    for change in [
        "matches = 2, lags = 0",
        "matches = 0, lags = 2",
        "comparisons = 1, lags = 0",
        "comparisons = 4, matches = 3",
        "matches = 0, mismatches = 1",
        "matches = 3, mismatches = -2",
    ] {
        add("shadow_evidence_update", rule, &format!("UPDATE shadow_evidence SET {change}"));
    }
    add(
        "shadow_evidence_update",
        "shadow_evidence: evidence stays with its run",
        "UPDATE OR REPLACE shadow_evidence SET run_id = 'run-2'",
    );
    add("shadow_records_insert", "shadow_records: this record exists", &record("1", "'match'", "NULL"));
    for number in ["3", "0", "-1", "9223372036854775807"] {
        let rule = "shadow_records: the run has no evidence of so many comparisons";
        add("shadow_records_insert", rule, &record(number, "'match'", "NULL"));
    }
    let outcome = "shadow_records: an outcome is match, lag, mismatch or error";
    add("shadow_records_insert", outcome, &record("2", "'Match'", "NULL"));
    add("shadow_records_insert", outcome, &record("2", "'match' || char(0)", "NULL"));
    let category = "shadow_records: an error, and nothing else, has a category";
    add("shadow_records_insert", category, &record("2", "'error'", "NULL"));
    add("shadow_records_insert", category, &record("2", "'lag'", "'comparison-gap'"));
    add(
        "shadow_records_update",
        "shadow_records: a record never changes",
        "UPDATE OR REPLACE shadow_records SET outcome = 'match'",
    );
    attacks
}

pub(super) fn allowed() -> Vec<String> {
    let with = |sql: &str| format!("{EVIDENCE};\n{sql}");
    vec![
        with(&evidence("'run-2'", "4, 1, 1, 1, 1")),
        with(&record("2", "'error'", "'comparison-gap'")),
        with("UPDATE shadow_evidence SET comparisons = 3, lags = 2"),
        with("DELETE FROM shadow_records"),
        with("DELETE FROM shadow_evidence"),
    ]
}
