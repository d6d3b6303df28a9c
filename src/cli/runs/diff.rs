//! `legbook runs diff`: what changed between two snapshots, key by key.

use clap::Args;
use legbook::json::{self, Object, Value};
use legbook::run;

use super::{resolve, sequence};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::object;
use crate::cli::values::Sequence;

/// Show what changed between run.json at event A and at event B
#[derive(Debug, Args)]
#[command(
    override_usage = "legbook runs diff [OPTIONS] [RUN] A B",
    after_help = "\
Keys are JSON Pointers. A list is compared item by item.

Example:
  legbook runs diff latest 1 last"
)]
pub(crate) struct Arguments {
    /// The run [default: LEGBOOK_RUN], then the sequences of two events, each a number or `last`
    #[arg(value_name = "RUN A B", num_args = 2..=3, required = true)]
    words: Vec<String>,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let (run, a, b) = match arguments.words.as_slice() {
        [run, a, b] => (Some(run.as_str()), a, b),
        [a, b] => (None, a, b),
        // The command line does not let this through.
        _ => return Err(Failure::NoRun),
    };
    let event =
        |word: &str| word.parse::<Sequence>().map_err(|rule| Failure::Usage(format!("{word:.40?}: {rule}")));
    let (a, b) = (event(a)?, event(b)?);
    let run_id = resolve(context, &store, run)?;
    let snapshot = |sequence| -> Result<Value, legbook::Error> {
        Ok(Value::Object(json::parse_object(&run::at(&store, &run_id, sequence)?)?))
    };
    let mut changes = Vec::new();
    let a = sequence(&store, &run_id, a)?;
    let b = sequence(&store, &run_id, b)?;
    compare("", Some(&snapshot(a)?), Some(&snapshot(b)?), &mut changes);
    let answer = object([
        ("run_id", run_id.as_str().into()),
        ("a", a.into()),
        ("b", b.into()),
        ("changes", Value::Array(changes.iter().map(Change::object).collect())),
    ]);
    let text: String = changes.iter().map(Change::line).collect();
    context.render.answer(&answer, &text)?;
    Ok(Exit::DONE)
}

/// One value that is not the same in both.
struct Change {
    /// Where, as JSON writes it within quotes: a key may hold lone surrogates, which no `str` can.
    pointer: String,
    before: Option<Value>,
    after: Option<Value>,
}

impl Change {
    /// A key that is missing on one side is missing here too: null is a value.
    fn object(&self) -> Value {
        let mut members = match object([("pointer", self.pointer())]) {
            Value::Object(members) => members,
            _ => Object::default(),
        };
        for (key, value) in [("before", &self.before), ("after", &self.after)] {
            members.extend(value.clone().map(|value| (key.into(), value)));
        }
        Value::Object(members)
    }

    fn pointer(&self) -> Value {
        // What was written as JSON is read back as it was.
        json::parse(format!("\"{}\"", self.pointer).as_bytes()).unwrap_or(Value::Null)
    }

    fn line(&self) -> String {
        // One line of ASCII, so nothing in it drives a terminal.
        let pointer = &self.pointer;
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                format!("~ {pointer}: {} -> {}\n", json::line(before), json::line(after))
            }
            (None, Some(after)) => format!("+ {pointer}: {}\n", json::line(after)),
            (before, None) => {
                format!("- {pointer}: {}\n", before.as_ref().map(json::line).unwrap_or_default())
            }
        }
    }
}

/// Adds what differs below `pointer`. The depth of a snapshot is bounded by the reader.
fn compare(pointer: &str, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<Change>) {
    match (before, after) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let added = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(added) {
                let written = json::line(&Value::String(key.clone()));
                let step = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                let step = step.unwrap_or(&written).replace('~', "~0").replace('/', "~1");
                compare(&format!("{pointer}/{step}"), a.get(key), b.get(key), changes);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                compare(&format!("{pointer}/{index}"), a.get(index), b.get(index), changes);
            }
        }
        // By spelling: `NaN` does not equal itself, and `-0.0` equals `0.0`.
        (before, after) if before.map(json::line) == after.map(json::line) => {}
        (before, after) => changes.push(Change {
            pointer: pointer.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}
