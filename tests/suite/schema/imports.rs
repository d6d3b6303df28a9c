//! Attacks on what is kept of an imported run. Each begins with the import that it needs: the seeded store has none.

use super::attacks::Attack;
use super::{LARGE, SNAPSHOT};
use legbook::digest::Digest;

/// `run-2` as an import: a run.json, a checkpoint that no event names, a partial line in the journal and one in a file.
fn import() -> String {
    let large = Digest::of(&LARGE);
    format!(
        "INSERT INTO imports (run_id, imported_at) VALUES ('run-2', '');
         {};
         {};
         INSERT INTO imported_files VALUES
             ('run-2', '.', 448, NULL, NULL), ('run-2', 'run.json', 384, printf('%064d', 1), x'7b7d'),
             ('run-2', 'events/recovery-checkpoints/{large}.json', 384, '{large}', NULL)",
        partial("lifecycle-partial-000000-", ".bin", "0", "1"),
        partial("lifecycle-partial-000003-", "-1.bin", "3", "0"),
    )
}

fn partial(before: &str, after: &str, whole_lines: &str, at_end: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO quarantine
         VALUES ('run-2', '{before}' || printf('%064d', 1) || '{after}', {whole_lines}, {at_end}, '', printf('%064d', 1), 2, x'7b7d')"
    )
}

fn file(path: &str, rest: &str) -> String {
    format!("INSERT OR REPLACE INTO imported_files VALUES ('run-2', {path}, {rest})")
}

pub(super) fn all() -> Vec<Attack> {
    let mut attacks = Vec::new();
    let mut add = |trigger, rule, sql: &str| {
        attacks.push(Attack { trigger, rule, sql: format!("{};\n{sql}", import()) });
    };
    let removed = "INSERT INTO removals VALUES ('run-2', '', 0, NULL)";

    add(
        "imports_insert",
        "imports: this run is on the list",
        "INSERT OR REPLACE INTO imports (run_id, imported_at) VALUES ('run-2', 'x')",
    );
    add(
        "imports_insert",
        "imports: there is no such run",
        "INSERT INTO imports (run_id, imported_at) VALUES ('run-9', '')",
    );
    let sql =
        "DELETE FROM locks; INSERT INTO removals SELECT 'run-long', '', sequence, event_digest FROM events
               WHERE run_id = 'run-long' AND sequence = 12; INSERT INTO imports (run_id, imported_at) VALUES ('run-long', '')";
    add("imports_insert", "imports: this run is being removed", sql);
    let rule = "imports: only imported_at and replacing change";
    add("imports_update", rule, "UPDATE OR REPLACE imports SET run_id = 'run-1'");
    add("imports_update", rule, "UPDATE imports SET replacing = 2");
    let rule = "imported_files: a file goes only with its run, or if an import replaces it";
    add("imported_files_delete", rule, "DELETE FROM imported_files WHERE path = 'run.json'");
    let rule = "quarantine: a kept line goes only with its run, or if an import replaces it";
    add("quarantine_delete", rule, "DELETE FROM quarantine");
    let replaced = "UPDATE imports SET replacing = 1; UPDATE imports SET replacing = 0";
    add("quarantine_delete", rule, &format!("{replaced}; DELETE FROM quarantine"));
    let rule = "imports: an imported run stays one, unless retention removes it and its files are gone";
    add("imports_delete", rule, "DELETE FROM imports");
    add("imports_delete", rule, &format!("{removed}; DELETE FROM imports"));
    add("imports_delete", rule, &format!("{removed}; DELETE FROM imported_files; DELETE FROM imports"));

    add("imported_files_insert", "imported_files: this file is listed", &file("'.'", "511, NULL, NULL"));
    let sql = "INSERT INTO imported_files VALUES ('run-1', '.', 448, NULL, NULL)";
    add("imported_files_insert", "imported_files: the run was not imported", sql);
    let rule = "imported_files: a mode has permission bits only";
    for mode in ["-1", "512", "2048"] {
        add("imported_files_insert", rule, &file("'events'", &format!("{mode}, NULL, NULL")));
    }
    let rule = "imported_files: sha256 is 64 lower-case hex characters";
    for digest in ["''", "'x'", "printf('%064d', 1) || char(0)", "upper(printf('%064x', 10))"] {
        let path = "'events/shadow-comparison.json'";
        add("imported_files_insert", rule, &file(path, &format!("384, {digest}, x'7b7d'")));
    }
    let rule = "imported_files: a legacy run directory has no such file";
    let body = "384, printf('%064d', 1), x'7b7d'";
    for path in [
        "''",
        "'..'",
        "'/etc/passwd'",
        "'../run.json'",
        "'events/../../run.json'",
        "'run.json' || char(0)",
        "'events'",
        "'events/lifecycle.jsonl'",
        "'events/recovery-checkpoints/' || printf('%064d', 1) || '.json'",
        "'events/quarantine/../../../run.json'",
        "'events/quarantine/lifecycle-partial-000000-' || printf('%064d', 1) || '.bin'",
    ] {
        add("imported_files_insert", rule, &file(path, body));
    }
    for path in ["'events/shadow-comparison.json'", "'events/quarantine/other'", "'run.json.old'"] {
        add("imported_files_insert", rule, &file(path, "384, NULL, NULL"));
    }
    let path = "'events/recovery-checkpoints/' || printf('%064d', 5) || '.json'";
    let rule = "imported_files: the checkpoint is not stored";
    add("imported_files_insert", rule, &file(path, "384, printf('%064d', 5), NULL"));
    for change in ["run_id = 'run-1'", "path = 'events'", "mode = 0", "body = x''"] {
        let rule = "imported_files: a row is replaced, never changed";
        let sql = format!("UPDATE OR REPLACE imported_files SET {change} WHERE path = 'run.json'");
        add("imported_files_update", rule, &sql);
    }

    let file_of_3 =
        |after: &str, lines: &str, at_end: &str| partial("lifecycle-partial-000003-", after, lines, at_end);
    add("quarantine_insert", "quarantine: this line is kept", &file_of_3("-1.bin", "3", "0"));
    let sql = file_of_3(".bin", "3", "0").replace("'run-2'", "'run-1'");
    add("quarantine_insert", "quarantine: the run was not imported", &sql);
    let rule = "quarantine: sha256 is 64 lower-case hex characters";
    add("quarantine_insert", rule, &file_of_3(".bin", "3", "0").replace("printf('%064d', 1)", "'1'"));
    let rule = "quarantine: byte_size must be the number of the bytes";
    add("quarantine_insert", rule, &file_of_3(".bin", "3", "0").replace(", 2, x", ", 3, x"));
    let rule = "quarantine: a count of lines is not below 0";
    add("quarantine_insert", rule, &partial("lifecycle-partial--00001-", ".bin", "-1", "0"));
    add("quarantine_insert", "quarantine: at_end is 0 or 1", &file_of_3(".bin", "3", "2"));
    let rule = "quarantine: one partial line at most stands at the end of a journal";
    add("quarantine_insert", rule, &file_of_3(".bin", "3", "1"));
    let rule = "quarantine: the name is made of the count of lines and the digest";
    for (before, after) in [
        ("lifecycle-partial-000004-", ".bin"),
        ("lifecycle-partial-3-", ".bin"),
        ("../lifecycle-partial-000003-", ".bin"),
        ("lifecycle-partial-000003-", ""),
        ("lifecycle-partial-000003-", "/../x.bin"),
        ("lifecycle-partial-000003-", "-1.bin' || char(0) || '"),
        ("lifecycle-partial-000003-", "-x.bin"),
    ] {
        add("quarantine_insert", rule, &partial(before, after, "3", "0"));
    }
    let rule = "quarantine: a kept line never changes";
    add("quarantine_update", rule, "UPDATE OR REPLACE quarantine SET at_end = 0");

    let rule = "runs: an imported run is deleted after what was kept of it";
    add("runs_delete_imported", rule, &format!("{removed}; DELETE FROM runs WHERE run_id = 'run-2'"));
    let rule = "checkpoints: an imported run keeps this checkpoint";
    let sql = format!(
        "DELETE FROM locks; INSERT INTO removals SELECT 'run-1', '', sequence, event_digest FROM events
         WHERE run_id = 'run-1' AND sequence = 2; DELETE FROM checkpoints WHERE sha256 <> '{}'",
        Digest::of(SNAPSHOT)
    );
    add("checkpoints_delete_imported", rule, &sql);
    attacks
}

pub(super) fn allowed() -> Vec<String> {
    let import = import();
    vec![
        // Taken in again.
        format!(
            "{import}; UPDATE imports SET replacing = 1; DELETE FROM imported_files; DELETE FROM quarantine;
             UPDATE imports SET imported_at = 'later', replacing = 0;
             INSERT INTO imported_files VALUES ('run-2', 'run.json', 0, printf('%064d', 1), x'')"
        ),
        // A partial line's own mode.
        format!(
            "{import}; INSERT INTO imported_files
             VALUES ('run-2', 'events/quarantine/lifecycle-partial-000003-' || printf('%064d', 1) || '-1.bin', 420, NULL, NULL)"
        ),
        // A removal, in its order.
        format!(
            "{import}; INSERT INTO removals VALUES ('run-2', '', 0, NULL); DELETE FROM imported_files;
             DELETE FROM quarantine; DELETE FROM imports; DELETE FROM runs WHERE run_id = 'run-2'"
        ),
    ]
}
