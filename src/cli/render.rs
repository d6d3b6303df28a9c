//! Answers on stdout, notes on stderr.
//!
//! An answer has two forms: with `--json` one object on one line, in Python's default form; else text for people.
//! What comes from a snapshot or the store is somebody else's text: for people it is printed with its hidden characters
//! escaped, so that it can't drive the terminal. A value goes through [`printable`], and all text once more on its way
//! out, so that a forgotten value is no hole.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use comfy_table::{Table, presets::NOTHING};
use indicatif::{ProgressBar, ProgressStyle};
use legbook::clock;
use legbook::json::{self, Value};
pub(crate) use legbook::text::escaped as printable;
use legbook::text::escaped_lines;

use super::exit::Failure;

/// Where answers go, and in which form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Render {
    json: bool,
    quiet: bool,
    colour: bool,
}

impl Render {
    /// Takes `--json` and `--quiet`; colour is for terminals, unless NO_COLOR says no.
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet, colour: wants_colour(&io::stdout()) }
    }

    /// Whether `--json` was given.
    pub(crate) fn json(self) -> bool {
        self.json
    }

    /// Whether `--quiet` was given.
    pub(crate) fn quiet(self) -> bool {
        self.quiet
    }

    /// Whether an answer that scripts read as JSON is looked at by people: on a terminal, and without `--json`.
    pub(crate) fn for_people(self) -> bool {
        !self.json && io::stdout().is_terminal()
    }

    /// Prints what the command was asked for: the object with `--json`, else the text.
    pub(crate) fn answer(self, object: &Value, text: &str) -> Result<(), Failure> {
        if self.json { self.raw((json::line(object) + "\n").as_bytes()) } else { self.text(text) }
    }

    /// Prints what the command has done: as [`Render::answer`], but `--quiet` leaves the text out.
    pub(crate) fn done(self, object: &Value, text: &str) -> Result<(), Failure> {
        if self.quiet && !self.json { Ok(()) } else { self.answer(object, text) }
    }

    /// Prints bytes as they are. A reader that has gone is no failure: what the command did, it did.
    pub(crate) fn raw(self, bytes: &[u8]) -> Result<(), Failure> {
        self.stream(bytes).map(|_| ())
    }

    /// Prints bytes as they are, and tells whether anybody still reads. For output without an end.
    pub(crate) fn stream(self, bytes: &[u8]) -> Result<bool, Failure> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::Output(error)),
        }
    }

    /// Prints text with one newline behind it; nothing where it is empty.
    pub(crate) fn text(self, text: &str) -> Result<(), Failure> {
        let text = text.trim_end_matches('\n');
        let text = if self.colour { escaped_but_colours(text).into() } else { escaped_lines(text) };
        if text.is_empty() { Ok(()) } else { self.raw(format!("{text}\n").as_bytes()) }
    }

    /// Tells people something beside the answer, on stderr; not with `--quiet`.
    pub(crate) fn note(self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
    }

    /// Tells people something that `--quiet` must not hide, on stderr.
    pub(crate) fn say(self, text: &str) {
        // If stderr is closed, nobody is left to be told.
        let _ = writeln!(io::stderr(), "{}", printable(text));
    }

    /// Warns people of what a command has done all the same, on stderr; not with `--quiet`.
    pub(crate) fn warn(self, text: &str) {
        self.note(&format!("warning: {text}"));
    }

    /// `text` in the colour of how something stands, where stdout shows colours.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if self.colour { paint(tone, text) } else { text.to_owned() }
    }
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Doubtful,
    Bad,
}

/// Prints a failure on stderr: what was refused, then what to do about it.
pub(crate) fn failure(message: &str, remedy: &str) {
    let mut stderr = io::stderr().lock();
    let label = error_label(&stderr);
    // Nobody is left to be told where stderr is gone.
    let _ = writeln!(stderr, "{label} {}\nhelp: {}", printable(message), printable(remedy));
}

/// Prints what the parser says of a command line, which is many lines and begins with `error:`, then what to do.
pub(crate) fn misunderstood(text: &str, remedy: &str) {
    let mut stderr = io::stderr().lock();
    let label = error_label(&stderr);
    let text = text.strip_prefix("error:").unwrap_or(text);
    let text = text.lines().map(printable).collect::<Vec<_>>().join("\n");
    // Nobody is left to be told where stderr is gone.
    let _ = writeln!(stderr, "{label}{text}\n\nhelp: {remedy}");
}

fn error_label(stderr: &impl IsTerminal) -> String {
    if wants_colour(stderr) { paint(Tone::Bad, "error:") } else { "error:".to_owned() }
}

fn wants_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn paint(tone: Tone, text: &str) -> String {
    let style = style(tone);
    format!("{style}{text}{style:#}")
}

fn style(tone: Tone) -> Style {
    let colour = match tone {
        Tone::Good => AnsiColor::Green,
        Tone::Doubtful => AnsiColor::Yellow,
        Tone::Bad => AnsiColor::Red,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}

/// As [`escaped_lines`], but what [`paint`] writes stays.
fn escaped_but_colours(text: &str) -> String {
    const ESCAPE: char = '\u{1b}';
    let styles = [Tone::Good, Tone::Doubtful, Tone::Bad].map(style);
    let own: Vec<String> =
        styles.iter().flat_map(|style| [format!("{style}"), format!("{style:#}")]).collect();
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        safe.push_str(&escaped_lines(before));
        let colour = own.iter().find_map(|own| Some((own, after.strip_prefix(own.strip_prefix(ESCAPE)?)?)));
        rest = match colour {
            Some((colour, rest)) => {
                safe.push_str(colour);
                rest
            }
            None => {
                safe.push_str(&printable("\u{1b}"));
                after
            }
        };
    }
    safe + &escaped_lines(rest)
}

/// A bar on stderr, where that is a terminal and nobody asked for quiet or JSON.
pub(crate) fn progress_bar(render: Render, what: &str) -> ProgressBar {
    if render.quiet() || render.json() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(&format!("{what} {{bar:30}} {{pos}}/{{len}}")) {
        bar.set_style(style);
    }
    bar
}

/// A JSON object with these members in this order.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(json::object(members))
}

/// A JSON value, or null.
pub(crate) fn nullable(value: Option<impl Into<Value>>) -> Value {
    value.map_or(Value::Null, Into::into)
}

/// A path as JSON, or null.
pub(crate) fn path_value(path: Option<&Path>) -> Value {
    nullable(path.map(|path| path.display().to_string()))
}

/// A stored moment for people: `2026-11-30 19:02:11 UTC`. One that can't be read is shown as it is.
pub(crate) fn moment(stored: Option<&str>) -> String {
    let Some(stored) = stored else { return "-".to_owned() };
    match clock::parse_time(stored) {
        Some(moment) => moment.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
        None => stored.to_owned(),
    }
}

/// A size for people: `812 B`, `5.3 KiB`, `16.0 MiB`.
pub(crate) fn bytes(count: u64) -> String {
    const KIB: f64 = 1024.0;
    let size = count as f64;
    if count < 1024 {
        format!("{count} B")
    } else if size < KIB * KIB {
        format!("{:.1} KiB", size / KIB)
    } else {
        format!("{:.1} MiB", size / KIB / KIB)
    }
}

/// Names and values below each other, for people.
#[derive(Debug)]
pub(crate) struct Fields {
    render: Render,
    rows: Vec<(&'static str, String)>,
}

impl Fields {
    pub(crate) fn new(render: Render) -> Self {
        Self { render, rows: Vec::new() }
    }

    /// Adds a value.
    pub(crate) fn add(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.rows.push((name, printable(value).into_owned()));
        self
    }

    /// Adds a value in a colour.
    pub(crate) fn add_painted(&mut self, name: &'static str, value: &str, tone: Tone) -> &mut Self {
        self.rows.push((name, self.render.paint(tone, &printable(value))));
        self
    }

    /// All rows, a line each.
    pub(crate) fn text(&self) -> String {
        let width = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        self.rows.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
    }
}

/// A table with a heading and without frames, for people. `--quiet` leaves the heading out.
pub(crate) fn table(render: Render, heading: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    if !render.quiet() {
        table.set_header(heading);
    }
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell).into_owned()));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}
