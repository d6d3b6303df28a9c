//! Heads that are kept outside the store: for each store and run the last sequence and digest.
//!
//! A chain shows that a journal agrees with itself, not that it is the one of yesterday: a cut tail is a valid chain, and
//! who rewrites the whole file chains it anew. A file of heads in another place tells (contract recovery.md, Heads).
//!
//! A store that the file knows and that is gone is a failure, whether it was named or not: a pattern of the shell names only
//! the files that exist. A store in which something went backwards keeps its old heads until somebody accepts the new ones;
//! the heads of the other stores move on.
//!
//! The file is JSON, 0600, and replaced atomically: a crash leaves the old one or the new one. A file that somebody changed
//! since it was read is not replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, named_params};

use super::checks::collect;
use super::finding::{Finding, Kind, Remedy};
use super::report::{Examined, Report};
use crate::digest::Digest;
use crate::error::{DoctorError, Error, Result};
use crate::json::{self, Object, Text, Value, object};
use crate::publish::{self, NewFile};

/// What `schema` of a heads file holds.
const SCHEMA: &str = "legbook.heads.v1";
/// The name that its temporary files share.
const TEMPORARY: &str = "heads";

/// A journal's head, as a text that is only compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    sequence: i64,
    /// `None`: the last line is no valid event.
    digest: Option<String>,
}

/// The heads of many stores, and the file that keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heads {
    file: PathBuf,
    /// Of the bytes that were read; `None`: there was no file.
    read: Option<Digest>,
    stores: BTreeMap<String, StoreHeads>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct StoreHeads {
    /// Where the store was, so that another one in its place is noticed.
    path: String,
    runs: BTreeMap<String, Head>,
}

impl Heads {
    /// Reads the heads that `file` keeps; where there is no such file, none are known yet.
    ///
    /// # Errors
    /// [`DoctorError::NoHeadsFile`] for one of other contents; [`Error::Io`].
    pub fn read(file: &Path) -> Result<Self> {
        let bytes = match fs::read(file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { file: file.to_path_buf(), read: None, stores: BTreeMap::new() });
            }
            Err(error) => return Err(Error::io("read", file)(error)),
        };
        let stores = json::parse_object(&bytes).ok().and_then(|object| parse(&object));
        let stores = stores.ok_or_else(|| DoctorError::NoHeadsFile { path: file.to_path_buf() })?;
        Ok(Self { file: file.to_path_buf(), read: Some(Digest::of(&bytes)), stores })
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether there was no such file when it was read.
    pub fn is_new(&self) -> bool {
        self.read.is_none()
    }

    /// Whether something went backwards in one of `stores`.
    pub fn went_back(stores: &[Examined]) -> bool {
        stores.iter().filter_map(|store| store.result.as_ref().ok()).any(has_gone_back)
    }

    /// Takes over the heads of every store that could be checked and in which nothing went backwards; the others keep theirs.
    /// A store whose loss was accepted is forgotten.
    pub fn take_over(&mut self, stores: &[Examined]) {
        for store in stores {
            let Ok(report) = &store.result else { continue };
            if has_gone_back(report) {
                continue;
            }
            if report.is_gone {
                let path = real(&store.path);
                self.stores.retain(|_, kept| kept.path != path);
            }
            let (Some(store_id), Some(current)) = (&report.store_id, &report.heads) else { continue };
            let path = real(&store.path);
            // Another store in this one's place was either refused before or accepted.
            self.stores.retain(|id, kept| id == store_id || kept.path != path);
            let kept = self.stores.remove(store_id).unwrap_or_default();
            let runs = current.iter().filter_map(|(run_id, head)| match head.digest {
                Some(_) => Some((run_id.clone(), head.clone())),
                // A damaged tail is no head: what was known before stays known.
                None => kept.runs.get(run_id).map(|head| (run_id.clone(), head.clone())),
            });
            let runs = runs.collect();
            self.stores.insert(store_id.clone(), StoreHeads { path, runs });
        }
    }

    /// Whether a store was at `path`.
    pub(super) fn knows(&self, path: &Path) -> bool {
        let here = real(path);
        self.stores.values().any(|kept| kept.path == here)
    }

    /// Adds to `stores`, the answer for stores that were named, what is to be said of known stores that are gone. `accept`
    /// says that the named ones may be gone.
    pub(super) fn add_gone(&self, stores: &mut Vec<Examined>, accept: bool) {
        let seen: BTreeSet<String> =
            stores.iter().filter_map(|store| store.result.as_ref().ok()?.store_id.clone()).collect();
        for (id, kept) in self.stores.iter().filter(|(id, _)| !seen.contains(*id)) {
            let path = Path::new(&kept.path);
            let result = match fs::symlink_metadata(path) {
                Ok(_) => continue,
                Err(error) if is_absent(&error) => Ok(()),
                Err(error) => Err(Error::io("look at", path)(error)),
            };
            let named = stores.iter_mut().find(|store| real(&store.path) == kept.path);
            let result = result.map(|()| self.gone(id, kept, accept && named.is_some()));
            match named {
                Some(named) => named.result = result,
                None => stores.push(Examined { path: path.to_path_buf(), result }),
            }
        }
    }

    /// The report on a store that is gone.
    fn gone(&self, id: &str, kept: &StoreHeads, accepted: bool) -> Report {
        let path = Path::new(&kept.path);
        let what = format!("the store is gone; the heads file has seen {} journals in it", kept.runs.len());
        let finding = Finding::new(Kind::HeadGone, what, self.accept(path));
        Report {
            store_id: Some(id.to_owned()),
            findings: if accepted { Vec::new() } else { vec![finding] },
            not_judged: Some("the store is gone".to_owned()),
            is_gone: true,
            ..Report::default()
        }
    }

    /// Replaces the file atomically, if it is still as it was read.
    ///
    /// # Errors
    /// [`DoctorError::HeadsChanged`]; [`Error::Io`]. The file is then what it was, or the new one.
    pub fn write(&self) -> Result<()> {
        let path = &self.file;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let text = json::indented(&self.to_json()) + "\n";
        publish::remove_leftovers(folder, TEMPORARY);
        let mut new = NewFile::begin(folder, TEMPORARY)?;
        new.fill(text.as_bytes())?;
        let changed = || DoctorError::HeadsChanged { path: path.clone() };
        let Some(read) = self.read else {
            return if new.place(path)? { Ok(()) } else { Err(changed().into()) };
        };
        match fs::read(path) {
            Ok(bytes) if Digest::of(&bytes) == read => new.replace(path, || ()),
            Ok(_) => Err(changed().into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(changed().into()),
            Err(error) => Err(Error::io("read", path)(error)),
        }
    }

    fn to_json(&self) -> Value {
        let stores = self.stores.iter().map(|(id, store)| {
            let runs = store.runs.iter().map(|(run_id, head)| {
                let digest = head.digest.as_deref().map_or(Value::Null, Value::from);
                let head = object([("sequence", Value::from(head.sequence)), ("digest", digest)]);
                (run_id.as_str(), Value::Object(head))
            });
            let members = [("path", store.path.as_str().into()), ("runs", Value::Object(object(runs)))];
            (id.as_str(), Value::Object(object(members)))
        });
        Value::Object(object([("schema", SCHEMA.into()), ("stores", Value::Object(object(stores)))]))
    }

    /// Compares what is kept of the store at `path` with `current`.
    ///
    /// # Errors
    /// SQLite's own.
    pub(super) fn compare(
        &self,
        connection: &Connection,
        path: &Path,
        store_id: Option<&str>,
        current: &BTreeMap<String, Head>,
    ) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let here = real(path);
        if self.stores.iter().any(|(id, kept)| kept.path == here && Some(id.as_str()) != store_id) {
            let what = "the store that the heads file has seen here is gone; another one is in its place";
            findings.push(Finding::new(Kind::HeadGone, what, self.accept(path)));
        }
        let Some(kept) = store_id.and_then(|id| self.stores.get(id)) else { return Ok(findings) };
        for (run_id, seen) in &kept.runs {
            let fault = match current.get(run_id) {
                None if removed(connection, run_id, seen)? => None,
                None => Some((Kind::HeadGone, format!("{} events were there, none is", seen.sequence))),
                Some(head) if head.sequence < seen.sequence => Some((
                    Kind::HeadBehind,
                    format!("the journal ends at {}; it was seen at {}", head.sequence, seen.sequence),
                )),
                Some(_) if digest_at(connection, run_id, seen.sequence)? != seen.digest => {
                    Some((Kind::HeadDiffers, format!("event {} is another one than was seen", seen.sequence)))
                }
                Some(_) => None,
            };
            if let Some((kind, what)) = fault {
                findings.push(Finding::of_run(run_id, kind, what, self.accept(path)));
            }
        }
        Ok(findings)
    }

    /// What an operator calls who knows why the journals of the store at `path` went backwards.
    fn accept(&self, path: &Path) -> Remedy {
        let (store, file) = (path.to_string_lossy(), self.file.to_string_lossy());
        Remedy::command(&["legbook", "doctor", &store, "--heads", &file, "--accept-heads"])
    }
}

/// The heads of all journals of the store behind `connection`.
///
/// # Errors
/// SQLite's own.
pub(super) fn current(connection: &Connection) -> Result<BTreeMap<String, Head>> {
    let heads = collect(connection, include_str!("sql/heads.sql"), &[], |row| {
        Ok((row.get(0)?, Head { sequence: row.get(1)?, digest: row.get(2)? }))
    })?;
    Ok(heads.into_iter().collect())
}

fn digest_at(connection: &Connection, run_id: &str, sequence: i64) -> Result<Option<String>> {
    let sql = include_str!("sql/digest_at.sql");
    let of_event = named_params! { ":run_id": run_id, ":sequence": sequence };
    Ok(connection.query_row(sql, of_event, |row| row.get(0)).optional()?.flatten())
}

/// Whether retention removed the run, and not before it had got as far as was seen.
fn removed(connection: &Connection, run_id: &str, seen: &Head) -> Result<bool> {
    let sql = include_str!("sql/removed.sql");
    let last: Option<(i64, Option<String>)> = connection
        .query_row(sql, named_params! { ":run_id": run_id }, |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(last.is_some_and(|(sequence, digest)| {
        sequence > seen.sequence || (sequence == seen.sequence && digest == seen.digest)
    }))
}

/// Whether a head of the store is not where it was seen.
fn has_gone_back(report: &Report) -> bool {
    let is_of_heads = |kind| matches!(kind, Kind::HeadBehind | Kind::HeadDiffers | Kind::HeadGone);
    report.findings.iter().any(|finding| is_of_heads(finding.kind))
}

/// Whether an error says that nothing is at a path.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// `path` without links, also where the file itself is gone.
fn real(path: &Path) -> String {
    let in_folder = || Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    let real = fs::canonicalize(path).ok().or_else(in_folder).unwrap_or_else(|| path.to_path_buf());
    real.to_string_lossy().into_owned()
}

fn parse(object: &Object) -> Option<BTreeMap<String, StoreHeads>> {
    if text(object, "schema")? != SCHEMA {
        return None;
    }
    let stores = members(object, "stores")?.iter().map(|(id, store)| {
        let store = store.as_object()?;
        let runs = members(store, "runs")?.iter().map(|(run_id, head)| {
            let head = head.as_object()?;
            let sequence = head.get("sequence".as_bytes())?.as_i64()?;
            let digest = Some(text(head, "digest")?.to_owned());
            Some((name(run_id)?, Head { sequence, digest }))
        });
        let runs = runs.collect::<Option<_>>()?;
        Some((name(id)?, StoreHeads { path: text(store, "path")?.to_owned(), runs }))
    });
    stores.collect()
}

fn name(text: &Text) -> Option<String> {
    text.as_str().map(str::to_owned)
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key.as_bytes())?.as_str()
}

fn members<'a>(object: &'a Object, key: &str) -> Option<&'a Object> {
    object.get(key.as_bytes())?.as_object()
}
