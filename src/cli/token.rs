//! Where a command finds the token of a run's lock, and `legbook token`, which prints a fresh one.
//!
//! The first of these counts: `--token`, `--token-file`, LEGBOOK_TOKEN. A `runs start` whose token file is missing makes a
//! token and writes the file before it takes the lock: if the start is killed at any moment, the file has the token of the
//! lock, or one that opens nothing yet.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use legbook::Error;
use legbook::clock::{Clock, SystemClock};
use legbook::lock::OwnerToken;

use super::context::Context;
use super::exit::{Exit, Failure};
use super::render::object;
use super::values::path;

/// More than a token and white space around it.
const MOST_BYTES: u64 = 1_024;

/// Where the token is.
#[derive(Debug, Args)]
pub(crate) struct TokenArguments {
    /// The token of the run's lock [env: LEGBOOK_TOKEN]
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<String>,
    /// Read the token from FILE; `runs start` writes FILE, with mode 0600, if it is missing
    #[arg(long, value_name = "FILE", value_parser = path())]
    token_file: Option<PathBuf>,
}

/// The token that a `runs start` brings.
pub(crate) struct Brought {
    pub(crate) token: Option<OwnerToken>,
    /// The file that the token is kept in.
    pub(crate) file: Option<PathBuf>,
    /// Whether this call made the file.
    made: bool,
}

impl TokenArguments {
    /// The token that a writer shows.
    pub(crate) fn shown(&self, context: &Context) -> Result<Option<OwnerToken>, Failure> {
        match &self.token_file {
            Some(file) => read(&context.cwd().join(file)).map(Some),
            None => self.given(),
        }
    }

    /// The token that a start brings, from a file that is made if it is missing.
    pub(crate) fn brought(&self, context: &Context) -> Result<Brought, Failure> {
        let Some(file) = &self.token_file else {
            return Ok(Brought { token: self.given()?, file: None, made: false });
        };
        let file = context.cwd().join(file);
        let made =
            fs::symlink_metadata(&file).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        let token = if made { write(&file, &SystemClock)? } else { read(&file)? };
        Ok(Brought { token: Some(token), file: Some(file), made })
    }

    fn given(&self) -> Result<Option<OwnerToken>, Failure> {
        let token = match &self.token {
            Some(token) => Some(token.clone()),
            // An empty variable counts as none.
            None => std::env::var("LEGBOOK_TOKEN").ok().filter(|token| !token.is_empty()),
        };
        Ok(token.map(|token| OwnerToken::parse(&token)).transpose().map_err(Error::from)?)
    }
}

impl Brought {
    /// Removes the file that this call made: the run was not begun.
    pub(crate) fn discard(&self) {
        if let (true, Some(file)) = (self.made, &self.file) {
            // A token that opens nothing may stay.
            let _ = fs::remove_file(file);
        }
    }
}

fn read(file: &Path) -> Result<OwnerToken, Failure> {
    let mut text = String::new();
    let opened = fs::File::open(file).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    opened.map_err(Error::io("read the token file", file))?;
    Ok(OwnerToken::parse(text.trim()).map_err(Error::from)?)
}

fn write(file: &Path, clock: &dyn Clock) -> Result<OwnerToken, Failure> {
    let token = OwnerToken::mint(clock)?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    made.and_then(|mut file| {
        writeln!(file, "{}", token.expose())?;
        file.sync_all()
    })
    .map_err(Error::io("write the token file", file))?;
    Ok(token)
}

/// `legbook token`.
pub(crate) fn print(context: &Context) -> Result<Exit, Failure> {
    let token = OwnerToken::mint(&SystemClock)?;
    let answer = object([("token", token.expose().into())]);
    context.render.answer(&answer, token.expose())?;
    Ok(Exit::DONE)
}
