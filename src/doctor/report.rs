//! What doctor says of a store, and of many at once.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::finding::{Finding, Severity};
use super::heads::Head;
use super::verdict::{RunVerdict, Verdict};
use crate::error::Error;
use crate::json::{Object, Value, object};

/// How many failing runs the detail names unless all are asked for.
const NAMED_FAILURES: usize = 8;

/// What a store, or all of them together, came to. The order is that of contract recovery.md, Doctor: the worst of
/// many is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Nothing found.
    Ok,
    /// Something that can be repaired or should be looked at.
    Warn,
    /// The store could not be checked.
    Unchecked,
    /// Something that can't be relied on.
    Fail,
}

impl Outcome {
    /// `ok`, `warn`, `unchecked` or `fail`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Unchecked => "unchecked",
            Self::Fail => "fail",
        }
    }
}

impl From<Severity> for Outcome {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Note => Self::Ok,
            Severity::Warn => Self::Warn,
            Severity::Fail => Self::Fail,
        }
    }
}

/// How many runs came to which verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs that are ok, live ones too.
    pub ok: u64,
    /// Runs that can be repaired.
    pub warn: u64,
    /// Runs that can't be relied on.
    pub fail: u64,
    /// Runs without a journal, and those that were skipped.
    pub omitted: u64,
}

/// What doctor found in one store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The store's id; `None` where it has none that can be read.
    pub store_id: Option<String>,
    /// The schema version of the store; 0 for legacy directories.
    pub schema_version: i64,
    /// What is wrong with the store.
    pub findings: Vec<Finding>,
    /// The verdict on each run that was looked at, the newest first.
    pub runs: Vec<RunVerdict>,
    /// Why no run was judged, where none could be.
    pub not_judged: Option<String>,
    /// How many older runs were not looked at.
    pub skipped: u64,
    /// Whether all was asked for.
    pub full: bool,
    /// Whether the store is gone, and only the heads file knows it.
    pub(super) is_gone: bool,
    /// The heads of the store's journals, where they were asked for.
    pub(super) heads: Option<BTreeMap<String, Head>>,
}

impl Report {
    /// What is said of legacy directories, which are no store.
    pub(crate) fn of_directories(
        runs: Vec<RunVerdict>,
        findings: Vec<Finding>,
        skipped: u64,
        full: bool,
    ) -> Self {
        Self { findings, runs, skipped, full, ..Self::default() }
    }

    /// How many runs came to which verdict; the skipped ones are omitted.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { omitted: self.skipped, ..Counts::default() };
        for run in &self.runs {
            match run.verdict {
                Verdict::Ok => counts.ok += 1,
                Verdict::Warn => counts.warn += 1,
                Verdict::Fail => counts.fail += 1,
                Verdict::Omitted => counts.omitted += 1,
            }
        }
        counts
    }

    /// The worst of all findings and verdicts.
    pub fn outcome(&self) -> Outcome {
        let findings = self.findings.iter().map(|finding| finding.kind.severity().into());
        let runs = self.runs.iter().map(|run| match run.verdict {
            Verdict::Ok | Verdict::Omitted => Outcome::Ok,
            Verdict::Warn => Outcome::Warn,
            Verdict::Fail => Outcome::Fail,
        });
        findings.chain(runs).max().unwrap_or(Outcome::Ok)
    }

    /// `ok=N warn=N fail=N omitted=N; failures: NAME (REASON), …`: eight names, all of them where all was asked for.
    pub fn detail(&self) -> String {
        let Counts { ok, warn, fail, omitted } = self.counts();
        let mut detail = format!("ok={ok} warn={warn} fail={fail} omitted={omitted}");
        let failing: Vec<&RunVerdict> = self.runs.iter().filter(|run| run.verdict == Verdict::Fail).collect();
        let named = if self.full { failing.len() } else { failing.len().min(NAMED_FAILURES) };
        if named > 0 {
            let names: Vec<String> =
                failing.iter().take(named).map(|run| format!("{} ({})", run.run_id, run.says)).collect();
            detail.push_str("; failures: ");
            detail.push_str(&names.join(", "));
            if named < failing.len() {
                detail.push_str(", …");
            }
        }
        detail
    }
}

/// One store that doctor was asked about, and what came of it.
#[derive(Debug)]
pub struct Examined {
    /// The store as it was named.
    pub path: PathBuf,
    /// What was found, or what kept doctor from checking.
    pub result: Result<Report, Error>,
}

impl Examined {
    /// What the store came to.
    pub fn outcome(&self) -> Outcome {
        self.result.as_ref().map_or(Outcome::Unchecked, Report::outcome)
    }

    /// The stable object of `legbook doctor --json`, one a store; every key is always there.
    pub fn to_json(&self) -> Value {
        let report = self.result.as_ref().ok();
        let number = |count: u64| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
        let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        let counts = report.map(Report::counts);
        // A legacy directory has none, nor has a store that is gone.
        let version = report.filter(|report| report.schema_version > 0);
        Value::Object(object([
            ("store", Value::from(self.path.to_string_lossy().as_ref())),
            ("outcome", self.outcome().word().into()),
            ("error", text(self.result.as_ref().err().map(ToString::to_string).as_deref())),
            ("store_id", text(report.and_then(|report| report.store_id.as_deref()))),
            ("schema_version", version.map_or(Value::Null, |report| report.schema_version.into())),
            ("detail", text(report.map(Report::detail).as_deref())),
            ("counts", counts.map_or(Value::Null, |counts| Value::Object(count_members(counts, number)))),
            ("skipped", report.map_or(Value::Null, |report| number(report.skipped))),
            ("not_judged", text(report.and_then(|report| report.not_judged.as_deref()))),
            ("findings", list(report.map_or(&[][..], |report| &report.findings), Finding::to_json)),
            ("runs", list(report.map_or(&[][..], |report| &report.runs), RunVerdict::to_json)),
        ]))
    }
}

fn count_members(counts: Counts, number: impl Fn(u64) -> Value) -> Object {
    object([
        ("ok", number(counts.ok)),
        ("warn", number(counts.warn)),
        ("fail", number(counts.fail)),
        ("omitted", number(counts.omitted)),
    ])
}

fn list<T>(items: &[T], to_json: fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(to_json).collect())
}

/// The worst of many stores.
pub fn worst(stores: &[Examined]) -> Outcome {
    stores.iter().map(Examined::outcome).max().unwrap_or(Outcome::Ok)
}
