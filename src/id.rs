//! Identifiers as types, so that a text is checked once, where it comes in.
//!
//! An id is checked when it is parsed from a command line or a file and again when it is read from the store, which
//! another program may have written.

use std::fmt;

use crate::error::IdError;

/// The longest run id, in characters.
pub const MAX_RUN_ID: usize = 128;

/// A run's name: 1 to 128 of `[A-Za-z0-9._-]`, not `.`, `..` or `latest`, no `-` in front (contract store.md, Commands).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Checks `text` and keeps it.
    ///
    /// # Errors
    /// [`IdError::RunId`] with the rule that `text` breaks.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let rule = if text.is_empty() {
            Some("it is empty")
        } else if text.len() > MAX_RUN_ID {
            Some("it is longer than 128 characters")
        } else if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) {
            Some("only letters, digits, '.', '_' and '-' are allowed")
        } else if text.starts_with('-') {
            Some("it starts with '-'")
        } else if matches!(text, "." | ".." | "latest") {
            Some("that name is reserved")
        } else {
            None
        };
        match rule {
            Some(rule) => Err(IdError::RunId { text: text.to_owned(), rule }),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
