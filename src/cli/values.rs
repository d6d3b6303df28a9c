//! The values that options take, checked where they are parsed.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{StringValueParser, TypedValueParser};

/// A path. Paths are stored and printed as text, so only UTF-8 is taken. An empty one is refused: it is mostly a variable
/// that is not set, and as a folder it would mean the current one.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    StringValueParser::new().try_map(|text| match text.is_empty() {
        true => Err("the path is empty; leave the option out, or unset its variable"),
        false => Ok(PathBuf::from(text)),
    })
}

/// A time: seconds, with or without a fraction, or a duration with its units.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text)
            .map_err(|_| "give seconds, or a duration like 90s, 30m, 2h".to_owned()),
    }
}

/// A time above zero.
pub(crate) fn positive_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("it is not above zero".to_owned()),
        duration => Ok(duration),
    }
}

/// A duration with its units. A number alone is none: two seconds and two hours are too far apart to be guessed.
pub(crate) fn lease(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "give a duration with its unit, like 90s, 30m, 2h".to_owned())
}

/// Which event of a journal is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sequence {
    /// The one with this sequence.
    Number(i64),
    /// The last one.
    Last,
}

impl FromStr for Sequence {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "last" | "latest" => Ok(Self::Last),
            number => number.parse().map(Self::Number).map_err(|_| "give a sequence, or `last`".to_owned()),
        }
    }
}
