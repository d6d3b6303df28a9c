//! The names in a legacy run directory (contract legacy-files.md).

use crate::digest::Digest;

/// The snapshot.
pub(super) const RUN_JSON: &str = "run.json";
/// The folder of the journal and all that goes with it.
pub(super) const EVENTS: &str = "events";
/// The journal, in [`EVENTS`].
pub(super) const JOURNAL: &str = "lifecycle.jsonl";
/// The folder of checkpoints, in [`EVENTS`].
pub(super) const CHECKPOINTS: &str = "recovery-checkpoints";
/// The evidence of shadow comparisons, in [`EVENTS`].
pub(super) const EVIDENCE: &str = "shadow-comparison.json";
/// The folder of partial lines, in [`EVENTS`].
pub(super) const QUARANTINE: &str = "quarantine";

/// The run directory itself, as a path relative to it.
pub(super) const ROOT: &str = ".";
/// [`JOURNAL`] relative to the run directory.
pub(super) const JOURNAL_PATH: &str = "events/lifecycle.jsonl";
/// [`EVIDENCE`] relative to the run directory.
pub(super) const EVIDENCE_PATH: &str = "events/shadow-comparison.json";
/// [`CHECKPOINTS`] relative to the run directory.
pub(super) const CHECKPOINTS_PATH: &str = "events/recovery-checkpoints";
/// [`QUARANTINE`] relative to the run directory.
pub(super) const QUARANTINE_PATH: &str = "events/quarantine";

/// The mode of every directory that a legacy program or an export makes.
pub(super) const DIRECTORY_MODE: u32 = 0o700;
/// The mode of every file that they make.
pub(super) const FILE_MODE: u32 = 0o600;

const PARTIAL: &str = "lifecycle-partial-";

/// The file name of a checkpoint.
pub(super) fn checkpoint_name(sha256: Digest) -> String {
    format!("{sha256}.json")
}

/// The checkpoint that a file of this name is.
pub(super) fn checkpoint_of(name: &str) -> Option<Digest> {
    Digest::parse(name.strip_suffix(".json")?)
}

/// The name under which a partial line is kept, the `again`-th of its kind from 0.
pub(super) fn partial_name(whole_lines: u64, sha256: Digest, again: u32) -> String {
    match again {
        0 => format!("{PARTIAL}{whole_lines:06}-{sha256}.bin"),
        again => format!("{PARTIAL}{whole_lines:06}-{sha256}-{again}.bin"),
    }
}

/// The whole lines before the partial one that a file of this name holds, and its digest.
pub(super) fn partial_of(name: &str) -> Option<(u64, Digest)> {
    let (lines, rest) = name.strip_prefix(PARTIAL)?.strip_suffix(".bin")?.split_once('-')?;
    let (hex, again) = match rest.split_once('-') {
        Some((hex, again)) => (hex, Some(again)),
        None => (rest, None),
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(lines) || !again.is_none_or(is_number) {
        return None;
    }
    let (lines, sha256) = (lines.parse().ok()?, Digest::parse(hex)?);
    // Only the very spelling: a name is made again of its parts on export.
    let again = again.map_or(Some(0), |again| again.parse().ok().filter(|again| *again > 0))?;
    (partial_name(lines, sha256, again) == name).then_some((lines, sha256))
}
