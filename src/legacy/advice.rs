//! What a person can do about the verdict on a legacy directory. No command of legbook changes one, so the commands are
//! those of a shell. Each keeps the bytes that it replaces.

use std::path::Path;

use super::layout::{CHECKPOINTS_PATH, JOURNAL_PATH, RUN_JSON, checkpoint_name};
use crate::digest::Digest;
use crate::doctor::{Fault, Reason, Remedy};

/// What helps against `fault` of the directory `directory`, whose latest checkpoint is `latest`.
pub(super) fn remedy(directory: &Path, latest: Option<Digest>, fault: &Fault) -> Remedy {
    let path = |relative: &str| directory.join(relative).to_string_lossy().into_owned();
    match (fault.reason, latest) {
        (
            Reason::RunJsonMissing
            | Reason::RunJsonUnparseable
            | Reason::RunJsonBehind
            | Reason::RunJsonMismatch,
            Some(latest),
        ) => {
            let checkpoint = path(&format!("{CHECKPOINTS_PATH}/{}", checkpoint_name(latest)));
            Remedy::command(&["cp", "--backup=numbered", &checkpoint, &path(RUN_JSON)])
        }
        (Reason::PartialTail, _) => Remedy::command(&["sed", "-i.partial", "$d", &path(JOURNAL_PATH)]),
        (Reason::JournalBound | Reason::CheckpointBound, _) => {
            let raise = fault.needs.map(|(key, needs)| format!("legbook db set {key} {needs}, then "));
            let directory = directory.to_string_lossy();
            let directory = shlex::try_quote(&directory).unwrap_or("DIR".into());
            Remedy::advice(format!(
                "import the run into a store with higher limits: {}legbook runs import {directory}",
                raise.unwrap_or_default()
            ))
        }
        (Reason::NewerFormat, _) => {
            Remedy::advice("leave the directory as it is, and judge or import it with a newer legbook")
        }
        (Reason::RunJsonUnreadable, _) => {
            Remedy::advice("make run.json and its folder readable, a regular file of its own")
        }
        _ => Remedy::advice(
            "keep a copy of the directory, then put back the last copy that was whole; legbook changes nothing here",
        ),
    }
}
