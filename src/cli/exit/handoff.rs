//! The remedies of the handoff: the cheapest that helps (contract handoff.md, reading).
//!
//! A new sweep is the dearest, so it is named only where the state itself is over; a wrong field is mended where it is.

use std::path::PathBuf;

use legbook::error::{FileFault, HandoffError, HandoffFile, Record};
use legbook::handoff::Awaits;

/// How the legs of a round are typed, where the call that failed was one of them.
#[derive(Debug, Clone)]
pub(crate) struct LegCall {
    /// How a command for the same store begins.
    pub(crate) program: String,
    /// What `--save-dir` said.
    pub(crate) save_dir: Option<PathBuf>,
    /// Whether the call was with `--mock`.
    pub(crate) mock: bool,
    /// The store's file.
    pub(crate) store: PathBuf,
    /// What the current round awaits, where the remedy depends on it and there is one.
    pub(crate) awaits: Option<Awaits>,
}

impl LegCall {
    /// The command `legbook handoff VERB` with the options that the legs of this round share.
    pub(crate) fn command(&self, verb: &str) -> String {
        self.typed(verb, self.mock && matches!(verb, "nominate" | "judge" | "report" | "finalize"))
    }

    fn typed(&self, verb: &str, mock: bool) -> String {
        let mut command = format!("{} handoff {verb}", self.program);
        if let Some(folder) = &self.save_dir {
            let folder = folder.display().to_string();
            let quoted = shlex::try_quote(&folder).unwrap_or_else(|_| "DIR".into());
            command.push_str(&format!(" --save-dir {quoted}"));
        }
        if mock {
            command.push_str(" --mock");
        }
        command
    }

    /// The command that a round needs next.
    pub(crate) fn next(&self, awaits: Awaits) -> String {
        match awaits {
            Awaits::Sweep | Awaits::NextSweep => self.nominate(),
            Awaits::Judgments => self.command("judge") + " FILE",
            Awaits::Report => self.command("report") + " FILE",
            Awaits::Angles | Awaits::Nothing => self.command("finalize") + " --angles FILE",
        }
    }

    fn nominate(&self) -> String {
        self.command("nominate")
    }
}

/// What to do about a refused leg.
pub(super) fn remedy(error: &HandoffError, call: &LegCall) -> String {
    let store = call.store.display();
    match error {
        HandoffError::Missing { .. } => match call.awaits {
            None => format!(
                "{store} was asked and no other; if the round is elsewhere give its --save-dir, else begin one with a new sweep: {}",
                call.nominate()
            ),
            Some(Awaits::NextSweep) => {
                format!("nothing of the round was solid; when the next sweep is due: {}", call.nominate())
            }
            Some(awaits) => {
                format!("{store} was asked and no other; what its round needs next: {}", call.next(awaits))
            }
        },
        HandoffError::FromTheFuture { record: Record::Bundle, .. } => {
            format!("set this machine's clock right, or begin again with a new sweep: {}", call.nominate())
        }
        HandoffError::Stale { record: Record::Bundle, .. }
        | HandoffError::Expired { record: Record::Bundle, .. }
        | HandoffError::Version { record: Record::Bundle } => {
            format!("begin again with a new sweep: {}", call.nominate())
        }
        HandoffError::Corrupt { record: Record::Bundle, .. } => {
            format!(
                "begin again with a new sweep: {} (legbook doctor --full shows what was changed)",
                call.nominate()
            )
        }
        HandoffError::Stale { .. }
        | HandoffError::Expired { .. }
        | HandoffError::FromTheFuture { .. }
        | HandoffError::Version { .. } => format!(
            "run {} and {} again, or begin with {} if the bundle is stale too",
            call.command("judge"),
            call.command("report"),
            call.nominate()
        ),
        HandoffError::Corrupt { .. } => format!(
            "run {} and {} again, or begin with {} if the bundle is stale too (legbook doctor --full shows what was changed)",
            call.command("judge"),
            call.command("report"),
            call.nominate()
        ),
        HandoffError::MockParity { stored: true, .. } => format!(
            "give --mock to this call, or begin a real round with a new sweep: {}",
            call.typed("nominate", false)
        ),
        HandoffError::MockParity { stored: false, .. } => format!(
            "leave --mock out of this call, or begin a mock round with a new sweep: {}",
            call.typed("nominate", true)
        ),
        HandoffError::MockNeedsSaveDir => "give --save-dir DIR to every leg of the mock round".into(),
        HandoffError::Pool { .. } => {
            format!(
                "nothing was changed; correct this in the engine and give the pool again: {}",
                call.nominate()
            )
        }
        HandoffError::File { file, fault } => file_remedy(*file, fault, call),
        HandoffError::Mismatch { file, found, superseded, current, .. } => {
            let old_round = found.as_ref().filter(|_| *superseded).map_or_else(String::new, |found| {
                format!("round {found} was superseded, and its ids n1, n2 mean other topics now: ")
            });
            let first = match file {
                _ if old_round.is_empty() => String::new(),
                HandoffFile::Report => {
                    let [judge, report] = ["judge", "report"].map(|verb| call.command(verb));
                    return format!(
                        "nothing was changed; {old_round}make the report again: {judge} FILE, then {report} FILE"
                    );
                }
                HandoffFile::Angles => {
                    format!("first write angles for the topics of {}, then ", call.command("finalize"))
                }
                _ => format!("first judge by {} {current}, then ", call.command("show")),
            };
            format!(
                "nothing was changed; {old_round}{first}correct the bundle_id field in your {file} file to \"{current}\" and run this same command again"
            )
        }
        HandoffError::NotCurrent { current, .. } => {
            format!("nothing was changed; run this same command again with --nothing-solid {current}")
        }
        HandoffError::Superseded { by: Some(current), .. } => format!(
            "work on the current round {current}: {} FILE, then {} FILE",
            call.command("judge"),
            call.command("report")
        ),
        HandoffError::Superseded { by: None, .. } => {
            format!("that sweep found nothing solid; begin again with a new one: {}", call.nominate())
        }
        HandoffError::PendingSuperseded { .. } => {
            format!("{} tells what the current round awaits", call.command("status"))
        }
        HandoffError::OldJudgments { .. } => format!(
            "nothing was changed; make the report again from the answer of the latest {}, and give it with that answer's number in \"judgments\"",
            call.command("judge")
        ),
        HandoffError::Unjudged { .. } => format!("judge the round first: {} FILE", call.command("judge")),
        HandoffError::Domain => "nothing was changed; leave --domain out, or give the pool's own".into(),
        HandoffError::DomainText => "nothing was changed; type the domain again in plain characters".into(),
        HandoffError::UnknownBundle => format!("{} names the current round", call.command("status")),
        HandoffError::KnownBundle { bundle_id } => {
            format!("nothing was changed; look at it: {} {bundle_id}", call.command("show"))
        }
        HandoffError::UnknownTopic => format!("{} lists the topics", call.command("queue")),
        HandoffError::NotStored { .. } | HandoffError::NotRead { .. } => format!(
            "nothing was changed; free space on the file system of {store}, or make it writable, then give the same input again"
        ),
        _ => format!("{} tells what the current round awaits", call.command("status")),
    }
}

fn file_remedy(file: HandoffFile, fault: &FileFault, call: &LegCall) -> String {
    let mend = match fault {
        FileFault::Unreadable { .. } => "check its path".to_owned(),
        FileFault::Json(_) => "make it one JSON object in UTF-8 with each key once".to_owned(),
        FileFault::EmptyList { key, ids } => {
            format!("give \"{key}\" a row for each topic that you mean; the ids of this round: {ids}")
        }
        FileFault::NoUsableRow { key, ids, .. } => {
            let hook = if file == HandoffFile::Angles { ", and a podcast or an x_article" } else { "" };
            format!("give each row of \"{key}\" an \"id\" of this round ({ids}){hook}")
        }
        FileFault::IsPool => {
            return format!("nothing was changed; store a pool with {} < FILE", call.nominate());
        }
        FileFault::Members(faults)
            if faults.first().iter().any(|(_, rule)| rule.contains("--nothing-solid")) =>
        {
            return "nothing was changed; give the angle inputs, or run report --nothing-solid BUNDLE_ID"
                .into();
        }
        _ => match file {
            HandoffFile::Pool | HandoffFile::Report => "correct this in the engine".to_owned(),
            _ => "correct this in the file".to_owned(),
        },
    };
    let again = if file == HandoffFile::Angles { ", or without --angles" } else { "" };
    format!("nothing was changed; {mend} and run this same command again{again}")
}
