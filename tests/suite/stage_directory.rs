//! Legacy stage directories: what is taken over, what is not, and that what goes out comes in again.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use legbook::Error;
use legbook::db::{Store, StoreOptions};
use legbook::error::StageError;
use legbook::stage::{self, Begin, Imported, PipelineName, Shortfall, StageName};
use nix::sys::stat::Mode;
use tempfile::TempDir;

use super::fakes::{SetClock, store_in};
use super::support::{LEGBOOK, Workspace};

const WHOLE: &str = "{\n  \"schema_version\": 2,\n  \"run_date\": \"2026-06-13\",\n  \"completed\": [\n    \"fetch\",\n    \"verify\"\n  ]\n}";
const FETCH: &str = "{\n  \"sources\": [\n    \"é\"\n  ],\n  \"feed_failure\": false\n}";
const VERIFY: &str = "[\n  1e-05,\n  NaN\n]";

/// A store whose clock stands on the day of [`WHOLE`], and a folder for directories.
struct Bench {
    folder: TempDir,
    store: Store,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = SetClock::at("2026-06-13T12:00:00Z");
        let store = store_in(folder.path(), StoreOptions { clock, ..StoreOptions::default() });
        Self { folder, store }
    }

    /// A directory with these files.
    fn directory(&self, files: &[(&str, &str)]) -> PathBuf {
        let path = self.folder.path().join("legacy");
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        for (name, content) in files {
            fs::write(path.join(name), content).unwrap();
        }
        path
    }

    fn import(&self, directory: &Path) -> legbook::Result<Imported> {
        stage::import(&self.store, &PipelineName::default(), directory)
    }

    fn refused(&self, directory: &Path) -> StageError {
        match self.import(directory).unwrap_err() {
            Error::Stage(error) => error,
            error => panic!("{error}"),
        }
    }

    /// What begin says of the run.
    fn begin(&self) -> (bool, Vec<String>) {
        let begun = stage::begin(&self.store, &PipelineName::default(), Begin::default()).unwrap();
        (begun.resume, texts(&begun.completed))
    }

    fn load(&self, name: &str) -> Option<String> {
        let name = StageName::parse(name).unwrap();
        let bytes = stage::load(&self.store, &PipelineName::default(), &name).unwrap()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    fn export(&self) -> legbook::Result<PathBuf> {
        let path = self.folder.path().join("exported");
        stage::export(&self.store, &PipelineName::default(), &path)?;
        Ok(path)
    }
}

fn texts(names: &[StageName]) -> Vec<String> {
    names.iter().map(StageName::to_string).collect()
}

/// The files of a directory with their bytes.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn a_whole_directory_is_taken_over_and_goes_out_again_to_the_byte() {
    let bench = Bench::new();
    let directory = bench.directory(&[
        ("manifest.json", WHOLE),
        ("fetch.json", FETCH),
        ("verify.json", VERIFY),
        ("verify-evidence.json", "{}"),
        // No artifacts: other names, other endings.
        ("fetch.json.tmp", "{"),
        ("README.md", "-"),
        ("Notes.json", "-"),
        (".hidden.json", "-"),
    ]);
    let imported = bench.import(&directory).unwrap();
    assert_eq!(imported.run_date.unwrap().to_string(), "2026-06-13");
    assert_eq!(texts(&imported.completed), ["fetch", "verify"]);
    assert_eq!(texts(&imported.markers), ["verify-evidence"]);
    assert_eq!(imported.shortfall, None);
    assert_eq!(bench.load("fetch").unwrap(), FETCH);
    assert_eq!(bench.load("verify-evidence").unwrap(), "{}");

    let exported = bench.export().unwrap();
    let mut expected = files(&directory);
    expected.retain(|(name, _)| {
        !["fetch.json.tmp", "README.md", "Notes.json", ".hidden.json"].contains(&name.as_str())
    });
    assert_eq!(files(&exported), expected);

    // And in again: the same bytes, the same run.
    let other = Bench::new();
    assert_eq!(other.import(&exported).unwrap(), imported);
    assert_eq!(other.begin(), (true, vec!["fetch".to_owned(), "verify".to_owned()]));
    assert_eq!(files(&other.export().unwrap()), expected);
}

/// A manifest of version 2 of this day with this list.
fn manifest(completed: &str) -> String {
    format!("{{\"schema_version\": 2, \"run_date\": \"2026-06-13\", \"completed\": {completed}}}")
}

#[test]
fn begin_says_of_an_imported_directory_what_the_script_says_of_the_directory() {
    use Shortfall::{Artifact, Missing, Name, NotJson, Shape, Version};
    /// Whether it resumes, and what is completed then.
    type Begins<'a> = (bool, &'a [&'a str]);
    const NOTHING: Begins<'_> = (false, &[]);
    let dated = |version: &str, date: &str, completed: &str| {
        format!("{{\"schema_version\": {version}, \"run_date\": {date}, \"completed\": {completed}}}")
    };
    let both = r#"["fetch", "verify"]"#;
    let table: &[(&str, String, Option<Shortfall>, Begins<'_>)] = &[
        ("whole", manifest(both), None, (true, &["fetch", "verify"])),
        ("nothing completed", manifest("[]"), None, (true, &[])),
        ("the first one missing", manifest(r#"["gone", "fetch", "verify"]"#), Some(Missing), (true, &[])),
        (
            "a later one missing",
            manifest(r#"["fetch", "gone", "verify"]"#),
            Some(Missing),
            (true, &["fetch"]),
        ),
        ("a torn artifact", manifest(r#"["fetch", "torn", "verify"]"#), Some(Artifact), (true, &["fetch"])),
        (
            "an artifact that cannot be kept",
            manifest(r#"["fetch", "lone"]"#),
            Some(Artifact),
            (true, &["fetch"]),
        ),
        ("a number", manifest(r#"["fetch", 7, "verify"]"#), Some(Name), (true, &["fetch"])),
        ("a null", manifest(r#"[null, "fetch"]"#), Some(Name), (true, &[])),
        ("a list", manifest(r#"["fetch", ["other"], "verify"]"#), Some(Name), (true, &["fetch"])),
        ("an escape", manifest(r#"["fetch", "../escape", "verify"]"#), Some(Name), (true, &["fetch"])),
        ("the reserved name", manifest(r#"["fetch", "manifest", "verify"]"#), Some(Name), (true, &["fetch"])),
        ("an empty name", manifest(r#"["", "fetch"]"#), Some(Name), (true, &[])),
        ("a newline in a name", manifest(r#"["fetch\n"]"#), Some(Name), (true, &[])),
        ("a name twice", manifest(r#"["fetch", "verify", "fetch"]"#), None, (true, &["fetch", "verify"])),
        ("version 1", dated("1", "\"2026-06-13\"", r#"["verify", "fetch"]"#), None, (true, &["verify"])),
        ("version 3", dated("3", "\"2026-06-13\"", both), Some(Version), NOTHING),
        ("version 0", dated("0", "\"2026-06-13\"", both), Some(Version), NOTHING),
        ("a version as text", dated("\"2\"", "\"2026-06-13\"", both), Some(Shape), NOTHING),
        ("another day", dated("2", "\"2026-06-12\"", both), None, NOTHING),
        ("a day that is none", dated("2", "\"2026-02-30\"", both), Some(Shape), NOTHING),
        ("a day in another form", dated("2", "\"2026-6-13\"", both), Some(Shape), NOTHING),
        ("a date that is no text", dated("2", "20260613", both), Some(Shape), NOTHING),
        ("completed that is no list", dated("2", "\"2026-06-13\"", "\"fetch\""), Some(Shape), NOTHING),
        ("no keys", "{}".to_owned(), Some(Shape), NOTHING),
        ("a list as manifest", "[]".to_owned(), Some(Shape), NOTHING),
        ("no JSON", "{\"schema_version\": 2,".to_owned(), Some(NotJson), NOTHING),
        ("an empty file", String::new(), Some(NotJson), NOTHING),
        ("a file without an end", manifest(both) + &" ".repeat(2 << 20), Some(Shape), NOTHING),
    ];
    for (what, manifest, shortfall, (resume, completed)) in table {
        let bench = Bench::new();
        // A run that was there goes, whatever comes.
        stage::import(
            &bench.store,
            &PipelineName::default(),
            &bench.directory(&[
                ("manifest.json", WHOLE),
                ("fetch.json", "0"),
                ("verify.json", "0"),
                ("evidence.json", "0"),
            ]),
        )
        .unwrap();
        let directory = bench.directory(&[
            ("manifest.json", manifest),
            ("fetch.json", FETCH),
            ("verify.json", VERIFY),
            ("torn.json", "{\"a\": [1,"),
            ("lone.json", "\"\\ud800\""),
        ]);
        let imported = bench.import(&directory).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(imported.shortfall, *shortfall, "{what}");
        let (resumed, kept) = bench.begin();
        assert_eq!(
            (resumed, kept.iter().map(String::as_str).collect::<Vec<_>>().as_slice()),
            (*resume, *completed),
            "{what}"
        );
        for (name, artifact) in [("fetch", FETCH), ("verify", VERIFY)] {
            let loaded = bench.load(name);
            if completed.contains(&name) {
                assert_eq!(loaded.as_deref(), Some(artifact), "{what}: {name}");
            } else if !resume || manifest.contains(&format!("\"{name}\"")) {
                assert_eq!(loaded, None, "{what}: {name} is left");
            }
        }
        assert_eq!(bench.load("evidence"), None, "{what}: of the run before");
        assert_eq!(bench.load("torn"), None, "{what}");
    }
}

#[test]
fn what_a_manifest_names_and_cannot_be_trusted_does_not_become_a_marker() {
    let bench = Bench::new();
    let directory = bench.directory(&[
        ("manifest.json", &manifest(r#"["fetch", "gone", "verify"]"#)),
        ("fetch.json", FETCH),
        ("verify.json", VERIFY),
        ("evidence.json", "1"),
        ("torn.json", "["),
    ]);
    assert_eq!(texts(&bench.import(&directory).unwrap().markers), ["evidence"]);
    assert_eq!(bench.load("verify"), None);
    let directory = bench.directory(&[
        ("manifest.json", &manifest(r#"["fetch", null, "verify"]"#)),
        ("fetch.json", FETCH),
        ("verify.json", VERIFY),
    ]);
    assert_eq!(texts(&bench.import(&directory).unwrap().markers), Vec::<String>::new());
    assert_eq!(bench.load("verify"), None);
}

#[test]
fn a_version_1_directory_keeps_its_version_until_begin() {
    let bench = Bench::new();
    let old = WHOLE.replace("\"schema_version\": 2", "\"schema_version\": 1");
    let directory =
        bench.directory(&[("manifest.json", &old), ("fetch.json", FETCH), ("verify.json", VERIFY)]);
    bench.import(&directory).unwrap();
    let exported = bench.export().unwrap();
    assert_eq!(files(&exported), files(&directory));
    fs::remove_dir_all(exported).unwrap();
    assert_eq!(bench.begin(), (true, vec![]), "fetch has another shape since, and verify came after it");
    let exported = bench.export().unwrap();
    let [(name, bytes)] = files(&exported).try_into().unwrap();
    assert_eq!(name, "manifest.json");
    let expected = "{\n  \"schema_version\": 2,\n  \"run_date\": \"2026-06-13\",\n  \"completed\": []\n}";
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
}

#[test]
fn what_is_no_regular_file_is_refused_and_nothing_changes() {
    let bench = Bench::new();
    let whole = [("manifest.json", WHOLE), ("fetch.json", FETCH), ("verify.json", VERIFY)];
    bench.import(&bench.directory(&whole)).unwrap();
    let secret = bench.folder.path().join("secret.json");
    fs::write(&secret, "{\"secret\": true}").unwrap();
    let link = |path: &Path| symlink(&secret, path).unwrap();
    let dangling = |path: &Path| symlink("/nowhere/at/all", path).unwrap();
    let folder = |path: &Path| fs::create_dir(path).unwrap();
    let pipe = |path: &Path| nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    type Maker<'a> = &'a dyn Fn(&Path);
    let makers: [(&str, Maker<'_>); 4] = [
        ("it is a symbolic link", &link),
        ("it is a symbolic link", &dangling),
        ("it is not a regular file", &folder),
        ("it is not a regular file", &pipe),
    ];
    for (expected, make) in makers {
        // A completed stage's, one that the manifest does not name, and the manifest itself.
        for name in ["fetch.json", "verify.json", "other.json", "manifest.json"] {
            let directory = bench.directory(&whole);
            let _ = fs::remove_file(directory.join(name));
            make(&directory.join(name));
            match bench.refused(&directory) {
                StageError::Unsafe { path, rule } => {
                    assert_eq!((path, rule), (directory.join(name), expected));
                }
                error => panic!("{name}: {error}"),
            }
            assert_eq!(bench.load("fetch").unwrap(), FETCH, "{name}");
            assert_eq!(bench.load("verify").unwrap(), VERIFY, "{name}");
        }
    }
    // The directory itself may be reached by a link: who names it, means it.
    let directory = bench.directory(&whole);
    let by_link = bench.folder.path().join("by-link");
    symlink(&directory, &by_link).unwrap();
    bench.import(&by_link).unwrap();
}

#[test]
fn a_missing_directory_a_missing_manifest_and_a_large_artifact_are_three_refusals_that_change_nothing() {
    let bench = Bench::new();
    let whole = [("manifest.json", WHOLE), ("fetch.json", FETCH), ("verify.json", VERIFY)];
    bench.import(&bench.directory(&whole)).unwrap();
    let missing = bench.import(&bench.folder.path().join("nowhere")).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }), "{missing}");
    let directory = bench.directory(&[("fetch.json", FETCH)]);
    assert_eq!(bench.refused(&directory), StageError::NoManifest { path: directory });
    let directory = bench.directory(&whole);
    legbook::settings::set(&bench.store, "max-artifact-bytes", 1024).unwrap();
    fs::write(directory.join("verify.json"), " ".repeat(2000)).unwrap();
    assert_eq!(bench.refused(&directory), StageError::TooLarge { limit: 1024 });
    assert_eq!(bench.begin(), (true, vec!["fetch".to_owned(), "verify".to_owned()]));
}

#[test]
fn an_export_is_private_whatever_the_umask() {
    let workspace = Workspace::new();
    workspace.legbook_reading(["stage", "save", "fetch"], FETCH).expect(0);
    let script = format!("umask 0777; exec {LEGBOOK} stage export out");
    let status = Command::new("sh").args(["-c", &script]).current_dir(workspace.path()).output().unwrap();
    assert!(status.status.success(), "{status:?}");
    let mode = |name: &str| fs::metadata(workspace.path().join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("out"), 0o700);
    assert_eq!(mode("out/manifest.json"), 0o600);
    assert_eq!(mode("out/fetch.json"), 0o600);
    assert_eq!(fs::read(workspace.path().join("out/fetch.json")).unwrap(), FETCH.as_bytes());
}

#[test]
fn an_export_replaces_nothing_but_an_empty_directory() {
    let bench = Bench::new();
    let target = bench.folder.path().join("exported");
    let error = bench.export().unwrap_err();
    assert!(matches!(error, Error::Stage(StageError::NoRun { .. })), "{error}");
    assert!(!target.exists());
    bench
        .import(&bench.directory(&[("manifest.json", WHOLE), ("fetch.json", FETCH), ("verify.json", VERIFY)]))
        .unwrap();
    let taken = || {
        let error = bench.export().unwrap_err();
        assert!(matches!(error, Error::Stage(StageError::Taken { .. })), "{error}");
    };
    fs::write(&target, "mine").unwrap();
    taken();
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    fs::remove_file(&target).unwrap();
    symlink(bench.folder.path().join("legacy"), &target).unwrap();
    taken();
    assert!(target.is_symlink());
    fs::remove_file(&target).unwrap();
    fs::create_dir(&target).unwrap();
    fs::write(target.join("mine"), "").unwrap();
    taken();
    assert_eq!(files(&target).len(), 1);
    fs::remove_file(target.join("mine")).unwrap();
    bench.export().unwrap();
    assert_eq!(files(&target).len(), 3);
    let left: Vec<_> = fs::read_dir(bench.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(".stage-export"))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "a refused export leaves nothing");
}

#[test]
fn an_artifact_that_is_not_what_was_saved_is_not_exported() {
    let bench = Bench::new();
    bench
        .import(&bench.directory(&[("manifest.json", WHOLE), ("fetch.json", FETCH), ("verify.json", VERIFY)]))
        .unwrap();
    let sql = "UPDATE stages SET artifact = x'31', byte_size = 1 WHERE name = 'verify'";
    assert!(Command::new("sqlite3").arg(bench.store.path()).arg(sql).status().unwrap().success());
    let error = bench.export().unwrap_err();
    assert!(matches!(error, Error::Stage(StageError::DigestMismatch { .. })), "{error}");
    assert!(!bench.folder.path().join("exported").exists());
}

#[test]
fn python_reads_an_export_and_would_write_the_same_bytes() {
    let bench = Bench::new();
    bench
        .import(&bench.directory(&[("manifest.json", WHOLE), ("fetch.json", FETCH), ("verify.json", VERIFY)]))
        .unwrap();
    let exported = bench.export().unwrap();
    let script = "import json, pathlib, sys\n\
        for path in pathlib.Path(sys.argv[1]).iterdir():\n    \
            text = path.read_text(encoding='utf-8')\n    \
            assert json.dumps(json.loads(text), indent=2, ensure_ascii=False) == text, path\n";
    match Command::new("python3").args(["-c", script]).arg(&exported).status() {
        Ok(status) => assert!(status.success()),
        // The bytes are held by the tests above; Python itself is asked where it is there.
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
    }
}

#[test]
fn the_commands_answer_with_one_line_each() {
    let workspace = Workspace::new();
    let legacy = workspace.path().join("legacy");
    fs::create_dir(&legacy).unwrap();
    let put = |name: &str, text: &str| fs::write(legacy.join(name), text).unwrap();
    put("manifest.json", WHOLE);
    put("fetch.json", FETCH);
    let said = workspace.legbook(["stage", "import", "legacy"]);
    assert_eq!(
        said.expect(0),
        "{\"run_date\": \"2026-06-13\", \"completed\": [\"fetch\"], \"markers\": [], \"shortfall\": \"a completed stage has no artifact\"}\n"
    );
    let said = workspace.legbook(["stage", "export", "out"]);
    assert_eq!(
        said.expect(0),
        "{\"run_date\": \"2026-06-13\", \"completed\": [\"fetch\"], \"markers\": []}\n"
    );
    put("manifest.json", "{");
    let said = workspace.legbook(["stage", "import", "legacy"]);
    assert_eq!(
        said.expect(0),
        "{\"run_date\": null, \"completed\": [], \"markers\": [], \"shortfall\": \"the manifest is not JSON\"}\n"
    );
    workspace.legbook(["stage", "export", "out2"]).refused(1, "pipeline default is in no run");
    workspace.legbook(["stage", "export", "out"]).refused(1, "pipeline default is in no run");
    workspace.legbook(["stage", "import", "nowhere"]).refused(1, "cannot read nowhere");
    workspace.legbook(["stage", "import", "."]).refused(1, "it has no manifest.json");
    fs::remove_file(legacy.join("fetch.json")).unwrap();
    symlink("/etc/passwd", legacy.join("fetch.json")).unwrap();
    workspace
        .legbook(["stage", "import", "legacy"])
        .refused(1, "fetch.json is refused: it is a symbolic link");
}
