//! What is kept of comparisons: counts, and the last of them.

use crate::digest::Digest;
use crate::event::Head;
use crate::json::Text;

/// How many records are kept, the newest.
pub const MAX_RECORDS: usize = 16;
/// How many differing fields a record names; where there are more the last name is `...`.
pub const MAX_FIELDS: usize = 16;

/// What came of one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The same bytes.
    Match,
    /// Only `status` differs, and the written one is a word for which no event stands.
    Lag,
    /// Anything else differs.
    Mismatch,
    /// There is no comparison that counts; the record's category says why.
    Error,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 4] = [Self::Match, Self::Lag, Self::Mismatch, Self::Error];

    /// The word that is stored: `match`, `lag`, `mismatch` or `error`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Lag => "lag",
            Self::Mismatch => "mismatch",
            Self::Error => "error",
        }
    }

    /// The outcome of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.word() == word)
    }
}

/// How many comparisons there were, and what came of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All.
    pub comparisons: i64,
    /// Those that came out as [`Outcome::Match`].
    pub matches: i64,
    /// [`Outcome::Mismatch`].
    pub mismatches: i64,
    /// [`Outcome::Lag`].
    pub lags: i64,
    /// [`Outcome::Error`].
    pub errors: i64,
}

impl Counts {
    /// Counts one more comparison.
    pub(super) fn count(&mut self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::Match => &mut self.matches,
            Outcome::Lag => &mut self.lags,
            Outcome::Mismatch => &mut self.mismatches,
            Outcome::Error => &mut self.errors,
        };
        *counter = counter.saturating_add(1);
        self.comparisons = self.comparisons.saturating_add(1);
    }

    /// How many comparisons came out as `outcome`.
    pub(super) fn of(self, outcome: Outcome) -> i64 {
        match outcome {
            Outcome::Match => self.matches,
            Outcome::Lag => self.lags,
            Outcome::Mismatch => self.mismatches,
            Outcome::Error => self.errors,
        }
    }

    /// Whether none is negative and the four add up.
    pub(super) fn add_up(self) -> bool {
        let four = [self.matches, self.mismatches, self.lags, self.errors];
        let sum = four.iter().try_fold(0_i64, |sum, count| sum.checked_add(*count));
        four.iter().all(|count| *count >= 0) && sum == Some(self.comparisons)
    }
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What came of it.
    pub outcome: Outcome,
    /// Of an error, and only of one: `journal-unreadable`, `journal-run-id-mismatch`, `projection-error:<rule>`,
    /// `comparison-gap`, `evidence-unreadable`.
    pub category: Option<String>,
    /// The journal's last sequence.
    pub sequence: Option<i64>,
    /// The last event's digest.
    pub event_digest: Option<Digest>,
    /// SHA-256 of the written snapshot with the journal's head in it.
    pub shadow_digest: Option<Digest>,
    /// SHA-256 of the projection; `None` where there is none.
    pub projected_digest: Option<Digest>,
    /// The fields that differ, at most [`MAX_FIELDS`].
    pub differing_fields: Vec<Text>,
    /// When.
    pub recorded_at: String,
    /// Why, of an error: at most 240 characters, never a value of the snapshot.
    pub diagnostic: Option<String>,
}

impl Record {
    /// The journal's head that was compared to.
    pub(super) fn head(&self) -> Option<Head> {
        let (sequence, digest) = self.sequence.zip(self.event_digest)?;
        Some(Head { sequence, digest })
    }
}

/// The evidence of one run, of this build's projection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// How many comparisons.
    pub counts: Counts,
    /// The last comparison; `None` where there was none.
    pub last: Option<Record>,
    /// The last comparisons in order, at most [`MAX_RECORDS`].
    pub recent_records: Vec<Record>,
}
