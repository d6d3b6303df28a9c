//! `legbook handoff show`: a stored bundle, whole.

use clap::Args;
use legbook::handoff::Bundle;

use super::Place;
use crate::cli::exit::{Exit, Failure};

/// Print a stored bundle whole, of the current round or an earlier one
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The bundle's id
    #[arg(value_name = "ID")]
    bundle_id: String,
    /// Print the bytes of the legacy file discover-nominations.json, for a program: third-party text without a fence
    #[arg(long)]
    legacy: bool,
}

pub(super) fn run(place: &Place<'_>, arguments: &Arguments) -> Result<Exit, Failure> {
    place.leg(false, || {
        let store = place.open()?;
        let bundle = Bundle::read(&store, &arguments.bundle_id)?;
        place.warn(bundle.warnings());
        if arguments.legacy {
            place.context.render.raw(bundle.legacy()?.as_bytes())?;
        } else {
            place.print_untrusted(&store, &bundle.tokens())?;
        }
        Ok(Exit::DONE)
    })
}
