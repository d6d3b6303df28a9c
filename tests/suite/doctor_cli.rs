//! `legbook doctor` as a command: exit codes, what is said where, `--json`, and what contrib/ and docs/ say of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use legbook::doctor::{Kind, Reason};
use rusqlite::Connection;

use crate::doctor::Clinic;
use crate::support::{Answer, LEGBOOK};

pub(crate) fn doctor(clinic: &Clinic, arguments: &[&str]) -> Answer {
    let mut command = Command::new(LEGBOOK);
    command.arg("doctor").args(arguments).current_dir(clinic.path()).env_remove("LEGBOOK_STORE");
    Answer::of(command.output().unwrap())
}

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn a_store_that_is_well_is_one_line_and_exit_0_and_with_quiet_none() {
    let clinic = Clinic::new();
    let line = format!("{}: ok: runs ok=4 warn=0 fail=0 omitted=1\n", clinic.store().display());
    assert_eq!(doctor(&clinic, &[]).expect(0), line);
    let quiet = doctor(&clinic, &["--quiet", "--full"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (0, "", ""));
}

#[test]
fn a_warning_is_exit_1_unless_it_is_ok() {
    let clinic = Clinic::new();
    fs::remove_file(clinic.run_json("ended")).unwrap();
    let store = clinic.store().display().to_string();
    let told = format!(
        "{store}: warn: runs ok=3 warn=1 fail=0 omitted=1
  warn run ended: run.json missing with valid checkpoint
       do: legbook --store {store} runs export ended
"
    );
    assert_eq!(doctor(&clinic, &[]).expect(1), told);
    assert_eq!(
        doctor(&clinic, &["--quiet"]).expect(1),
        format!(
            "{store}: warn: runs ok=3 warn=1 fail=0 omitted=1
  warn run ended: run.json missing with valid checkpoint\n"
        )
    );
    assert_eq!(doctor(&clinic, &["--warn-ok"]).expect(0), told);
    assert_eq!(doctor(&clinic, &["--warn-ok", "--quiet"]).expect(0), "");
}

#[test]
fn of_many_stores_each_has_its_line_and_the_worst_its_code() {
    let clinic = Clinic::new();
    let other = Clinic::new();
    fs::write(other.run_json("ended"), "{}").unwrap();
    let (well, bad) = (clinic.store().display().to_string(), other.store().display().to_string());
    let answer = doctor(&clinic, &["--quiet", &well, &bad, "absent.db"]);
    assert_eq!(
        answer.expect(2),
        format!(
            "{bad}: fail: runs ok=3 warn=0 fail=1 omitted=1; failures: ended (run.json does not match checkpoint)
  fail run ended: run.json does not match checkpoint (the journal knows no such snapshot, and it is no receipt)\n"
        )
    );
    assert!(answer.stderr.starts_with("error: cannot check "), "{answer:?}");
    assert!(answer.stderr.contains("absent.db: there is no store at "), "{answer:?}");
    assert_eq!(doctor(&clinic, &["--quiet", &well, "absent.db"]).code, 3);
}

#[test]
fn what_keeps_doctor_from_checking_is_exit_3() {
    let clinic = Clinic::new();
    fs::write(clinic.path().join("notes.txt"), "a diary ".repeat(1_000)).unwrap();
    doctor(&clinic, &["notes.txt"]).refused(3, "notes.txt is not an SQLite database");
    Connection::open(clinic.path().join("other.db")).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    doctor(&clinic, &["other.db"]).refused(3, "SQLite database of another program");
    Connection::open(clinic.store()).unwrap().execute_batch("PRAGMA user_version = 999").unwrap();
    doctor(&clinic, &[]).refused(3, "schema version 999");
    assert_eq!(doctor(&clinic, &["--no-such-flag"]).code, 3);
    assert_eq!(doctor(&clinic, &["--accept-heads"]).code, 3);
}

#[test]
fn the_json_of_a_store_always_has_the_same_members() {
    let clinic = Clinic::new();
    fs::remove_file(clinic.run_json("ended")).unwrap();
    let answer = doctor(&clinic, &["--json", "--heads", "heads.json", ".legbook/store.db", "absent.db"]);
    assert_eq!((answer.code, answer.stdout.matches('\n').count()), (3, 1), "{answer:?}");
    let said: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!((&said["outcome"], &said["exit_code"]), (&"unchecked".into(), &3.into()));
    assert_eq!((&said["heads"]["made"], &said["heads"]["replaced"]), (&true.into(), &true.into()));
    let names = |object: &serde_json::Value| -> Vec<String> {
        let mut names: Vec<String> = object.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    let [store, absent] = [0, 1].map(|at| &said["stores"][at]);
    assert_eq!(names(store), names(absent));
    assert_eq!(store["detail"], "ok=3 warn=1 fail=0 omitted=1");
    let ended = store["runs"].as_array().unwrap().iter().find(|run| run["run_id"] == "ended").unwrap();
    assert_eq!(names(ended), ["detail", "kind", "reason", "remedy", "run_id", "verdict"]);
    assert_eq!(ended["kind"], "run-json-missing");
    assert!(ended["remedy"]["command"].as_str().unwrap().ends_with("runs export ended"));
    assert!(absent["error"].as_str().unwrap().starts_with("there is no store at "));
}

#[test]
fn heads_that_went_backwards_fail_until_they_are_accepted() {
    let clinic = Clinic::new();
    let made = doctor(&clinic, &["--heads", "heads.json"]);
    assert_eq!(made.code, 0);
    assert!(made.stderr.contains("did not exist and was created"), "{made:?}");
    let kept = fs::read(clinic.path().join("heads.json")).unwrap();
    Connection::open(clinic.store())
        .unwrap()
        .execute_batch(
            "DROP TRIGGER events_delete;
             DELETE FROM events WHERE run_id = 'failed';",
        )
        .unwrap();
    for _ in 0..2 {
        let answer = doctor(&clinic, &["--heads", "heads.json"]);
        assert!(answer.expect(2).contains("fail head-gone: run failed: 4 events were there, none is"));
        assert_eq!(fs::read(clinic.path().join("heads.json")).unwrap(), kept);
    }
    let accepted = doctor(&clinic, &["--heads", "heads.json", "--accept-heads"]);
    assert!(!accepted.stdout.contains("head-gone"), "{accepted:?}");
    assert!(!doctor(&clinic, &["--heads", "heads.json"]).stdout.contains("head-gone"));
}

#[test]
fn operations_has_a_row_for_everything_that_doctor_can_find() {
    let operations = file("docs/OPERATIONS.md");
    let rows: Vec<&str> = operations
        .lines()
        .filter(|line| line.starts_with("| "))
        .filter_map(|line| line.split(" | ").next())
        .collect();
    let words =
        Kind::ALL.iter().map(|kind| kind.word()).chain(Reason::ALL.iter().map(|reason| reason.word()));
    for word in words {
        assert!(rows.iter().any(|first| first.contains(&format!("`{word}`"))), "{word} has no row");
    }
}

#[test]
fn operations_says_of_each_reason_what_doctor_says() {
    let operations = file("docs/OPERATIONS.md");
    for reason in Reason::ALL {
        let row = format!("| `{}` | {} |", reason.word(), reason.says());
        assert!(operations.contains(&row), "{row}");
    }
}

#[test]
fn systemd_takes_the_units_of_contrib() {
    let contrib: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib");
    let runtime = tempfile::tempdir().unwrap();
    let output = Command::new("systemd-analyze")
        .args(["verify", "--user"])
        .args(["legbook-doctor.service", "legbook-doctor.timer"].map(|name| contrib.join(name)))
        .env("XDG_RUNTIME_DIR", runtime.path())
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: systemd-analyze is not there");
        return;
    };
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn the_lines_of_contrib_crontab_are_calls_that_doctor_takes() {
    let clinic = Clinic::new();
    let crontab = file("contrib/crontab");
    let calls: Vec<&str> =
        crontab.lines().filter_map(|line| line.find("legbook doctor").map(|at| &line[at..])).collect();
    assert_eq!(calls.len(), 3, "the comment on top and two calls");
    for call in &calls[1..] {
        let script = call.replace("\"$HOME\"/projects/*", "\"$HOME\"").replacen("legbook", "\"$0\"", 1);
        fs::create_dir_all(clinic.path().join(".local/state")).unwrap();
        let mut sh = Command::new("sh");
        sh.args(["-c", &script, LEGBOOK]).env("HOME", clinic.path()).env_remove("LEGBOOK_STORE");
        let answer = Answer::of(sh.output().unwrap());
        assert_eq!((answer.code, answer.stdout.as_str()), (0, ""), "{script}: {answer:?}");
    }
}
