//! `legbook db`: the store as a file, and its bounds.

use clap::Subcommand;
use legbook::db::SCHEMA_VERSION;
use legbook::json::Value;
use legbook::settings::{self, Setting};

use super::context::Context;
use super::exit::{Exit, Failure};
use super::render::{Fields, object, path_value, table};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show where the store is, its schema version and its bounds
    Info,
    /// Print the path of the store's file, also where it is not made yet
    Path,
    /// Make this file the store in the place where it is
    #[command(after_help = "\
A store knows its home. While the store is at its home, a file elsewhere with the same id is a copy: it can be read and \
checked, and every write is refused. A store that was moved is adopted by its next write.

With --fork a copy becomes a store of its own: it gets a new id, and its runs get directories beside it. The original is \
not changed.")]
    Adopt {
        /// Make a copy a store of its own, with a new id
        #[arg(long)]
        fork: bool,
    },
    /// Move a bound of the store
    #[command(after_help = "\
The bounds: max-journal-events, max-journal-bytes, max-checkpoint-bytes, max-artifact-bytes, \
max-silence-seconds.
A bound is never set below what the store holds already.

Example:
  legbook db set max-journal-events 4096")]
    Set {
        /// The bound's name
        key: String,
        /// Its new value: a number of events, bytes or seconds
        #[arg(allow_negative_numbers = true)]
        value: i64,
    },
}

pub(crate) fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Info => info(context)?,
        Command::Path => path(context)?,
        Command::Adopt { fork } => adopt(context, fork)?,
        Command::Set { key, value } => set(context, &key, value)?,
    }
    Ok(Exit::DONE)
}

fn info(context: &Context) -> Result<(), Failure> {
    let store = context.open()?;
    let settings = settings::list(&store)?;
    let rows = settings.iter().map(|setting| {
        let Setting { key, value, lowest, highest, meaning } = setting;
        vec![key.clone(), value.to_string(), format!("{lowest} to {highest}"), meaning.clone()]
    });
    let mut fields = Fields::new(context.render);
    fields.add("store", &store.path().display().to_string()).add("schema", &SCHEMA_VERSION.to_string());
    let bounds = table(context.render, &["SETTING", "VALUE", "ALLOWED", "MEANING"], rows);
    let members = settings.iter().map(|setting| (setting.key.as_str().into(), setting.value.into()));
    let answer = object([
        ("path", path_value(Some(store.path()))),
        ("schema_version", SCHEMA_VERSION.into()),
        ("settings", Value::Object(members.collect())),
    ]);
    context.render.answer(&answer, &format!("{}\n{bounds}", fields.text()))
}

fn path(context: &Context) -> Result<(), Failure> {
    let location = context.location()?;
    let answer = object([("path", path_value(Some(&location.path))), ("exists", location.exists.into())]);
    context.render.answer(&answer, &location.path.display().to_string())
}

fn adopt(context: &Context, fork: bool) -> Result<(), Failure> {
    let store = context.open()?;
    let adopted = store.adopt(fork)?;
    let home = store.path().display();
    let text = match (&adopted.new_store_id, &adopted.moved_from) {
        (Some(id), _) => format!("{home} is a store of its own now, with the id {id}"),
        (None, Some(from)) => format!("the store was moved from {}; its home is {home} now", from.display()),
        (None, None) => format!("the home of the store is {home}"),
    };
    let answer = object([
        ("path", path_value(Some(store.path()))),
        ("moved_from", path_value(adopted.moved_from.as_deref())),
        ("new_store_id", adopted.new_store_id.map_or(Value::Null, Value::from)),
    ]);
    context.render.done(&answer, &text)
}

fn set(context: &Context, key: &str, value: i64) -> Result<(), Failure> {
    let before = settings::set(&context.open_or_make()?, key, value)?;
    let answer = object([
        ("key", before.key.as_str().into()),
        ("value", value.into()),
        ("previous", before.value.into()),
    ]);
    context.render.done(&answer, &format!("{}: {value} (was {})", before.key, before.value))
}
