//! `legbook handoff status`: where the protocol stands.

use legbook::clock::snapshot_time;
use legbook::handoff::{Awaits, Status, status};
use legbook::json::Value;

use super::Place;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{nullable, object};

pub(super) fn run(place: &Place<'_>) -> Result<Exit, Failure> {
    place.leg(false, || {
        match status(&place.open()?)? {
            Some(status) => print(place, &status)?,
            None => print_none(place)?,
        }
        Ok(Exit::DONE)
    })
}

fn print(place: &Place<'_>, status: &Status) -> Result<(), Failure> {
    let Status { bundle_id, mock, age_seconds, expires_at, awaits, run_ref, report_expires_at } = status;
    let next = place.call(*mock).next(*awaits);
    let answer = object([
        ("bundle_id", bundle_id.as_str().into()),
        ("mock", (*mock).into()),
        ("age_seconds", (*age_seconds).into()),
        ("expires_at", snapshot_time(*expires_at).into()),
        ("awaits", word(*awaits).into()),
        ("run_ref", nullable(run_ref.as_deref())),
        ("report_expires_at", nullable(report_expires_at.map(snapshot_time))),
        ("next", next.as_str().into()),
    ]);
    let mut text = format!(
        "round    {bundle_id}{}\nage      {age_seconds} s, the bundle expires {}\n",
        if *mock { " (mock)" } else { "" },
        snapshot_time(*expires_at)
    );
    if let (Some(run_ref), Some(expires_at)) = (run_ref, report_expires_at) {
        text.push_str(&format!("report   {run_ref}, pending until {}\n", snapshot_time(*expires_at)));
    }
    text.push_str(&format!("awaits   {}\nnext     {next}\n", meaning(*awaits)));
    place.context.render.answer(&answer, &text)
}

fn print_none(place: &Place<'_>) -> Result<(), Failure> {
    let next = place.call(false).next(Awaits::Sweep);
    let answer = object([
        ("bundle_id", Value::Null),
        ("mock", Value::Null),
        ("age_seconds", Value::Null),
        ("expires_at", Value::Null),
        ("awaits", word(Awaits::Sweep).into()),
        ("run_ref", Value::Null),
        ("report_expires_at", Value::Null),
        ("next", next.as_str().into()),
    ]);
    place.context.render.answer(&answer, &format!("No round is current.\nnext     {next}\n"))
}

fn word(awaits: Awaits) -> &'static str {
    match awaits {
        Awaits::Sweep => "sweep",
        Awaits::Judgments => "judgments",
        Awaits::Report => "report",
        Awaits::Angles => "angles",
        Awaits::Nothing | Awaits::NextSweep => "nothing",
    }
}

fn meaning(awaits: Awaits) -> &'static str {
    match awaits {
        Awaits::Sweep => "a new sweep: this round's time is over",
        Awaits::Judgments => "the host's judgments",
        Awaits::Report => "the engine's report",
        Awaits::Angles => "the host's angles, or a finalize without",
        Awaits::Nothing => "nothing: it is finalized; corrected angles can be tried",
        Awaits::NextSweep => "nothing: nothing of it was solid; a new round when the next sweep is due",
    }
}
