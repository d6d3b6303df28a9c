//! What doctor can find, as data: which kind, how bad, which run, what it is, and what can be done.
//!
//! A kind's word is stable: programs that read `--json` and docs/OPERATIONS.md rely on it, and tests/fixtures/damage/
//! has a file of that name. Nothing here asks the store.

use std::path::Path;

use crate::error::MAX_DIAGNOSTIC;
use crate::json::{Value, object};
use crate::text::escaped;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know; nothing is to be done, and the exit code stays 0.
    Note,
    /// Somebody should look, nothing is lost.
    Warn,
    /// What the store says can't be relied on.
    Fail,
}

impl Severity {
    /// `note`, `warn` or `fail`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident $word:literal $severity:ident,)+) => {
        /// What can be wrong with a store. What can be wrong with a run's own journal is [`Reason`](super::Reason).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Its stable word.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)+
                }
            }
        }
    };
}

kinds! {
    /// SQLite finds the file damaged.
    FileDamaged "file-damaged" Fail,
    /// A row names one that is not there.
    ForeignKeyBroken "foreign-key-broken" Fail,
    /// A table, index, trigger or view of the schema is not there.
    SchemaMissing "schema-missing" Fail,
    /// A table, index, trigger or view is not the one of the schema.
    SchemaChanged "schema-changed" Fail,
    /// A trigger or an index on a table of the schema, a table that refers to one, or an object that takes a name of the
    /// schema, that the schema does not have.
    SchemaForeign "schema-foreign" Fail,
    /// A view, or a trigger on a table of another program, that the schema does not have.
    ForeignView "foreign-view" Warn,
    /// A table of another program, which touches nothing of the schema.
    ForeignTable "foreign-table" Note,
    /// The file's journal mode, page size, auto_vacuum or encoding is not the one that legbook sets.
    FileSettings "file-settings" Warn,
    /// A reference table holds other rows than the schema gives it.
    RegistryChanged "registry-changed" Fail,
    /// A bound is outside what it allows.
    SettingOutOfRange "setting-out-of-range" Fail,
    /// The store does not have exactly one identity.
    IdentityBroken "identity-broken" Fail,
    /// The file is a copy; the store itself is elsewhere.
    StoreCopy "store-copy" Note,
    /// Other users may read or write the store, its side files or its folder.
    FileMode "file-mode" Warn,
    /// A file belongs to another user than the store's folder.
    FileOwner "file-owner" Warn,
    /// The -wal has grown large.
    WalLarge "wal-large" Warn,
    /// A run that goes on has used 75 % of a bound.
    Headroom "headroom" Warn,
    /// The journal of a run whose owner lives is damaged.
    LiveJournalDamaged "live-journal-damaged" Fail,
    /// The owner of a lock is dead.
    StaleLock "stale-lock" Warn,
    /// Whether the owner of a lock lives cannot be judged from here.
    OwnerUnknown "owner-unknown" Note,
    /// Whether the owner of a lock lives cannot be judged from here, it has no lease, and it has written nothing for long.
    OwnerSilent "owner-silent" Warn,
    /// The row of a lock can't be read.
    LockUnreadable "lock-unreadable" Fail,
    /// A lock of a run that is not there.
    LockWithoutRun "lock-without-run" Fail,
    /// An event of a run that is not there.
    EventWithoutRun "event-without-run" Fail,
    /// What is stored beside an event's line is not what the line says.
    EventColumns "event-columns" Fail,
    /// What the run's row says of its last snapshot is not what the snapshot says.
    RunColumns "run-columns" Fail,
    /// A checkpoint that an event names is not there, or its bytes are not those of its digest.
    CheckpointDamaged "checkpoint-damaged" Fail,
    /// A checkpoint that no event names.
    CheckpointOrphaned "checkpoint-orphaned" Warn,
    /// The removal of a run was begun and not finished.
    RemovalUnfinished "removal-unfinished" Warn,
    /// A stored receipt's bytes are not those of its digest, or it is no receipt of a run here.
    ReceiptDamaged "receipt-damaged" Fail,
    /// The receipt that is a run's last snapshot is not the one that its checkpoint gives.
    ReceiptOfOtherBytes "receipt-of-other-bytes" Warn,
    /// What the handoff or a stage has stored is not what its digest says.
    ContentDamaged "content-damaged" Fail,
    /// A column holds a value of a kind that legbook never writes there.
    ValueDamaged "value-damaged" Fail,
    /// A row is under a name that no command can reach.
    NameInvalid "name-invalid" Fail,
    /// A column that holds a time holds something else.
    TimeInvalid "time-invalid" Fail,
    /// A removal tells of no journal that a run can have had.
    RemovalDamaged "removal-damaged" Fail,
    /// Rows of the handoff contradict each other.
    HandoffDamaged "handoff-damaged" Fail,
    /// Rows of pipelines, stages and markers contradict each other.
    StagesDamaged "stages-damaged" Fail,
    /// Rows of imported runs contradict each other.
    ImportDamaged "import-damaged" Fail,
    /// Shadow evidence contradicts itself or its journal.
    ShadowDamaged "shadow-damaged" Fail,
    /// A run that has not ended, and nobody holds it.
    RunUnheld "run-unheld" Warn,
    /// A report was finalized, and none of its topics is in the queue.
    QueueBehind "queue-behind" Warn,
    /// A round of the handoff is older than its protocol allows.
    RoundExpired "round-expired" Warn,
    /// A journal is shorter than the heads file has seen it.
    HeadBehind "head-behind" Fail,
    /// A journal is another one than the heads file has seen.
    HeadDiffers "head-differs" Fail,
    /// A journal, or a whole store, that the heads file has seen is gone.
    HeadGone "head-gone" Fail,
}

/// What can be done about a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// A command, its arguments one by one.
    Command(Vec<String>),
    /// Statements for `sqlite3 STORE` that delete nothing but what they put in again.
    Sql(String),
    /// Statements for `sqlite3 STORE` that delete rows, apart from repairs, so that nobody runs them with those.
    Deletion(String),
    /// No command can do it; what a person can do.
    Advice(String),
}

impl Remedy {
    /// `legbook --store STORE` with these arguments.
    pub(super) fn legbook(store: &Path, arguments: &[&str]) -> Self {
        let store = store.to_string_lossy();
        Self::command(&[&["legbook", "--store", &store], arguments].concat())
    }

    pub(crate) fn command(words: &[&str]) -> Self {
        Self::Command(words.iter().map(|word| (*word).to_owned()).collect())
    }

    pub(crate) fn advice(text: impl Into<String>) -> Self {
        Self::Advice(text.into())
    }

    /// As a person types or reads it; statements as one line each.
    pub fn text(&self) -> String {
        match self {
            Self::Command(words) => {
                // A word with a NUL can't be typed; no path of the system holds one.
                shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
            }
            Self::Sql(text) | Self::Deletion(text) | Self::Advice(text) => text.clone(),
        }
    }

    fn member(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Sql(_) => "sql",
            Self::Deletion(_) => "deletion",
            Self::Advice(_) => "advice",
        }
    }

    /// `{"command": …}`, `{"sql": …}`, `{"deletion": …}` or `{"advice": …}`, each a text.
    pub fn to_json(&self) -> Value {
        Value::Object(object([(self.member(), Value::from(self.text()))]))
    }
}

/// Something that doctor found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// The run that it is about; `None`: the store.
    pub run_id: Option<String>,
    /// What was found, at most 240 characters; no payload's value, no file's content.
    pub what: String,
    /// What can be done.
    pub remedy: Remedy,
}

impl Finding {
    /// Of the store.
    pub(super) fn new(kind: Kind, what: impl Into<String>, remedy: Remedy) -> Self {
        Self { kind, run_id: None, what: bounded(what.into()), remedy }
    }

    /// Of a run.
    pub(crate) fn of_run(run_id: &str, kind: Kind, what: impl Into<String>, remedy: Remedy) -> Self {
        Self { run_id: Some(run_id.to_owned()), ..Self::new(kind, what, remedy) }
    }

    /// `{"kind", "severity", "run_id", "what", "remedy"}`.
    pub fn to_json(&self) -> Value {
        Value::Object(object([
            ("kind", Value::from(self.kind.word())),
            ("severity", self.kind.severity().word().into()),
            ("run_id", self.run_id.as_deref().map_or(Value::Null, Value::from)),
            ("what", self.what.as_str().into()),
            ("remedy", self.remedy.to_json()),
        ]))
    }
}

/// `text` cut to the longest diagnostic, hidden characters escaped: a name in it may come from a damaged file.
pub(super) fn bounded(text: String) -> String {
    let clean = escaped(&text);
    if clean.chars().count() <= MAX_DIAGNOSTIC {
        return clean.into_owned();
    }
    clean.chars().take(MAX_DIAGNOSTIC - 1).chain(['…']).collect()
}
