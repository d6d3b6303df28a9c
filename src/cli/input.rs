//! A file, or stdin: what a command is given to read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::builder::{TypedValueParser, ValueParserFactory};
use clap::error::ErrorKind;
use clap::{Arg, Command};
use legbook::Error;

use super::exit::Failure;

/// Where a command reads from.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    Stdin,
    File(PathBuf),
}

/// Where clap takes an [`Input`] from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputParser;

impl ValueParserFactory for Input {
    type Parser = InputParser;

    fn value_parser() -> Self::Parser {
        InputParser
    }
}

/// `-` is stdin. An empty path is refused: it is mostly a variable that is not set. JSON itself is refused, and not printed: it may be long, or nobody's business.
impl TypedValueParser for InputParser {
    type Value = Input;

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let text = value.to_string_lossy();
        if text == "-" {
            return Ok(Input::Stdin);
        }
        if text.is_empty() {
            let message = "the path of a file is empty; leave it out to read stdin, or set its variable\n";
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message).with_cmd(command));
        }
        if text.trim_start().starts_with(['{', '[']) {
            let message =
                "JSON is not taken from the command line: give it on stdin, or name a file that holds it\n";
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message).with_cmd(command));
        }
        Ok(Input::File(PathBuf::from(value)))
    }
}

impl Input {
    /// All of it, if it has `most` bytes at most. Reading stops there: an endless input must not fill the memory.
    pub(crate) fn read(&self, most: u64) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let mut read = |source: &mut dyn Read| source.take(most.saturating_add(1)).read_to_end(&mut bytes);
        match self {
            Self::Stdin => read(&mut io::stdin().lock()).map_err(Failure::Input)?,
            Self::File(path) => {
                File::open(path).and_then(|mut file| read(&mut file)).map_err(Error::io("read", path))?
            }
        };
        if bytes.len() as u64 > most {
            return Err(Failure::InputTooLarge { origin: self.origin().to_path_buf(), most });
        }
        Ok(bytes)
    }

    /// Opens it for a reader that has a bound of its own.
    pub(crate) fn open(&self) -> Result<Box<dyn Read>, Failure> {
        match self {
            Self::Stdin => Ok(Box::new(io::stdin().lock())),
            Self::File(path) => Ok(Box::new(File::open(path).map_err(Error::io("read", path))?)),
        }
    }

    /// What an error calls it.
    pub(crate) fn origin(&self) -> &Path {
        match self {
            Self::Stdin => Path::new("the standard input"),
            Self::File(path) => path,
        }
    }
}
