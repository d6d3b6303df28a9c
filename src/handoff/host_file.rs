//! The files that a host writes: judgments and angles (contract handoff.md, reading).
//!
//! Pure. Strict at the top (UTF-8, JSON without a key twice, an object, the bundle's id, the list), lenient by row (a row
//! that can't be used is skipped with a warning), closed where empty (not one usable row is a refusal, since an empty
//! answer would read as the host's judgment). The same top is asked of the engine's report.

use std::collections::{HashMap, HashSet};

use crate::error::{Faults, FileFault, HandoffError, HandoffFile};
use crate::json::{Raw, RawValue, Text, Value, parse_unique, raw};

use super::host_text::{angle, is_clamped, is_white_space, junk, name, worthiness};

/// What the host says of one nomination. What it left out, or wrote unusably, is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgment {
    /// A better name.
    pub(super) name: Option<String>,
    /// Whether it is junk.
    pub(super) junk: Option<bool>,
    /// How much it deserves research, 0 to 100.
    pub(super) worthiness: Option<u8>,
    /// The row as the host wrote it.
    pub(super) row: Raw,
}

/// What the host proposes for one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Angle {
    /// For a podcast.
    pub(super) podcast: Option<String>,
    /// For an article on X.
    pub(super) x_article: Option<String>,
    /// The row as the host wrote it.
    pub(super) row: Raw,
}

/// The usable rows of a file by id, and what is to be said about the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rows<T> {
    /// The last usable row of each id.
    pub(super) by_id: HashMap<String, T>,
    /// One warning a row that was skipped or overruled.
    pub(super) warnings: Vec<String>,
}

/// A file whose top was checked: what it is bound to, and its value.
#[derive(Debug)]
pub(super) struct BoundFile {
    file: HandoffFile,
    value: Value,
    raw: Raw,
}

impl BoundFile {
    /// Reads `bytes` as the file that `file` names, up to its being an object.
    ///
    /// # Errors
    /// [`HandoffError::File`].
    pub(super) fn read(file: HandoffFile, bytes: &[u8]) -> Result<Self, HandoffError> {
        let refused = |fault| HandoffError::File { file, fault };
        let value = parse_unique(bytes).map_err(|fault| refused(FileFault::Json(fault)))?;
        if value.as_object().is_none() {
            return Err(refused(FileFault::NotAnObject));
        }
        let raw = raw::parse(bytes).map_err(|fault| refused(FileFault::Json(fault)))?;
        Ok(Self { file, value, raw })
    }

    /// The bundle's id that the file names, where that is a string.
    pub(super) fn bundle_id(&self) -> Option<&str> {
        self.value.get("bundle_id").and_then(Value::as_str)
    }

    /// Which file it is.
    pub(super) fn file(&self) -> HandoffFile {
        self.file
    }

    /// The file as tokens.
    pub(super) fn raw(&self) -> &Raw {
        &self.raw
    }

    /// The rows of the list `key` whose id is among `known`, each read by `read`, which also gives what of the row it
    /// could not use. It gives no row where nothing is usable.
    ///
    /// # Errors
    /// [`HandoffError::File`] where the list is not there or has no usable row.
    pub(super) fn rows<T>(
        &self,
        key: &'static str,
        known: &[&str],
        read: impl Fn(&Value, Raw) -> (Option<T>, Vec<&'static str>),
    ) -> Result<Rows<T>, HandoffError> {
        let refused = |fault| HandoffError::File { file: self.file, fault };
        let tokens = self.raw.value().get(key).and_then(RawValue::items);
        let (Some(Value::Array(values)), Some(tokens)) = (self.value.get(key), tokens) else {
            return Err(refused(FileFault::NoList { key }));
        };
        if values.is_empty() {
            return Err(refused(FileFault::EmptyList { key, ids: some_of(known) }));
        }
        let ids: HashSet<&str> = known.iter().copied().collect();
        let mut rows = Rows { by_id: HashMap::new(), warnings: Vec::new() };
        let mut faults = Faults::default();
        let mut unknown = 0;
        for (index, (value, tokens)) in values.iter().zip(tokens).enumerate() {
            let place = format!("{key}[{index}]");
            let mut skip = |reason: String| {
                rows.warnings.push(format!("{place} is skipped: {reason}"));
                faults.add(place.clone(), reason);
            };
            let id = match usable_id(value, &ids) {
                Ok(id) => id,
                Err(reason) => {
                    unknown += usize::from(reason == UNKNOWN_ID);
                    skip(reason.to_owned());
                    continue;
                }
            };
            match read(value, tokens.to_raw()) {
                (None, unused) => skip(unused.join(", ")),
                (Some(row), unused) => {
                    rows.warnings.extend(unused.iter().map(|what| format!("{place} is taken, but {what}")));
                    if rows.by_id.insert(id.to_owned(), row).is_some() {
                        rows.warnings.push(format!("{place} overrules an earlier row of {id}"));
                    }
                }
            }
        }
        if rows.by_id.is_empty() {
            let (rows, ids) = (values.len(), some_of(known));
            return Err(refused(FileFault::NoUsableRow { key, rows, unknown, ids, faults }));
        }
        Ok(rows)
    }
}

/// Why a row of an id that the round does not have is skipped.
const UNKNOWN_ID: &str = "its id is not known here";

/// The ids, the first few of them where they are many.
fn some_of(ids: &[&str]) -> String {
    const MOST: usize = 8;
    let first = ids.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
    match ids.len().checked_sub(MOST) {
        None | Some(0) => first,
        Some(more) => format!("{first} and {more} more"),
    }
}

/// Reads a row of a judgments file.
pub(super) fn judgment(row: &Value, tokens: Raw) -> (Option<Judgment>, Vec<&'static str>) {
    let judgment = Judgment {
        name: row.get("name").and_then(name),
        junk: row.get("junk").and_then(junk),
        worthiness: row.get("worthiness").and_then(worthiness),
        row: tokens,
    };
    let mut unused = Vec::new();
    if has_other_keys(row, &["id", "name", "junk", "worthiness"]) {
        unused.push("of its keys only id, name, junk and worthiness are known");
    }
    if is_given(row, "name") && judgment.name.is_none() {
        unused.push("its name is no text with a letter or digit, and counts as left out");
    }
    if is_given(row, "junk") && judgment.junk.is_none() {
        unused.push("its junk is neither true nor false, and counts as left out");
    }
    if is_given(row, "worthiness") {
        match judgment.worthiness {
            None => unused.push("its worthiness is no number, and counts as left out"),
            Some(_) if row.get("worthiness").is_some_and(is_clamped) => {
                unused.push("its worthiness is not within 0 to 100, and the nearer of them is taken");
            }
            Some(_) => {}
        }
    }
    (Some(judgment), unused)
}

/// Reads a row of an angles file. One without a usable hook says nothing.
pub(super) fn proposal(row: &Value, tokens: Raw) -> (Option<Angle>, Vec<&'static str>) {
    let proposal = Angle {
        podcast: row.get("podcast").and_then(angle),
        x_article: row.get("x_article").and_then(angle),
        row: tokens,
    };
    let mut unused = Vec::new();
    if has_other_keys(row, &["id", "podcast", "x_article"]) {
        unused.push("of its keys only id, podcast and x_article are known");
    }
    if is_given(row, "podcast") && proposal.podcast.is_none() {
        unused.push("its podcast is no text, and counts as left out");
    }
    if is_given(row, "x_article") && proposal.x_article.is_none() {
        unused.push("its x_article is no text, and counts as left out");
    }
    let has_hook = proposal.podcast.is_some() || proposal.x_article.is_some();
    if !has_hook {
        unused.push("it has no usable hook");
    }
    (has_hook.then_some(proposal), unused)
}

/// Whether the row has a value at `key`; `null` says the same as leaving it out.
fn is_given(row: &Value, key: &str) -> bool {
    row.get(key).is_some_and(|value| !matches!(value, Value::Null))
}

fn has_other_keys(row: &Value, known: &[&str]) -> bool {
    let is_known = |key: &Text| known.iter().any(|known| key.as_str() == Some(known));
    row.as_object().is_some_and(|members| !members.keys().all(is_known))
}

/// The id of a row that can be used; else why it can't. An id that is known is one of legbook's own, so it may be named.
fn usable_id<'a>(row: &'a Value, known: &HashSet<&str>) -> Result<&'a str, &'static str> {
    let members = row.as_object().ok_or("it is no object")?;
    match members.get("id".as_bytes()) {
        None => Err("it has no id"),
        Some(Value::String(id)) => {
            Text::as_str(id).map(trimmed).filter(|id| known.contains(id)).ok_or(UNKNOWN_ID)
        }
        Some(_) => Err("its id is no string"),
    }
}

/// An id without the white space around it.
fn trimmed(id: &str) -> &str {
    id.trim_matches(is_white_space)
}
