//! A file, or stdin: what a command is given to read.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::str::FromStr;

use legbook::Error;

use super::exit::Failure;

/// The most that is read: twice what any bound of a store can be, so that white space is no matter. An endless input
/// must not fill the memory.
const LIMIT: u64 = 1 << 30;

/// Where a command reads from.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    Stdin,
    File(PathBuf),
}

impl FromStr for Input {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "-" { Self::Stdin } else { Self::File(PathBuf::from(text)) })
    }
}

impl Input {
    /// All of it.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Stdin => read_all(io::stdin().lock()).map_err(Failure::Input),
            Self::File(path) => Ok(File::open(path).and_then(read_all).map_err(Error::io("read", path))?),
        }
    }
}

fn read_all(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 GiB"));
    }
    Ok(bytes)
}
