//! `legbook handoff import`: a bundle of the legacy program becomes the current round.

use clap::Args;
use legbook::clock::snapshot_time;
use legbook::error::HandoffFile;
use legbook::handoff::LegacyBundle;
use legbook::json::Value;

use super::{Place, read};
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::Input;
use crate::cli::render::object;

/// Take a discover-nominations.json of the legacy program as the current round, with its own id and age
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file, or - for stdin
    #[arg(value_name = "FILE")]
    input: Input,
}

pub(super) fn run(place: &Place<'_>, arguments: &Arguments) -> Result<Exit, Failure> {
    place.leg(false, || {
        let bytes = read(&arguments.input, HandoffFile::Bundle)?;
        let bundle = LegacyBundle::read(&bytes)?;
        place.check_mock(bundle.mock())?;
        let store = place.open_or_make()?;
        bundle.store(&store)?;
        place.warn(bundle.warnings());
        let expires_at = snapshot_time(bundle.expires_at());
        let count = bundle.nominations();
        let answer = object([
            ("bundle_id", bundle.bundle_id().into()),
            ("nominations", Value::from(i64::try_from(count).unwrap_or(i64::MAX))),
            ("expires_at", expires_at.as_str().into()),
        ]);
        let text = format!("Round {} has {count} nominations, until {expires_at}.", bundle.bundle_id());
        place.context.render.done(&answer, &text)?;
        Ok(Exit::DONE)
    })
}
