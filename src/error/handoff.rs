//! What the handoff refuses.
//!
//! One kind of error with a category (contract handoff.md, reading): whatever the category, the leg did not happen, and
//! the state of the leg before it is whole.

use std::fmt;
use std::path::PathBuf;

use super::JsonError;

/// A refused leg of the handoff.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandoffError {
    /// The store has no current one.
    #[error("there is no current {record}")]
    Missing {
        /// What was looked for.
        record: Record,
    },
    /// It is of another kind, or of a schema version that this program does not know.
    #[error("the {record} is of the wrong kind or schema version")]
    Version {
        /// What it was read as.
        record: Record,
    },
    /// Its time is over.
    #[error("the {record} {bundle_id} is stale: {age} seconds old, and {limit} are allowed")]
    Stale {
        /// What is stale.
        record: Record,
        /// Its round.
        bundle_id: String,
        /// Whole seconds since it was stored, rounded up.
        age: i64,
        /// Seconds that it may be old.
        limit: i64,
    },
    /// It was found stale before; a clock that went back does not make it fresh.
    #[error("the {record} {bundle_id} is stale: it was found too old before, whatever the clock says now")]
    Expired {
        /// What is stale.
        record: Record,
        /// Its round.
        bundle_id: String,
    },
    /// Its stamp is ahead of the clock by more than clocks differ.
    #[error("the {record} {bundle_id} is from the future: stamped {ahead} seconds ahead of this clock")]
    FromTheFuture {
        /// What is from the future.
        record: Record,
        /// Its round.
        bundle_id: String,
        /// Whole seconds, rounded up.
        ahead: i64,
    },
    /// It was made from fixtures and the call is a real one, or the other way round.
    #[error("the {record} {bundle_id} was made {} --mock and this call is {} it", with(*.stored), with(!*.stored))]
    MockParity {
        /// What the call would have used.
        record: Record,
        /// Its round.
        bundle_id: String,
        /// Whether it was made with `--mock`.
        stored: bool,
    },
    /// A mock leg in the default store.
    #[error("a --mock leg needs --save-dir: fixtures stay out of the default store")]
    MockNeedsSaveDir,
    /// Nothing of it can be read any more.
    #[error("the {record} {bundle_id} is corrupt: {fault}")]
    Corrupt {
        /// What is corrupt.
        record: Record,
        /// Its round.
        bundle_id: String,
        /// In which way.
        fault: &'static str,
    },
    /// The engine's pool breaks a rule.
    #[error("the pool is refused: {faults}")]
    Pool {
        /// What is wrong with it.
        faults: Faults,
    },
    /// A file that the host or the engine wrote can't be used at all.
    #[error("the {file} file is refused: {fault}")]
    File {
        /// Which file.
        file: HandoffFile,
        /// What is wrong with it.
        fault: FileFault,
    },
    /// A file that names another round than the current one.
    #[error(
        "the {file} file is bound to bundle_id {} but the current {against} is \"{current}\"{}",
        quoted(.found.as_deref()),
        old_round(.found.as_deref().filter(|_| *.superseded), current)
    )]
    Mismatch {
        /// Which file.
        file: HandoffFile,
        /// The id in the file, where one stands there.
        found: Option<String>,
        /// What the file is bound against.
        against: Record,
        /// Whether that is a round of this store that is over, so that the file was made for another pool.
        superseded: bool,
        /// The id that it must have.
        current: String,
    },
    /// `--nothing-solid` names another round than the current one.
    #[error("--nothing-solid names round {} but the current {} is \"{current}\"", quoted(Some(given.as_str())), Record::Bundle)]
    NotCurrent {
        /// The id on the command line.
        given: String,
        /// The current one.
        current: String,
    },
    /// The round that the leg belongs to is over: a newer `nominate` came between.
    #[error("round {bundle_id} was superseded{}", superseded_by(.by.as_deref()))]
    Superseded {
        /// The round that is over.
        bundle_id: String,
        /// The current one, where there is one.
        by: Option<String>,
    },
    /// The pending report that the leg began with is over: a newer `judge` or `report` came between.
    #[error("the pending report of round {bundle_id} was superseded while this leg ran")]
    PendingSuperseded {
        /// Its round.
        bundle_id: String,
    },
    /// A report before there are judgments.
    #[error("round {bundle_id} has no judgments yet")]
    Unjudged {
        /// The current round.
        bundle_id: String,
    },
    /// A report that was made from judgments that were replaced meanwhile.
    #[error(
        "the report file was made from judgments {found}, and the latest judgments of round {bundle_id} are number {latest}"
    )]
    OldJudgments {
        /// The current round.
        bundle_id: String,
        /// The number in the file.
        found: i64,
        /// The number of the latest judgments.
        latest: i64,
    },
    /// `--domain` names another domain than the pool.
    #[error("--domain differs from the domain of the pool")]
    Domain,
    /// `--domain` holds a character that a reader does not see.
    #[error("--domain must be one line of text, without control, format or other hidden characters")]
    DomainText,
    /// No round of this id.
    #[error("the store has no nominations bundle of this id")]
    UnknownBundle,
    /// An imported bundle whose id the store has already.
    #[error("the store has a nominations bundle {bundle_id} already")]
    KnownBundle {
        /// The id.
        bundle_id: String,
    },
    /// No topic of this name in the queue.
    #[error("the queue has no topic of this name")]
    UnknownTopic,
    /// The store could not be opened or read: the disk is full, or may not be written. SQLite writes beside the store
    /// while it reads.
    #[error("the store could not be opened or read: {source}")]
    NotRead {
        /// The store's own error, or the system's.
        source: Box<super::Error>,
    },
    /// The store did not take what the leg made: the disk is full, or may not be written.
    #[error("the {record} could not be stored: {source}")]
    NotStored {
        /// What was to be stored.
        record: Record,
        /// The store's own error, or the system's.
        source: Box<super::Error>,
    },
}

impl HandoffError {
    /// The category, a stable word for scripts.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::Version { .. } => "version",
            Self::Stale { .. } | Self::Expired { .. } => "stale",
            Self::FromTheFuture { .. } => "future",
            Self::MockParity { .. } | Self::MockNeedsSaveDir => "mock",
            Self::Corrupt { .. } => "corrupt",
            Self::Pool { .. } => "pool",
            Self::File { .. } => "file",
            Self::Mismatch { superseded: false, .. } | Self::NotCurrent { .. } => "mismatch",
            Self::Mismatch { .. }
            | Self::Superseded { .. }
            | Self::PendingSuperseded { .. }
            | Self::OldJudgments { .. } => "superseded",
            Self::Unjudged { .. } => "unjudged",
            Self::Domain | Self::DomainText => "domain",
            Self::UnknownBundle | Self::KnownBundle { .. } => "bundle",
            Self::UnknownTopic => "topic",
            Self::NotStored { .. } | Self::NotRead { .. } => "write",
        }
    }
}

/// What is kept between the legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// What leg 1 stored.
    Bundle,
    /// What leg 2 stored.
    Judgments,
    /// What the end of leg 2 stored.
    PendingReport,
    /// What leg 3 stored.
    Angles,
}

impl fmt::Display for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Bundle => "nominations bundle",
            Self::Judgments => "judgments",
            Self::PendingReport => "pending report",
            Self::Angles => "angles",
        })
    }
}

/// A file that a leg reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandoffFile {
    /// The engine's pool.
    Pool,
    /// The host's judgments.
    Judgments,
    /// The engine's report.
    Report,
    /// The host's angles.
    Angles,
    /// A bundle of the legacy program.
    Bundle,
}

impl fmt::Display for HandoffFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Pool => "pool",
            Self::Judgments => "judgments",
            Self::Report => "report",
            Self::Angles => "angles",
            Self::Bundle => "bundle",
        })
    }
}

/// Why a file is of no use. The order is that of the reading.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// The file, or the standard input, can't be read.
    #[error("cannot read {}: {reason}", shortened(&path.display().to_string()))]
    Unreadable {
        /// The file as it was named.
        path: PathBuf,
        /// What the operating system said.
        reason: String,
    },
    /// No JSON that may be read: not UTF-8, no value, a key twice.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The top value is no object.
    #[error("it holds no JSON object")]
    NotAnObject,
    /// The rows are not where they should be.
    #[error("it has no list \"{key}\"")]
    NoList {
        /// The list's key.
        key: &'static str,
    },
    /// The list has no row.
    #[error("the list \"{key}\" is empty")]
    EmptyList {
        /// The list's key.
        key: &'static str,
        /// The ids that are known, the first of them where they are many.
        ids: String,
    },
    /// There are rows, and not one can be used.
    #[error(
        "no row of \"{key}\" can be used: {unknown} of {rows} name an id that is not known here; {faults}"
    )]
    NoUsableRow {
        /// The list's key.
        key: &'static str,
        /// How many rows it has.
        rows: usize,
        /// How many of them name an id that is not known.
        unknown: usize,
        /// The ids that are known, the first of them where they are many.
        ids: String,
        /// What is wrong with each.
        faults: Faults,
    },
    /// A pool was given where a bundle of the legacy program is imported.
    #[error("it is a pool, and a nominations bundle is expected (kind \"discovery-nominations\")")]
    IsPool,
    /// Members are not what they must be.
    #[error("{0}")]
    Members(Faults),
}

/// What is wrong with a file, each with its place: the first ten, and how many more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    first: Vec<(String, String)>,
    more: usize,
}

impl Faults {
    /// How many faults are told one by one.
    const MOST: usize = 10;

    /// Adds a fault: `place` is a path of keys and positions, `rule` what must be there.
    pub(crate) fn add(&mut self, place: String, rule: String) {
        if self.first.len() < Self::MOST {
            self.first.push((place, rule));
        } else {
            self.more += 1;
        }
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Place and rule of the first faults, in the order of the file.
    pub fn first(&self) -> &[(String, String)] {
        &self.first
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (place, rule)) in self.first.iter().enumerate() {
            let between = if index == 0 { "" } else { "; " };
            write!(formatter, "{between}{place}: {rule}")?;
        }
        if self.more > 0 { write!(formatter, "; and {} more", self.more) } else { Ok(()) }
    }
}

fn with(mock: bool) -> &'static str {
    if mock { "with" } else { "without" }
}

/// An id as it stands in a file, short enough for a message.
fn quoted(found: Option<&str>) -> String {
    found.map_or_else(|| "(none)".to_owned(), super::quoted)
}

/// A path, short enough for a message: its end tells more than its beginning.
fn shortened(path: &str) -> String {
    const LONGEST: usize = 120;
    match path.chars().count().checked_sub(LONGEST) {
        None | Some(0) => path.to_owned(),
        Some(left_out) => ['…'].into_iter().chain(path.chars().skip(left_out)).collect(),
    }
}

fn old_round(found: Option<&str>, current: &str) -> String {
    found.map_or_else(String::new, |found| {
        format!(": round {found} was superseded by {current}, the current one")
    })
}

fn superseded_by(current: Option<&str>) -> String {
    match current {
        Some(current) => format!(" by {current}, the current one"),
        None => " by a sweep that found nothing".to_owned(),
    }
}
