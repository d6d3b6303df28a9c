//! A command line that can't be understood: what the parser says of it, and what to type instead.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::render;

/// How the parser ends most of what it says; the `help:` line says it better.
const TRY_HELP: &str = "For more information, try '--help'.";

/// The words of the command that was meant (`runs`, `start`), also where the rest of the line can't be understood.
pub(crate) fn command_words(grammar: Command, arguments: Vec<OsString>) -> Vec<String> {
    let mut words = Vec::new();
    let Ok(matches) = grammar.ignore_errors(true).try_get_matches_from(arguments) else { return words };
    let mut at = matches.subcommand();
    while let Some((name, matches)) = at {
        words.push(name.to_owned());
        at = matches.subcommand();
    }
    words
}

/// Prints what the parser says; an error with a line `help: …` as every error has one.
pub(crate) fn tell(error: &Error, grammar: &Command, words: &[String]) {
    // Nobody is left to be told where the stream is gone.
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return;
    }
    let elsewhere = elsewhere(error, grammar, words);
    let mut text = error.render().to_string();
    if !elsewhere.is_empty() {
        // The parser's own guess is by spelling alone.
        text =
            text.lines().filter(|line| !line.starts_with("  tip:")).map(|line| format!("{line}\n")).collect();
    }
    let text = text.trim_end().trim_end_matches(TRY_HELP).trim_end().replace("\n\n\n", "\n\n");
    let help = if elsewhere.is_empty() {
        let command = [&["legbook".to_owned()], words].concat().join(" ");
        format!("`{command} --help` tells what it takes")
    } else {
        format!("did you mean `{}`?", elsewhere.join("` or `"))
    };
    render::misunderstood(&text, &help);
}

/// The commands of other groups that have the name of a top-level command that is none: `legbook start` is `legbook
/// runs start`.
fn elsewhere(error: &Error, grammar: &Command, words: &[String]) -> Vec<String> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return Vec::new();
    };
    if !words.is_empty() {
        return Vec::new();
    }
    let groups = grammar.get_subcommands().filter(|group| group.find_subcommand(name).is_some());
    groups.map(|group| format!("legbook {} {name}", group.get_name())).collect()
}
