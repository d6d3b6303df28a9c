//! The verdict on one run, and its reasons (contract recovery.md, Doctor).

use super::finding::{Remedy, Severity};
use crate::json::{Value, object};

/// How a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has no journal, so there is nothing to judge by.
    Omitted,
    /// Journal, checkpoint and run.json agree, or its owner is at work.
    Ok,
    /// It can be repaired.
    Warn,
    /// What the store or run.json says of it can't be relied on.
    Fail,
}

impl Verdict {
    /// `omitted`, `ok`, `warn` or `fail`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Omitted => "omitted",
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident $word:literal $says:literal $severity:ident,)+) => {
        /// Why a run is not ok. In the order in which they are looked for: the first one found is the run's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Its stable word, of the same kind as those of [`Kind`](super::Kind).
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                }
            }

            /// The contract's words.
            pub fn says(self) -> &'static str {
                match self {
                    $(Self::$name => $says,)+
                }
            }

            /// Whether it makes the verdict warn or fail.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)+
                }
            }
        }
    };
}

reasons! {
    /// The journal has more events or bytes than its bound; it was not parsed.
    JournalBound "journal-bound-exceeded" "bound exceeded" Fail,
    /// A line that is no valid event, a gap, a broken link, another run's event among this one's, a repeated key.
    MalformedChain "malformed-chain" "malformed chain" Fail,
    /// A journal without an event.
    EmptyJournal "empty-journal" "empty journal" Fail,
    /// A whole chain, of another run.
    RunIdMismatch "run-id-mismatch" "run_id mismatch" Fail,
    /// The whole lines are a good chain, and the last line was cut off. Only a legacy program leaves such a journal.
    PartialTail "partial-tail" "partial tail" Fail,
    /// Events, but none of them names a checkpoint.
    NoCheckpoint "no-checkpoint" "no checkpoint event in journal" Fail,
    /// The latest checkpoint is larger than its bound; it was not read.
    CheckpointBound "checkpoint-bound-exceeded" "bound exceeded" Fail,
    /// The latest checkpoint's payload or body breaks a rule.
    CheckpointFault "checkpoint-fault" "checkpoint fault" Fail,
    /// Events after the latest checkpoint that it does not account for.
    UncoveredTail "uncovered-tail" "uncovered tail" Fail,
    /// The receipt after the latest checkpoint breaks the rule of a receipt.
    ReceiptFault "receipt-fault" "receipt fault" Fail,
    /// A legacy directory of a newer program, so it could not be judged. Its chain holds.
    NewerFormat "newer-format" "newer format" Warn,
    /// There is no run.json, and the checkpoint can give it back.
    RunJsonMissing "run-json-missing" "run.json missing with valid checkpoint" Warn,
    /// run.json is no JSON object, and the checkpoint can give it back.
    RunJsonUnparseable "run-json-unparseable" "run.json unparseable with valid checkpoint" Warn,
    /// run.json is an older snapshot of the run: a commit whose export never happened.
    RunJsonBehind "run-json-behind" "run.json behind its checkpoint" Warn,
    /// run.json is an object that the journal knows nothing of.
    RunJsonMismatch "run-json-mismatch" "run.json does not match checkpoint" Fail,
    /// run.json can't be read.
    RunJsonUnreadable "run-json-unreadable" "run.json cannot be read" Fail,
}

/// The verdict on one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunVerdict {
    /// The run.
    pub run_id: String,
    /// How it is.
    pub verdict: Verdict,
    /// Why it is not ok.
    pub reason: Option<Reason>,
    /// The contract's words: the reason's, `live owner`, `no journal`, or what agrees.
    pub says: String,
    /// Where exactly, at most 240 characters; empty where there is no more to say.
    pub detail: String,
    /// What can be done, where something is to be done.
    pub remedy: Option<Remedy>,
}

impl RunVerdict {
    pub(crate) fn omitted(run_id: &str) -> Self {
        Self::without_fault(run_id, Verdict::Omitted, "no journal")
    }

    pub(super) fn ok(run_id: &str, says: &str) -> Self {
        Self::without_fault(run_id, Verdict::Ok, says)
    }

    fn without_fault(run_id: &str, verdict: Verdict, says: &str) -> Self {
        Self {
            run_id: run_id.to_owned(),
            verdict,
            reason: None,
            says: says.to_owned(),
            detail: String::new(),
            remedy: None,
        }
    }

    pub(crate) fn fault(run_id: &str, fault: Fault, remedy: Remedy) -> Self {
        let verdict = match fault.reason.severity() {
            Severity::Note => Verdict::Ok,
            Severity::Warn => Verdict::Warn,
            Severity::Fail => Verdict::Fail,
        };
        Self {
            run_id: run_id.to_owned(),
            verdict,
            reason: Some(fault.reason),
            says: fault.reason.says().to_owned(),
            detail: super::finding::bounded(fault.detail),
            remedy: Some(remedy),
        }
    }

    /// `{"run_id", "verdict", "kind", "reason", "detail", "remedy"}`.
    pub fn to_json(&self) -> Value {
        Value::Object(object([
            ("run_id", Value::from(self.run_id.as_str())),
            ("verdict", self.verdict.word().into()),
            ("kind", self.reason.map_or(Value::Null, |reason| reason.word().into())),
            ("reason", self.says.as_str().into()),
            ("detail", self.detail.as_str().into()),
            ("remedy", self.remedy.as_ref().map_or(Value::Null, Remedy::to_json)),
        ]))
    }
}

/// A reason with the place of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) reason: Reason,
    pub(crate) detail: String,
    /// The bound that is in the way, and the value that would let the run pass it.
    pub(crate) needs: Option<(&'static str, u64)>,
}
