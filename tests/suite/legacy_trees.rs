//! Legacy run directories made for tests, and pictures of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::event::{self, Event, EventInput};
use legbook::json;
use legbook::legacy::{self, Imported};
use tempfile::TempDir;

/// A store in a folder of its own.
pub(crate) struct Home {
    folder: TempDir,
    pub(crate) store: Store,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with(StoreOptions::default())
    }

    pub(crate) fn with(options: StoreOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("home/store.db"), options).unwrap();
        Self { folder, store }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn import(&self, directory: &Path) -> legbook::Result<Imported> {
        legacy::import(&self.store, directory)
    }

    /// Why a directory is refused; the store must be what it was.
    #[track_caller]
    pub(crate) fn refuses(&self, directory: &Path) -> String {
        let before = self.dump();
        let error = self.import(directory).expect_err("it was taken").to_string();
        assert_eq!(self.dump(), before, "{error}");
        error
    }

    /// Every row of every table that an import writes.
    pub(crate) fn dump(&self) -> String {
        let plain = rusqlite::Connection::open(self.store.path()).unwrap();
        let sql = "SELECT 'run ' || run_id || coalesce(status, '-') || coalesce(journaled_at, '-') FROM runs
                   UNION ALL SELECT line || journal_bytes FROM events
                   UNION ALL SELECT sha256 FROM checkpoints
                   UNION ALL SELECT run_id || after_sequence || sha256 FROM recoveries
                   UNION ALL SELECT run_id || imported_at FROM imports
                   UNION ALL SELECT run_id || path || mode || coalesce(sha256, '-') || hex(coalesce(body, '-')) FROM imported_files
                   UNION ALL SELECT run_id || name || whole_lines || at_end || hex(bytes) FROM quarantine
                   ORDER BY 1";
        let mut statement = plain.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.map(|row| row.unwrap() + "\n").collect()
    }
}

/// The files and directories below `folder`, with mode and bytes.
pub(crate) fn picture(folder: &Path) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
    let mut seen = BTreeMap::new();
    look(folder, Path::new("."), &mut seen);
    seen
}

fn look(root: &Path, path: &Path, seen: &mut BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>) {
    let place = root.join(path);
    let metadata = fs::symlink_metadata(&place).unwrap();
    let mode = metadata.mode() & 0o7777;
    if metadata.is_dir() {
        seen.insert(path.to_path_buf(), (mode, None));
        for entry in fs::read_dir(&place).unwrap() {
            look(root, &path.join(entry.unwrap().file_name()), seen);
        }
    } else {
        seen.insert(path.to_path_buf(), (mode, Some(fs::read(&place).unwrap())));
    }
}

/// Writes these files, with the modes of a legacy program.
pub(crate) fn write_files<'a>(directory: &Path, files: impl IntoIterator<Item = (&'a str, &'a [u8])>) {
    make_directory(directory);
    for (path, bytes) in files {
        let place = directory.join(path);
        make_directory(place.parent().unwrap());
        fs::write(&place, bytes).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

fn make_directory(path: &Path) {
    if path.is_dir() {
        return;
    }
    make_directory(path.parent().unwrap());
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

/// A whole legacy run that went through these statuses, as its program would have written it.
pub(crate) struct LegacyRun {
    pub(crate) run_id: String,
    pub(crate) lines: Vec<String>,
    /// By digest.
    pub(crate) checkpoints: BTreeMap<String, String>,
    pub(crate) run_json: Option<String>,
    head: Option<Digest>,
}

impl LegacyRun {
    pub(crate) fn new(run_id: &str, statuses: &[&str]) -> Self {
        let mut run = Self {
            run_id: run_id.to_owned(),
            lines: Vec::new(),
            checkpoints: BTreeMap::new(),
            run_json: None,
            head: None,
        };
        for status in statuses {
            run.step(status);
        }
        run
    }

    /// One write of run.json with a new status.
    pub(crate) fn step(&mut self, status: &str) {
        let text = format!(r#"{{"run": "{}", "status": "{status}", "task": "é"}}"#, self.run_id);
        let body = json::snapshot_bytes(&json::parse_object(text.as_bytes()).unwrap());
        let paired = event::event_type_of_status(status);
        let sha256 = Digest::of(&body);
        let payload = event::checkpoint_payload(sha256, body.len() as i64, paired);
        let key = event::checkpoint_key(sha256, paired);
        self.append(event::CHECKPOINT_EVENT_TYPE, &key, payload);
        if let Some(event_type) = paired {
            let payload = event::status_payload(event_type, status);
            let key = event::status_key(event_type, &payload, Some(sha256)).unwrap();
            self.append(event_type, &key, payload);
        }
        let body = String::from_utf8(body).unwrap();
        self.checkpoints.insert(sha256.to_hex(), body.clone());
        self.run_json = Some(body);
    }

    pub(crate) fn append(&mut self, event_type: &str, key: &str, payload: json::Object) {
        let event = Event::new(EventInput {
            run_id: &self.run_id,
            sequence: self.lines.len() as i64 + 1,
            event_type,
            recorded_at: "2026-03-04T05:06:07.000008Z",
            idempotency_key: key,
            previous_digest: self.head,
            payload,
        })
        .unwrap();
        self.head = Some(event.event_digest());
        self.lines.push(event.line().to_owned());
    }

    pub(crate) fn journal(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Writes its directory below `parent`, in the place of what is there.
    pub(crate) fn write(&self, parent: &Path) -> PathBuf {
        let directory = parent.join(&self.run_id);
        let _ = fs::remove_dir_all(&directory);
        let journal = self.journal();
        let checkpoints: Vec<(String, &String)> = self
            .checkpoints
            .iter()
            .map(|(sha256, body)| (format!("events/recovery-checkpoints/{sha256}.json"), body))
            .collect();
        let mut files: Vec<(&str, &[u8])> = vec![("events/lifecycle.jsonl", journal.as_bytes())];
        files.extend(checkpoints.iter().map(|(path, body)| (path.as_str(), body.as_bytes())));
        files.extend(self.run_json.as_ref().map(|body| ("run.json", body.as_bytes())));
        write_files(&directory, files);
        directory
    }
}
