//! The owner token: what whoever took a lock shows for each write.
//!
//! legbook makes it, or the caller brings its own. It is handed out once, and never stored: the row keeps its SHA-256, and a token that comes
//! back is compared by that. So a copy of the store, a log or a dump of a structure lets nobody write.

use std::fmt;

use crate::clock::{self, Clock};
use crate::digest::Digest;
use crate::error::{Error, LockError, Result};

/// How many random bytes a token is made of; it is written as twice as many hex characters.
const RANDOM_BYTES: usize = 32;

/// The token of one lock (contract recovery.md, The run lock). It has no `Display`, and `Debug` does not show it.
#[derive(Clone)]
pub struct OwnerToken(String);

impl OwnerToken {
    /// A new token that nobody can guess.
    ///
    /// # Errors
    /// [`Error::Io`] if the system gives no random bytes.
    pub fn mint(clock: &dyn Clock) -> Result<Self> {
        clock::random_hex(clock, RANDOM_BYTES)
            .map(Self)
            .map_err(Error::io("get random bytes from", "the system"))
    }

    /// Reads a token that a caller shows: 64 lower-case hex characters.
    ///
    /// # Errors
    /// [`LockError::MalformedToken`], which does not repeat `text`.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        // A digest has the same form.
        Digest::parse(text).map(|_| Self(text.to_owned())).ok_or(LockError::MalformedToken)
    }

    /// The token itself: for handing it to its owner, once, and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What the store keeps of it: the SHA-256 of its 64 characters.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for OwnerToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OwnerToken(hidden)")
    }
}
