//! What every command is given: how it was called, where its store is, how it answers.
//!
//! Stores are opened here. Only a command that makes runs, rounds or settings makes a store; every other one leaves
//! an absent store absent (contract store.md, One file).

use std::path::{Path, PathBuf};

use legbook::db::{Location, Store, StoreOptions, git_root, locate};
use legbook::error::{Error, StoreError};

use super::exit::{self, Failure};
use super::render::{self, Render};

/// How this call was made.
#[derive(Debug)]
pub(crate) struct Context {
    /// `--store`, or LEGBOOK_STORE.
    named: Option<PathBuf>,
    cwd: PathBuf,
    program: String,
    /// Where answers go.
    pub(crate) render: Render,
}

impl Context {
    /// Takes `--store` as it was given.
    pub(crate) fn new(store: Option<PathBuf>, render: Render, program: String) -> Result<Self, Failure> {
        let cwd = std::env::current_dir().map_err(Error::io("find the current directory", "."))?;
        Ok(Self { named: store, cwd, program, render })
    }

    /// How another command for the same store begins: `legbook`, or `legbook --store FILE`.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// Tells a failure that does not end this command.
    pub(crate) fn report(&self, failure: &Failure) {
        render::failure(&failure.to_string(), &exit::remedy(failure, &self.program));
    }

    /// The current directory, absolute.
    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Where the store is or would be made; the path is absolute.
    pub(crate) fn location(&self) -> Result<Location, Failure> {
        match &self.named {
            Some(path) => {
                let path = self.cwd.join(path);
                let exists = path.symlink_metadata().is_ok();
                Ok(Location { path, exists })
            }
            None => Ok(locate(&self.cwd)?),
        }
    }

    /// Whether the store was named, by `--store` or LEGBOOK_STORE.
    pub(crate) fn names_store(&self) -> bool {
        self.named.is_some()
    }

    /// Opens the store, making it where there is none.
    pub(crate) fn open_or_make(&self) -> Result<Store, Failure> {
        let location = self.location()?;
        self.note_outside(&location);
        self.settled(Store::open(location.path, StoreOptions::default())?)
    }

    /// Opens the store for a write; an absent one is refused.
    pub(crate) fn open_to_write(&self) -> Result<Store, Failure> {
        let location = self.location()?;
        self.note_outside(&location);
        self.settled(Store::open_existing(location.path, StoreOptions::default())?)
    }

    /// The store, if it is no copy of another one; tells of a store that was moved.
    pub(crate) fn settled(&self, store: Store) -> Result<Store, Failure> {
        if let Some(from) = store.settle()? {
            self.render.say(&format!(
                "note: the store was moved here from {}; its home is {} now",
                from.display(),
                store.path().display()
            ));
        }
        Ok(store)
    }

    /// Tells a writer that its store was found above its git root, also with `--quiet`: what it writes goes there.
    fn note_outside(&self, location: &Location) {
        let outside = |root: &&Path| !location.path.starts_with(root);
        if let Some(root) = git_root(&self.cwd).filter(outside).filter(|_| self.named.is_none()) {
            self.render.say(&format!(
                "note: the store is {}, outside the git repository {}; --store or LEGBOOK_STORE names another",
                location.path.display(),
                root.display()
            ));
        }
    }

    /// Opens the store; an absent one is refused.
    pub(crate) fn open(&self) -> Result<Store, Failure> {
        Ok(Store::open_existing(self.location()?.path, StoreOptions::default())?)
    }

    /// Opens the store for a list, which is empty where there is none.
    pub(crate) fn open_if_there(&self) -> Result<Option<Store>, Failure> {
        match self.open() {
            Ok(store) => Ok(Some(store)),
            Err(Failure::Library(Error::Store(StoreError::Absent { .. }))) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// How a command for this very store is typed: with `--store` where that was given, and not by LEGBOOK_STORE.
pub(crate) fn program(store: Option<&Path>) -> String {
    let environment = std::env::var_os("LEGBOOK_STORE");
    match store.and_then(Path::to_str) {
        Some(path) if environment.as_deref() != Some(path.as_ref()) => {
            let quoted = shlex::try_quote(path).unwrap_or_else(|_| "FILE".into());
            format!("legbook --store {quoted}")
        }
        _ => "legbook".to_owned(),
    }
}
