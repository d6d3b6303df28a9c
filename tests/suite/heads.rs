//! `legbook doctor --heads`: verdicts first, stores that are gone, and one store's trouble that keeps no other one's heads back.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::doctor::Clinic;
use crate::doctor_cli::doctor;
use crate::support::LEGBOOK;

/// A store with another id: each clinic is a copy of the same one.
fn other_clinic() -> Clinic {
    let clinic = Clinic::new();
    let store = Connection::open(clinic.store()).unwrap();
    let sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'store'";
    let triggers: Vec<(String, String)> = store
        .prepare(sql)
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (name, _) in &triggers {
        store.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    store.execute("UPDATE store SET store_id = '00000000000000000000000000000001'", []).unwrap();
    for (_, sql) in &triggers {
        store.execute_batch(sql).unwrap();
    }
    clinic
}

fn cut_tail(clinic: &Clinic) {
    let sql = "DROP TRIGGER events_delete; DELETE FROM events WHERE run_id = 'failed' AND sequence > 3;";
    Connection::open(clinic.store()).unwrap().execute_batch(sql).unwrap();
}

fn overwrite(store: &Path, at: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(store).unwrap().write_all_at(bytes, at).unwrap();
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_heads_file_that_cannot_be_read_hides_no_verdict() {
    let clinic = Clinic::new();
    fs::write(clinic.path().join("heads.json"), "[]").unwrap();
    let well = doctor(&clinic, &["--heads", "heads.json"]);
    assert!(well.expect(3).contains(": ok: runs ok=4"), "{well:?}");
    assert!(well.stderr.starts_with("error: the heads were not kept: "), "{well:?}");
    assert!(well.stderr.contains("heads.json is not a heads file of legbook\nhelp: "), "{well:?}");
    fs::write(clinic.run_json("ended"), "{}").unwrap();
    let bad = doctor(&clinic, &["--heads", "heads.json", "--quiet"]);
    assert!(bad.expect(2).contains("fail run ended: run.json does not match checkpoint"), "{bad:?}");
    assert!(bad.stderr.starts_with("error: the heads were not kept: "), "{bad:?}");
    assert_eq!(fs::read(clinic.path().join("heads.json")).unwrap(), b"[]");
    // A directory cannot be read either.
    assert_eq!(doctor(&clinic, &["--heads", "."]).expect(2).lines().count(), 3);
}

#[test]
fn a_heads_file_that_cannot_be_written_hides_no_verdict() {
    let clinic = Clinic::new();
    fs::remove_file(clinic.run_json("ended")).unwrap();
    let answer = doctor(&clinic, &["--heads", "no-such-folder/heads.json"]);
    assert!(answer.expect(3).contains("warn run ended: run.json missing"), "{answer:?}");
    assert!(answer.stderr.starts_with("error: the heads were not kept: "), "{answer:?}");
    let answer = doctor(&clinic, &["--heads", "no-such-folder/heads.json", "--json"]);
    let said = json(answer.expect(3));
    assert_eq!((&said["outcome"], &said["exit_code"]), (&"unchecked".into(), &3.into()));
    assert_eq!(said["stores"][0]["outcome"], "warn");
    let heads = &said["heads"];
    assert_eq!((&heads["made"], &heads["replaced"]), (&false.into(), &false.into()));
    assert!(heads["error"].as_str().unwrap().contains("no-such-folder"), "{said}");
}

#[test]
fn a_known_store_that_is_gone_is_a_failure_named_or_not() {
    let (here, other) = (Clinic::new(), other_clinic());
    let (well, gone) = (here.store().display().to_string(), other.store().display().to_string());
    doctor(&here, &["--heads", "heads.json", &well, &gone]).expect(0);
    let kept = fs::read(here.path().join("heads.json")).unwrap();
    fs::rename(other.path().join(".legbook"), other.path().join("away")).unwrap();
    let finding = "fail head-gone: the store is gone; the heads file has seen 4 journals in it";
    // A pattern of the shell names the stores that exist; a search upwards finds the one of the folder.
    for stores in [&[well.as_str()][..], &[&well, &gone], &[]] {
        let answer = doctor(&here, &[&["--heads", "heads.json"], stores].concat());
        assert_eq!(answer.expect(2).matches(finding).count(), 1, "{answer:?}");
        assert!(answer.stdout.contains(&format!("{gone}: fail: ")), "{answer:?}");
        assert_eq!(fs::read(here.path().join("heads.json")).unwrap(), kept);
    }
    // To accept is said of a store by its name.
    let answer = doctor(&here, &["--heads", "heads.json", "--accept-heads", &well]);
    assert!(answer.expect(2).contains(finding), "{answer:?}");
    let remedy =
        answer.stdout.lines().find_map(|line| line.trim().strip_prefix("do: legbook doctor ")).unwrap();
    let words = shlex::split(remedy).unwrap();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(!doctor(&here, &words).expect(0).contains("head-gone"));
    doctor(&here, &["--heads", "heads.json", &well]).expect(0);
}

#[test]
fn a_known_store_that_was_moved_is_not_gone() {
    let (here, other) = (Clinic::new(), Clinic::new());
    doctor(&here, &["--heads", "heads.json", other.store().to_str().unwrap()]).expect(0);
    let moved = here.path().join("moved");
    fs::rename(other.path().join(".legbook"), &moved).unwrap();
    let answer = doctor(&here, &["--heads", "heads.json", "moved/store.db"]);
    assert!(!answer.stdout.contains("head-"), "{answer:?}");
    let heads = json(&fs::read_to_string(here.path().join("heads.json")).unwrap());
    let stores = heads["stores"].as_object().unwrap();
    let paths: Vec<&str> = stores.values().map(|store| store["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [moved.join("store.db").to_str().unwrap()]);
}

#[test]
fn a_store_that_went_backwards_keeps_its_heads_and_the_others_move_on() {
    let (bad, well) = (Clinic::new(), other_clinic());
    let stores = [bad.store().display().to_string(), well.store().display().to_string()];
    let call = ["--heads", "heads.json", &stores[0], &stores[1]];
    doctor(&bad, &call).expect(0);
    let runs = |store: &str| -> serde_json::Value {
        let heads = json(&fs::read_to_string(bad.path().join("heads.json")).unwrap());
        let stores = heads["stores"].as_object().unwrap();
        stores.values().find(|kept| kept["path"] == store).unwrap()["runs"].clone()
    };
    let before = runs(&stores[0]);
    cut_tail(&bad);
    let mut command = Command::new(LEGBOOK);
    command.args(["--store", &stores[1], "run", "--run-id", "more", "--", "true"]).current_dir(well.path());
    assert!(command.status().unwrap().success());
    let answer = doctor(&bad, &call);
    assert!(answer.expect(2).contains("head-behind: run failed"), "{answer:?}");
    assert!(answer.stderr.contains("keeps the old heads of each store in which"), "{answer:?}");
    assert_eq!(runs(&stores[0]), before);
    assert_eq!(runs(&stores[1])["more"]["sequence"], 4);
}

#[test]
fn a_store_with_a_damaged_header_is_damaged_and_not_a_wrong_file() {
    let zeros = [0; 100];
    let damages: [(&str, u64, &[u8]); 4] = [
        ("its first word", 0, b"sqlite FORMAT 9\0"),
        ("all of it", 0, &zeros),
        ("the page size", 16, b"\xff\xff"),
        ("the application's mark", 68, b"\x01\x02\x03\x04"),
    ];
    for (what, at, bytes) in &damages {
        let clinic = Clinic::new();
        overwrite(&clinic.store(), *at, bytes);
        let answer = doctor(&clinic, &[]);
        assert!(answer.expect(2).contains("fail file-damaged: "), "{what}: {answer:?}");
        assert!(answer.stdout.contains("put back the last copy that was whole"), "{what}: {answer:?}");
        assert!(answer.stdout.contains("the runs were not judged: "), "{what}: {answer:?}");
    }
    // Elsewhere the mark tells, or the heads; without both the file is a wrong one.
    let clinic = Clinic::new();
    let store = clinic.path().join("kept.db");
    fs::copy(clinic.store(), &store).unwrap();
    fs::remove_dir_all(clinic.path().join(".legbook")).unwrap();
    doctor(&clinic, &["kept.db", "--heads", "heads.json", "--warn-ok"]);
    overwrite(&store, 0, b"sqlite");
    assert!(doctor(&clinic, &["kept.db"]).expect(2).contains("fail file-damaged: "));
    overwrite(&store, 0, &zeros);
    doctor(&clinic, &["kept.db"]).refused(3, "is not an SQLite database");
    let answer = doctor(&clinic, &["kept.db", "--heads", "heads.json"]);
    assert!(answer.expect(2).contains("fail file-damaged: "), "{answer:?}");
    OpenOptions::new().write(true).open(&store).unwrap().set_len(100).unwrap();
    assert!(doctor(&clinic, &["kept.db"]).expect(2).contains("fail file-damaged: "));
}
