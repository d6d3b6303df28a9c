//! The values that options take, checked where they are parsed.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{StringValueParser, TypedValueParser};

/// A path. Paths are stored and printed as text, so only UTF-8 is taken.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    StringValueParser::new().map(PathBuf::from)
}

/// A number of seconds, with or without a fraction.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "it is not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// A number of seconds above zero.
pub(crate) fn positive_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("it is not above zero".to_owned()),
        duration => Ok(duration),
    }
}
