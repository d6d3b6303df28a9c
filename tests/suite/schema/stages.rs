//! Attacks on pipelines, stages and markers. Each begins with the run that it needs: the seeded store has none.

use super::attacks::{Attack, NOT_DIGESTS};

/// Pipeline `p` with the stages `fetch` and `verify`, the marker `evidence`; pipeline `q` with nothing saved.
const RUNS: &str =
    "INSERT INTO pipelines VALUES ('p', '2026-06-13', 2, ''), ('q', '2026-06-13', 2, '');
     INSERT INTO stages (rowid, pipeline, position, name, saved_at, sha256, byte_size, artifact) VALUES
         (1, 'p', 1, 'fetch', '', printf('%064d', 1), 2, x'7b7d'), (2, 'p', 2, 'verify', '', printf('%064d', 1), 2, x'7b7d');
     INSERT INTO markers (rowid, pipeline, name, saved_at, sha256, byte_size, artifact) VALUES
         (1, 'p', 'evidence', '', printf('%064d', 1), 2, x'7b7d')";

fn stage(pipeline: &str, position: &str, name: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO stages (pipeline, position, name, saved_at, sha256, byte_size, artifact)
         VALUES ('{pipeline}', {position}, {name}, '', printf('%064d', 1), 2, x'7b7d')"
    )
}

fn marker(pipeline: &str, name: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO markers (pipeline, name, saved_at, sha256, byte_size, artifact)
         VALUES ('{pipeline}', {name}, '', printf('%064d', 1), 2, x'7b7d')"
    )
}

pub(super) fn all() -> Vec<Attack> {
    let mut attacks = Vec::new();
    let mut add = |trigger, rule, sql: &str| {
        attacks.push(Attack { trigger, rule, sql: format!("{RUNS};\n{sql}") });
    };
    let pipeline = |name: &str, day: &str, version: &str| {
        format!("INSERT OR REPLACE INTO pipelines VALUES ({name}, {day}, {version}, '')")
    };
    add("pipelines_insert", "pipelines: this pipeline is in a run", &pipeline("'p'", "'2026-06-14'", "2"));
    for name in ["''", "printf('%0129d', 1)", "'a/b'", "'-p'", "'p' || char(10)", "'p' || char(0)", "'é'"] {
        let rule = "pipelines: a pipeline name is 1 to 128 of A-Z a-z 0-9 . _ -, with no - in front";
        add("pipelines_insert", rule, &pipeline(name, "'2026-06-13'", "2"));
    }
    for day in [
        "''",
        "'now'",
        "'2026-02-30'",
        "'2026-6-13'",
        "'2026-06-13 00:00'",
        "'2026-06-13' || char(0)",
        "'20260613'",
    ] {
        add("pipelines_insert", "pipelines: run_date is a day, YYYY-MM-DD", &pipeline("'r'", day, "2"));
    }
    let rule = "pipelines: schema_version is 1 or more";
    add("pipelines_insert", rule, &pipeline("'r'", "'2026-06-13'", "0"));
    add("pipelines_update", rule, "UPDATE pipelines SET schema_version = -2");
    let rule = "pipelines: a run of version 1 goes to 2 without its stage fetch";
    let old = pipeline("'old'", "'2026-06-13'", "1");
    let sql = format!(
        "{old}; {}; UPDATE pipelines SET schema_version = 2 WHERE name = 'old'",
        stage("old", "1", "'fetch'")
    );
    add("pipelines_update", rule, &sql);
    for change in ["name = 'q'", "name = 'r'", "run_date = '2026-06-14'", "begun_at = 'later'"] {
        let rule = "pipelines: only the schema_version of a run changes";
        add("pipelines_update", rule, &format!("UPDATE OR REPLACE pipelines SET {change} WHERE name = 'p'"));
    }

    add("stages_insert", "stages: the pipeline is in no run", &stage("r", "1", "'fetch'"));
    let rule = "stages: a stage is completed once a run";
    add("stages_insert", rule, &stage("p", "3", "'fetch'"));
    let row = "VALUES (1, 'p', 3, 'new', '', printf('%064d', 1), 2, x'7b7d')";
    let columns = "(rowid, pipeline, position, name, saved_at, sha256, byte_size, artifact)";
    add("stages_insert", rule, &format!("INSERT OR REPLACE INTO stages {columns} {row}"));
    for rowid in ["0", "-1", "-9223372036854775808"] {
        let rule = "stages: a row number below 1";
        add(
            "stages_insert_number",
            rule,
            &format!("INSERT INTO stages {columns} {}", row.replace("(1", &format!("({rowid}"))),
        );
    }
    add("stages_insert", "stages: a marker of the run has this name", &stage("p", "3", "'evidence'"));
    let rule = "stages: position must be exactly one more than the run's last";
    for position in ["1", "2", "4", "0", "NULL"] {
        add("stages_insert", rule, &stage("p", position, "'new'"));
    }
    add("stages_insert", rule, &stage("q", "3", "'new'"));
    for change in [
        "rowid = 2",
        "rowid = 7",
        "pipeline = 'q'",
        "position = 2",
        "position = 3",
        "name = 'verify'",
        "name = 'new'",
    ] {
        let rule = "stages: a completed stage keeps its pipeline, its position and its name";
        add("stages_update", rule, &format!("UPDATE OR REPLACE stages SET {change} WHERE position = 1"));
    }
    let rule = "stages: only the last stage of a run is deleted; to clear a run delete its pipelines row";
    add("stages_delete", rule, "DELETE FROM stages WHERE name = 'fetch'");
    add("stages_delete", rule, "DELETE FROM stages");

    add("markers_insert", "markers: the pipeline is in no run", &marker("r", "'new'"));
    let rule = "markers: the run has this marker";
    add("markers_insert", rule, &marker("p", "'evidence'"));
    let row = "VALUES (1, 'p', 'new', '', printf('%064d', 1), 2, x'7b7d')";
    let columns = "(rowid, pipeline, name, saved_at, sha256, byte_size, artifact)";
    add("markers_insert", rule, &format!("INSERT OR REPLACE INTO markers {columns} {row}"));
    for rowid in ["0", "-1", "-9223372036854775808"] {
        let rule = "markers: a row number below 1";
        add(
            "markers_insert_number",
            rule,
            &format!("INSERT INTO markers {columns} {}", row.replace("(1", &format!("({rowid}"))),
        );
    }
    add("markers_insert", "markers: a completed stage of the run has this name", &marker("p", "'verify'"));
    for change in ["rowid = 7", "pipeline = 'q'", "name = 'new'"] {
        let rule = "markers: a marker keeps its pipeline and its name";
        add("markers_update", rule, &format!("UPDATE OR REPLACE markers SET {change}"));
    }

    for name in [
        "''",
        "'manifest'",
        "'Fetch'",
        "'-a'",
        "'_a'",
        "'a.b'",
        "'../escape'",
        "'a' || char(10)",
        "'a' || char(0)",
        "'a' || char(0) || '/'",
        "'é'",
        "printf('%0251d', 1)",
    ] {
        let rule = "stages: a stage name is [a-z0-9][a-z0-9_-]*, at most 250 characters, and not manifest";
        add("stages_insert", rule, &stage("p", "3", name));
        let rule = "markers: a stage name is [a-z0-9][a-z0-9_-]*, at most 250 characters, and not manifest";
        add("markers_insert", rule, &marker("p", name));
    }
    for digest in NOT_DIGESTS {
        let rule = "stages: sha256 is 64 lower-case hex characters";
        add("stages_insert", rule, &stage("p", "3", "'new'").replace("printf('%064d', 1)", digest));
        add("stages_update", rule, &format!("UPDATE OR REPLACE stages SET sha256 = {digest}"));
        let rule = "markers: sha256 is 64 lower-case hex characters";
        add("markers_insert", rule, &marker("p", "'new'").replace("printf('%064d', 1)", digest));
        add("markers_update", rule, &format!("UPDATE OR REPLACE markers SET sha256 = {digest}"));
    }
    for (size, artifact) in [("1", "x''"), ("3", "x'c3a9'"), ("NULL", "x''"), ("1", "zeroblob(2)")] {
        let rule = "stages: byte_size must be the size of the artifact";
        let change = format!("byte_size = {size}, artifact = {artifact}");
        add(
            "stages_insert",
            rule,
            &stage("p", "3", "'new'").replace("2, x'7b7d'", &format!("{size}, {artifact}")),
        );
        add("stages_update", rule, &format!("UPDATE OR REPLACE stages SET {change}"));
        let rule = "markers: byte_size must be the size of the artifact";
        add(
            "markers_insert",
            rule,
            &marker("p", "'new'").replace("2, x'7b7d'", &format!("{size}, {artifact}")),
        );
        add("markers_update", rule, &format!("UPDATE OR REPLACE markers SET {change}"));
    }
    let bound = "UPDATE settings SET value = 1024 WHERE key = 'max-artifact-bytes'";
    let large = "1025, zeroblob(1025)";
    let change = "SET byte_size = 1025, artifact = zeroblob(1025)";
    let rule = "stages: larger than max-artifact-bytes";
    add(
        "stages_insert",
        rule,
        &format!("{bound}; {}", stage("p", "3", "'new'").replace("2, x'7b7d'", large)),
    );
    add("stages_update", rule, &format!("{bound}; UPDATE stages {change}"));
    let rule = "markers: larger than max-artifact-bytes";
    add("markers_insert", rule, &format!("{bound}; {}", marker("p", "'new'").replace("2, x'7b7d'", large)));
    add("markers_update", rule, &format!("{bound}; UPDATE markers {change}"));
    attacks
}

/// Statements that every rule allows.
pub(super) fn allowed() -> Vec<String> {
    let runs = |sql: &str| format!("{RUNS};\n{sql}");
    vec![
        runs(&stage("p", "3", "'0_-z'")),
        runs(&stage("q", "1", "'evidence'")),
        runs(&stage("q", "1", "printf('%0250d', 1)")),
        runs(&marker("q", "'fetch'")),
        runs(
            "UPDATE stages SET byte_size = 3, artifact = x'616263', sha256 = printf('%064x', 2), saved_at = 'later'",
        ),
        runs("UPDATE pipelines SET schema_version = 2"),
        runs(
            "DELETE FROM stages WHERE name = 'verify'; DELETE FROM stages WHERE name = 'fetch'; DELETE FROM markers",
        ),
        // A whole run in one statement; json refuses what it is given, should anything be left.
        runs(
            "DELETE FROM pipelines WHERE name = 'p'; SELECT json('{') FROM stages; SELECT json('{') FROM markers;
              INSERT INTO pipelines VALUES ('p', '2024-02-29', 2, '')",
        ),
        "INSERT INTO pipelines VALUES ('A.b_c-', '2024-02-29', 1, '')".to_owned(),
    ]
}
