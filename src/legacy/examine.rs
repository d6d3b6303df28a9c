//! Doctor over legacy directories, without taking them in: the same verdicts by the same questions (contract recovery.md,
//! Doctor).
//!
//! One directory after the other is read into tables in memory and asked about; nothing is written anywhere. What can't be
//! put into a table (a file that is no regular one, or larger than its bound) is a fault of its own. The bounds are the
//! default ones, which are legacy's. A directory of a newer program is not damaged: its verdict is `newer format`.
//!
//! Where the owner lives it may write meanwhile, so its run is ok and nothing else of it is read.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, named_params};

use super::advice::remedy;
use super::find::{RunDirectory, newest_first, run_directories};
use super::folder::{Folder, Opened, Trouble};
use super::layout::{self, CHECKPOINTS, JOURNAL, JOURNAL_PATH, RUN_JSON};
use super::lock;
use super::newer::{self, Newer};
use super::source::Source;
use crate::clock::{offset_time, parse_time};
use crate::db::{change_one, delete, inspect};
use crate::digest::Digest;
use crate::doctor::{
    Bounds, Court, Fault, Finding, Kind, LIVE_OWNER, MAX_CHECKPOINT_BYTES, MAX_JOURNAL_BYTES,
    MAX_JOURNAL_EVENTS, NEWEST, Options, RECEIPT_ROOM, Reason, Report, Run, RunVerdict, Unread, Verdict,
};
use crate::error::{Error, LegacyError, Result};
use crate::event::{CHECKPOINT_EVENT_TYPE, CheckpointPayload, Event, JournalBounds};
use crate::json;
use crate::lock::Judge;
use crate::process::Identity;

/// The tables in memory that hold one directory at a time.
const TABLES: [&str; 7] =
    ["runs", "events", "checkpoints", "locks", "imports", "imported_files", "quarantine"];

/// Judges the run directories that `path` means: a workspace, a folder of them, or one. The newest 50, unless
/// [`Options::full`] asks for all; then each checkpoint that an event names is read and hashed, too.
///
/// # Errors
/// What keeps doctor from checking: [`Error::Io`], a link in the place of the directory.
pub fn examine(path: &Path, options: Options<'_>) -> Result<Report> {
    let mut directories = run_directories(path)?;
    newest_first(&mut directories);
    let all = directories.len();
    if !options.full {
        directories.truncate(NEWEST);
    }
    options.progress.more(directories.len() as u64);
    let tables = inspect::tables_in_memory(include_str!("sql/tables.sql"))?;
    let judge = Judge { now: options.clock.now(), processes: options.processes, owner_is_dead: false };
    let examination = Examination { tables: &tables, judge, full: options.full };
    let (mut runs, mut findings) = (Vec::new(), Vec::new());
    for directory in &directories {
        runs.push(examination.run(directory, &mut findings));
        options.progress.step();
    }
    Ok(Report::of_directories(runs, findings, (all - directories.len()) as u64, options.full))
}

struct Examination<'a> {
    tables: &'a Connection,
    judge: Judge<'a>,
    full: bool,
}

impl Examination<'_> {
    /// The verdict on one directory. Whatever keeps it from being judged is its verdict, so that the others are judged.
    fn run(&self, directory: &RunDirectory, findings: &mut Vec<Finding>) -> RunVerdict {
        let name =
            directory.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.judge(directory, &name, findings).unwrap_or_else(|error| {
            let detail = match error {
                Error::Legacy(LegacyError::NotARun { .. }) => return RunVerdict::omitted(&name),
                Error::Legacy(LegacyError::Refused { file, rule, .. }) => format!("{file}: {rule}"),
                Error::Io { source, .. } => format!("it cannot be read: {source}"),
                error => format!("it cannot be judged: {error}"),
            };
            unopened(&name, &directory.path, detail)
        })
    }

    fn judge(&self, directory: &RunDirectory, name: &str, findings: &mut Vec<Finding>) -> Result<RunVerdict> {
        let source = Source::open(&directory.path)?;
        if !source.journaled {
            return Ok(RunVerdict::omitted(name));
        }
        for table in TABLES {
            delete(self.tables, table, ())?;
        }
        let mut filling = Filling {
            tables: self.tables,
            source: &source,
            bounds: Bounds::LEGACY,
            unread: Unread::default(),
            latest: None,
            damaged: Vec::new(),
        };
        filling.fill(&self.judge, self.full)?;
        let Filling { unread, latest, damaged, .. } = filling;
        let run = Run { run_id: name.to_owned(), run_dir: None, journaled: true, unread };
        let court = Court {
            is_copy: false,
            store: &directory.path,
            connection: self.tables,
            bounds: Bounds::LEGACY,
            judge: self.judge,
        };
        // What else the court finds is about columns, which there are none of here.
        let verdict = court.judge(&run, &mut Vec::new())?;
        findings.extend(damaged.into_iter().map(|what| {
            let remedy = remedy(&directory.path, latest, &fault(Reason::CheckpointFault, ""));
            Finding::of_run(name, Kind::CheckpointDamaged, what, remedy)
        }));
        let fault = match newer(&source, &verdict) {
            Some(newer) => Some(fault(Reason::NewerFormat, newer.what)),
            None => verdict.reason.map(|reason| Fault {
                reason,
                detail: verdict.detail.clone(),
                needs: needs(&source, reason, &run.unread),
            }),
        };
        Ok(match fault {
            Some(fault) => {
                let remedy = remedy(&source.directory, latest, &fault);
                RunVerdict::fault(name, fault, remedy)
            }
            None => verdict,
        })
    }
}

/// The verdict on a directory that could not be opened or judged.
fn unopened(name: &str, directory: &Path, detail: String) -> RunVerdict {
    let fault = fault(Reason::MalformedChain, detail);
    let remedy = remedy(directory, None, &fault);
    RunVerdict::fault(name, fault, remedy)
}

/// What of the directory a newer program has written, if that is why it cannot be judged. Damage comes first.
fn newer(source: &Source, verdict: &RunVerdict) -> Option<Newer> {
    let events = source.events.as_ref()?;
    match verdict.reason {
        Some(Reason::MalformedChain | Reason::JournalBound) => {
            newer::in_journal(events, source.run_id.as_str(), JournalBounds::LEGACY)
        }
        _ if verdict.verdict == Verdict::Fail || verdict.says == LIVE_OWNER => None,
        _ => newer::in_evidence(events),
    }
}

/// The limit that keeps a directory from being read, and the value that it would need.
fn needs(source: &Source, reason: Reason, unread: &Unread) -> Option<(&'static str, u64)> {
    match reason {
        Reason::JournalBound if unread.journal.is_none() => {
            let found = source.events.as_ref()?.file(JOURNAL).ok()??;
            let lines = BufReader::new(found.file.take(found.size)).split(b'\n').count();
            Some((MAX_JOURNAL_EVENTS, lines as u64))
        }
        Reason::JournalBound => unread.journal.as_ref()?.needs,
        _ => unread.checkpoint.as_ref()?.needs,
    }
}

/// Puts one directory into the tables.
struct Filling<'a> {
    tables: &'a Connection,
    source: &'a Source,
    bounds: Bounds,
    unread: Unread,
    /// The latest checkpoint that a valid event names.
    latest: Option<Digest>,
    /// What is wrong with checkpoints that are not the latest, where all were asked for.
    damaged: Vec<String>,
}

impl Filling<'_> {
    fn fill(&mut self, judge: &Judge<'_>, full: bool) -> Result<()> {
        let of_run = named_params! { ":run_id": self.source.run_id.as_str() };
        change_one(self.tables, include_str!("sql/place_run.sql"), of_run)?;
        change_one(self.tables, include_str!("sql/place_import.sql"), of_run)?;
        let run_json = self.run_json()?;
        if self.lock(judge, run_json.as_deref())? {
            return Ok(());
        }
        let Some(events) = &self.source.events else { return Ok(()) };
        let checkpoints = match self.journal(events) {
            Ok(checkpoints) => checkpoints,
            Err(Stop::Unread(fault)) => {
                self.unread.journal = Some(fault);
                return Ok(());
            }
            Err(Stop::Error(error)) => return Err(error),
        };
        let folder = events.folder(CHECKPOINTS);
        let mut older = checkpoints;
        let Some(latest) = older.pop() else { return Ok(()) };
        self.latest = Some(latest.sha256);
        self.latest(&folder, &latest)?;
        if full {
            older.sort_unstable_by_key(|payload| payload.sha256);
            older.dedup_by_key(|payload| payload.sha256);
            self.damaged = older.iter().filter_map(|payload| damage(&folder, payload)).collect();
        }
        Ok(())
    }

    fn run_json(&mut self) -> Result<Option<Vec<u8>>> {
        let most = self.bounds.checkpoint_bytes.saturating_add(RECEIPT_ROOM);
        let read =
            self.source.root.file(RUN_JSON).and_then(|found| found.map(|found| found.read(most)).transpose());
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(trouble) => {
                let reason = match trouble {
                    Trouble::TooLarge { .. } => Reason::RunJsonMismatch,
                    Trouble::Rule(_) | Trouble::Io(_) => Reason::RunJsonUnreadable,
                };
                self.unread.run_json = Some(fault(reason, trouble.rule()));
                None
            }
        };
        if let Some(bytes) = &bytes {
            let run_json = named_params! { ":run_id": self.source.run_id.as_str(), ":body": bytes };
            change_one(self.tables, include_str!("sql/place_run_json.sql"), run_json)?;
        }
        Ok(bytes)
    }

    /// Enters the lock that is held for this run; tells whether its owner lives.
    fn lock(&self, judge: &Judge<'_>, run_json: Option<&[u8]>) -> Result<bool> {
        let run_json = run_json.and_then(|bytes| json::parse_object(bytes).ok());
        let Some(owner) = lock::owner(&self.source.directory, run_json.as_ref()) else { return Ok(false) };
        let identity = Identity::of(owner.pid, judge.processes);
        let acquired_at = owner.acquired_at.filter(|moment| parse_time(moment).is_some());
        change_one(
            self.tables,
            include_str!("sql/place_lock.sql"),
            named_params! {
                ":workspace": owner.workspace.to_string_lossy(),
                ":run_id": self.source.run_id.as_str(),
                ":token_sha256": Digest::of(&[]).to_hex(),
                ":acquired_at": acquired_at.unwrap_or_else(|| offset_time(judge.now)),
                ":pid": identity.pid,
                ":start_time": identity.start_time,
                ":boot_id": identity.boot_id,
                ":machine_id": identity.machine_id,
                ":host_name": identity.host_name,
                ":pid_namespace": identity.pid_namespace,
            },
        )?;
        let state = crate::lock::state_in(self.tables, judge, None, &self.source.run_id)?;
        Ok(state.is_live_owner_of(&self.source.run_id))
    }

    /// Enters the journal's lines; gives the checkpoints that its valid lines name, in order.
    fn journal(&self, events: &Folder) -> Result<Vec<CheckpointPayload>, Stop> {
        let found = events.file(JOURNAL)?.ok_or(Trouble::Rule("it went away meanwhile"))?;
        found.check_size(self.bounds.journal_bytes)?;
        let mut reader = BufReader::new(found.file.take(found.size));
        let run_id = self.source.run_id.as_str();
        let mut checkpoints = Vec::new();
        let (mut line, mut count) = (Vec::new(), 0_u64);
        // A line more than the bound is enough to see that it is exceeded.
        while count <= self.bounds.journal_events
            && reader.read_until(b'\n', &mut line).map_err(Trouble::Io)? > 0
        {
            if line.pop_if(|last| *last == b'\n').is_none() {
                let partial = named_params! { ":run_id": run_id, ":whole_lines": count };
                change_one(self.tables, include_str!("sql/place_partial.sql"), partial)?;
                break;
            }
            count += 1;
            let placed = named_params! { ":run_id": run_id, ":sequence": count, ":line": Text(&line) };
            change_one(self.tables, include_str!("sql/place_line.sql"), placed)?;
            checkpoints.extend(checkpoint_of(&line));
            line.clear();
        }
        Ok(checkpoints)
    }

    /// Enters the body of the latest checkpoint.
    fn latest(&mut self, folder: &Opened<Folder>, payload: &CheckpointPayload) -> Result<()> {
        match read_checkpoint(folder, payload, self.bounds.checkpoint_bytes) {
            Ok(body) => {
                let checkpoint = named_params! { ":sha256": payload.sha256.to_hex(), ":body": body };
                change_one(self.tables, include_str!("sql/place_checkpoint.sql"), checkpoint)?;
            }
            Err(unread) => self.unread.checkpoint = Some(unread),
        }
        Ok(())
    }
}

/// What ends the reading of a journal.
enum Stop {
    Unread(Fault),
    Error(Error),
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        let reason = match trouble {
            Trouble::TooLarge { .. } => Reason::JournalBound,
            Trouble::Rule(_) | Trouble::Io(_) => Reason::MalformedChain,
        };
        let needs = trouble.size().map(|size| (MAX_JOURNAL_BYTES, size));
        Self::Unread(Fault { needs, ..fault(reason, format!("{JOURNAL_PATH}: {}", trouble.rule())) })
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Bytes as text for SQLite, whatever they are.
struct Text<'a>(&'a [u8]);

impl ToSql for Text<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// The checkpoint that a line names, where it is a valid event that does.
fn checkpoint_of(line: &[u8]) -> Option<CheckpointPayload> {
    // A quote within a text is escaped, so only the envelope's own member can be spelled like this.
    let member = format!("\"event_type\":\"{CHECKPOINT_EVENT_TYPE}\"");
    if !line.windows(member.len()).any(|window| window == member.as_bytes()) {
        return None;
    }
    let event = Event::parse_line(line).ok()?;
    CheckpointPayload::parse(event.payload(), u64::MAX).ok()
}

/// The bytes of a checkpoint. The file's name is made of the digest, whatever the payload says.
fn read_checkpoint(
    folder: &Opened<Folder>,
    payload: &CheckpointPayload,
    most: u64,
) -> Result<Vec<u8>, Fault> {
    let unread = |trouble: &Trouble| {
        let reason = match trouble {
            Trouble::TooLarge { .. } => Reason::CheckpointBound,
            Trouble::Rule(_) | Trouble::Io(_) => Reason::CheckpointFault,
        };
        Fault {
            needs: trouble.size().map(|size| (MAX_CHECKPOINT_BYTES, size)),
            ..fault(reason, trouble.rule())
        }
    };
    let gone = || fault(Reason::CheckpointFault, "its file is not there");
    let folder = folder.as_ref().map_err(unread)?.as_ref().ok_or_else(gone)?;
    let found = folder.file(layout::checkpoint_name(payload.sha256)).map_err(|trouble| unread(&trouble))?;
    found.ok_or_else(gone)?.read(most).map_err(|trouble| unread(&trouble))
}

/// What is wrong with a checkpoint that is not the latest.
fn damage(folder: &Opened<Folder>, payload: &CheckpointPayload) -> Option<String> {
    let sha256 = payload.sha256;
    match read_checkpoint(folder, payload, Bounds::LEGACY.checkpoint_bytes) {
        Ok(body) if Digest::of(&body) == sha256 => None,
        Ok(_) => Some(format!("checkpoint {sha256}: its bytes have another digest (collision-mismatch)")),
        Err(fault) => Some(format!("checkpoint {sha256}: {}", fault.detail)),
    }
}

fn fault(reason: Reason, detail: impl Into<String>) -> Fault {
    Fault { reason, detail: detail.into(), needs: None }
}
