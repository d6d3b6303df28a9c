//! Directories that somebody made to do harm: each is refused by import and judged by doctor, and nothing else happens.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use legbook::legacy;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::doctor::options;
use crate::legacy_trees::{Home, LegacyRun};

const JOURNAL: &str = "events/lifecycle.jsonl";

struct Hostile {
    _folder: tempfile::TempDir,
    directory: PathBuf,
    legacy_run: LegacyRun,
}

impl Hostile {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut legacy_run = LegacyRun::new("r", &["started", "planning"]);
        // Its second snapshot alone is the latest, so that the first is an older one.
        legacy_run.step("dispatching");
        let directory = legacy_run.write(&folder.path().canonicalize().unwrap());
        Self { _folder: folder, directory, legacy_run }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    fn latest(&self) -> String {
        let body = self.legacy_run.run_json.as_ref().unwrap();
        format!("events/recovery-checkpoints/{}.json", legbook::digest::Digest::of(body.as_bytes()))
    }

    fn spoil_journal(&self, spoil: impl FnOnce(String) -> String) {
        let journal = fs::read_to_string(self.at(JOURNAL)).unwrap();
        fs::write(self.at(JOURNAL), spoil(journal)).unwrap();
    }

    /// Import refuses with `words`; doctor says `verdict`.
    #[track_caller]
    fn is_refused(&self, words: &str, verdict: &str) {
        let error = Home::new().refuses(&self.directory);
        assert!(error.contains(words), "{error}");
        assert_eq!(self.verdict(), verdict);
    }

    fn verdict(&self) -> String {
        let report = legacy::examine(&self.directory, options(true, None)).unwrap();
        let run = &report.runs[0];
        assert!(run.detail.chars().count() <= 240);
        format!("{}: {}", run.verdict.word(), run.says)
    }
}

fn replace(path: &Path, by: impl FnOnce(&Path)) {
    fs::remove_file(path).unwrap();
    by(path);
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    for (path, verdict) in [
        ("run.json", "fail: run.json cannot be read"),
        (JOURNAL, "fail: malformed chain"),
        ("latest", "fail: checkpoint fault"),
    ] {
        let hostile = Hostile::new();
        let path = if path == "latest" { hostile.latest() } else { path.to_owned() };
        let copy = hostile.directory.with_file_name("copy");
        fs::rename(hostile.at(&path), &copy).unwrap();
        symlink(&copy, hostile.at(&path)).unwrap();
        hostile.is_refused(&format!("{path}: it is a symbolic link"), verdict);
    }
    let hostile = Hostile::new();
    symlink("/etc/passwd", hostile.at("events/shadow-comparison.json")).unwrap();
    hostile.is_refused(
        "events/shadow-comparison.json: it is a symbolic link",
        "ok: checkpoint bytes match run.json",
    );
}

#[test]
fn a_link_in_the_place_of_a_directory_is_not_followed() {
    for (path, verdict) in [
        ("events", "fail: malformed chain"),
        ("events/recovery-checkpoints", "fail: checkpoint fault"),
        ("events/quarantine", "ok: checkpoint bytes match run.json"),
    ] {
        let hostile = Hostile::new();
        let copy = hostile.directory.with_file_name("copy");
        if path == "events/quarantine" {
            fs::create_dir(&copy).unwrap();
        } else {
            fs::rename(hostile.at(path), &copy).unwrap();
        }
        symlink(&copy, hostile.at(path)).unwrap();
        hostile.is_refused(&format!("{path}: it is a symbolic link"), verdict);
    }
    let hostile = Hostile::new();
    let link = hostile.directory.with_file_name("link");
    symlink(&hostile.directory, &link).unwrap();
    for name in ["link", "link/"] {
        let error = Home::new().refuses(&hostile.directory.with_file_name(name));
        assert!(error.contains("it is a symbolic link"), "{error}");
    }
    assert!(legacy::examine(&link, options(true, None)).is_err());
    // In a folder of runs a link is none.
    let parent = hostile.directory.parent().unwrap();
    let names: Vec<PathBuf> =
        legacy::run_directories(parent).unwrap().into_iter().map(|directory| directory.path).collect();
    assert_eq!(names, std::slice::from_ref(&hostile.directory));
}

#[test]
fn a_pipe_makes_nobody_wait() {
    for (path, verdict) in [
        ("run.json", "fail: run.json cannot be read"),
        (JOURNAL, "fail: malformed chain"),
        ("latest", "fail: checkpoint fault"),
    ] {
        let hostile = Hostile::new();
        let path = if path == "latest" { hostile.latest() } else { path.to_owned() };
        replace(&hostile.at(&path), |path| mkfifo(path, Mode::S_IRWXU).unwrap());
        hostile.is_refused(&format!("{path}: it is not a regular file"), verdict);
    }
}

#[test]
fn a_file_with_a_second_name_is_refused() {
    for (path, verdict) in [
        ("run.json", "fail: run.json cannot be read"),
        (JOURNAL, "fail: malformed chain"),
        ("latest", "fail: checkpoint fault"),
    ] {
        let hostile = Hostile::new();
        let path = if path == "latest" { hostile.latest() } else { path.to_owned() };
        fs::hard_link(hostile.at(&path), hostile.directory.with_file_name("second")).unwrap();
        hostile.is_refused(&format!("{path}: it has a second name (hard link)"), verdict);
    }
}

#[test]
fn what_is_larger_than_its_bound_is_not_read() {
    const MIB: u64 = 1024 * 1024;
    for size in [9 * MIB, 1024 * 1024 * MIB] {
        let hostile = Hostile::new();
        // Sparse: whoever reads it whole does not come back.
        File::options().write(true).open(hostile.at(JOURNAL)).unwrap().set_len(size).unwrap();
        hostile.is_refused("events/lifecycle.jsonl: bound exceeded", "fail: bound exceeded");
        let hostile = Hostile::new();
        let size = size.max(17 * MIB);
        File::options().write(true).open(hostile.at(&hostile.latest())).unwrap().set_len(size).unwrap();
        hostile.is_refused("bound exceeded: it has", "fail: bound exceeded");
        let hostile = Hostile::new();
        File::options().write(true).open(hostile.at("run.json")).unwrap().set_len(size).unwrap();
        hostile.is_refused("run.json: bound exceeded", "fail: run.json does not match checkpoint");
    }
    let hostile = Hostile::new();
    File::create(hostile.at("events/shadow-comparison.json")).unwrap().set_len(1 << 40).unwrap();
    hostile.is_refused("shadow-comparison.json: bound exceeded", "ok: checkpoint bytes match run.json");
    // Below the bound, but no line.
    let hostile = Hostile::new();
    File::options().write(true).open(hostile.at(JOURNAL)).unwrap().set_len(8 * MIB).unwrap();
    assert_eq!(hostile.verdict(), "fail: partial tail");
}

#[test]
fn more_events_than_any_program_writes_are_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let mut legacy_run = LegacyRun::new("r", &["started"]);
    while legacy_run.lines.len() < 2_049 {
        let key = format!("key-{}", legacy_run.lines.len());
        legacy_run.append("run.planning.completed", &key, legbook::json::Object::default());
    }
    let directory = legacy_run.write(folder.path());
    let home = Home::new();
    legbook::settings::set(&home.store, "max-journal-events", 512).unwrap();
    let error = home.refuses(&directory);
    assert!(error.contains("bound exceeded: the journal has more than 512 events"), "{error}");
    let report = legacy::examine(&directory, options(true, None)).unwrap();
    assert_eq!(report.runs[0].says, "bound exceeded");
}

#[test]
fn a_name_in_a_payload_leads_nowhere() {
    for path in ["../../../etc/passwd", "/etc/passwd", "events/recovery-checkpoints/../../run.json"] {
        let folder = tempfile::tempdir().unwrap();
        let mut legacy_run = LegacyRun::new("r", &["started"]);
        let mut payload = legbook::event::checkpoint_payload(legbook::digest::Digest::of(b"x"), 1, None);
        payload.insert("path".into(), path.into());
        legacy_run.append(legbook::event::CHECKPOINT_EVENT_TYPE, "key", payload);
        let directory = legacy_run.write(folder.path());
        let error = Home::new().refuses(&directory);
        assert!(
            error.contains("line 3: the checkpoint's path is not the one that its sha256 makes"),
            "{error}"
        );
        let report = legacy::examine(&directory, options(true, None)).unwrap();
        assert_eq!(report.runs[0].says, "checkpoint fault");
    }
}

#[test]
fn no_other_spelling_of_a_line_is_taken() {
    type Spoil = fn(String) -> String;
    let spoils: &[(&str, Spoil)] = &[
        ("CRLF", |journal| journal.replace('\n', "\r\n")),
        ("BOM", |journal| format!("\u{FEFF}{journal}")),
        ("space after", |journal| journal.replacen("}\n", "} \n", 1)),
        ("space before", |journal| format!(" {journal}")),
        ("tab within", |journal| journal.replacen("\",\"", "\",\t\"", 1)),
        ("no-break space", |journal| journal.replacen("}\n", "}\u{A0}\n", 1)),
        ("line separator", |journal| journal.replacen("}\n", "}\u{2028}\n", 1)),
        ("form feed", |journal| journal.replacen("}\n", "}\u{C}\n", 1)),
        ("blank first", |journal| format!("\n{journal}")),
        ("blank last", |journal| format!("{journal}\n")),
        ("two spellings", |journal| {
            journal.replacen("{\"event_digest\"", "{\"event\\u005fdigest\":\"x\",\"event_digest\"", 1)
        }),
        ("one spelled otherwise", |journal| {
            journal.replacen("\"event_digest\"", "\"event\\u005fdigest\"", 1)
        }),
        ("key twice", |journal| journal.replacen("\"sequence\":1}", "\"sequence\":1,\"sequence\":1}", 1)),
        ("zero byte", |journal| journal.replacen("}\n", "}\0\n", 1)),
        ("carriage returns alone", |journal| journal.replacen("}\n{", "}\r{", 1)),
    ];
    for (what, spoil) in spoils {
        let hostile = Hostile::new();
        hostile.spoil_journal(spoil);
        let error = Home::new().refuses(&hostile.directory);
        assert!(error.contains("malformed chain: line "), "{what}: {error}");
        assert_eq!(hostile.verdict(), "fail: malformed chain", "{what}");
    }
}

#[test]
fn a_partial_line_anywhere_else_is_a_broken_chain() {
    let hostile = Hostile::new();
    hostile.spoil_journal(|journal| journal.replacen("}\n{", "\n{", 1));
    hostile.is_refused("malformed chain: line 1: the line is not a JSON object", "fail: malformed chain");
}

#[test]
fn a_partial_last_line_does_not_hide_a_damaged_chain() {
    type Spoil = fn(String) -> String;
    let spoils: [(&str, Spoil); 4] = [
        ("malformed chain", |journal| journal.replacen("\"sequence\":1", "\"sequence\":7", 1)),
        ("malformed chain", |journal| journal.lines().skip(1).map(|line| format!("{line}\n")).collect()),
        ("run_id mismatch", |journal| LegacyRun::new("other", &["started"]).journal() + &journal[..0]),
        ("partial tail", |journal| journal),
    ];
    for (verdict, spoil) in spoils {
        let hostile = Hostile::new();
        hostile.spoil_journal(|journal| spoil(journal) + "{\"event");
        assert_eq!(hostile.verdict(), format!("fail: {verdict}"));
    }
}

#[test]
fn one_line_that_never_ended_is_no_event_whatever_it_says() {
    let hostile = Hostile::new();
    hostile.spoil_journal(|journal| journal.lines().next().unwrap().to_owned());
    assert_eq!(hostile.verdict(), "fail: empty journal");
    let home = Home::new();
    let imported = home.import(&hostile.directory).unwrap();
    assert_eq!((imported.events, imported.partial.unwrap().whole_lines), (0, 0));
}

#[test]
fn the_directorys_name_is_the_runs() {
    let hostile = Hostile::new();
    let renamed = hostile.directory.with_file_name("other");
    fs::rename(&hostile.directory, &renamed).unwrap();
    let error = Home::new().refuses(&renamed);
    assert!(error.contains("events/lifecycle.jsonl: run_id mismatch"), "{error}");
    for name in ["latest", "-r", "a b", "é", &"x".repeat(129)] {
        let named = renamed.with_file_name(name);
        fs::rename(&renamed, &named).unwrap();
        let error = Home::new().refuses(&named);
        assert!(error.contains("is refused: .: "), "{error}");
        fs::rename(&named, &renamed).unwrap();
    }
}

#[test]
fn a_checkpoint_that_is_not_what_its_name_says_is_refused() {
    let hostile = Hostile::new();
    fs::remove_file(hostile.at(&hostile.latest())).unwrap();
    hostile.is_refused("line 5 of the journal names it, and it is not there", "fail: checkpoint fault");
    let hostile = Hostile::new();
    let name = format!("events/recovery-checkpoints/{}.json", "0".repeat(64));
    fs::write(hostile.at(&name), "{}\n").unwrap();
    hostile.is_refused("digest-mismatch", "ok: checkpoint bytes match run.json");
}
