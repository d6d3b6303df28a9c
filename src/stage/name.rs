//! Names of stages and pipelines as types: checked once, where they come in, and again when they come from the store.

use std::fmt;

use crate::error::StageError;

/// The longest stage name, in characters: STAGE.json must be a file's name in a legacy directory.
const MAX_STAGE: usize = 250;

/// The longest pipeline name, in characters.
const MAX_PIPELINE: usize = 128;

/// The stage name that would overwrite a legacy directory's bookkeeping.
const RESERVED: &str = "manifest";

/// A stage's or marker's name: `[a-z0-9][a-z0-9_-]*`, whole, at most 250 characters, not `manifest` (contract stages.md).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StageName(String);

impl StageName {
    /// Checks `text` and keeps it.
    ///
    /// # Errors
    /// [`StageError::Name`] with the rule that `text` breaks.
    pub fn parse(text: &str) -> Result<Self, StageError> {
        let first = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let rule = if text.is_empty() {
            Some("it is empty")
        } else if text == RESERVED {
            Some("'manifest' is reserved")
        } else if text.len() > MAX_STAGE {
            Some("it is longer than 250 characters")
        } else if !text.bytes().all(|byte| first(byte) || byte == b'_' || byte == b'-') {
            Some("only a-z, 0-9, '_' and '-' are allowed")
        } else if !text.bytes().next().is_some_and(first) {
            Some("it does not start with a-z or 0-9")
        } else {
            None
        };
        match rule {
            Some(rule) => Err(StageError::Name { name: text.to_owned(), rule }),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StageName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

/// A pipeline's name: 1 to 128 of `[A-Za-z0-9._-]`, no `-` in front.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipelineName(String);

impl PipelineName {
    /// Checks `text` and keeps it.
    ///
    /// # Errors
    /// [`StageError::Pipeline`] with the rule that `text` breaks.
    pub fn parse(text: &str) -> Result<Self, StageError> {
        let rule = if text.is_empty() {
            Some("it is empty")
        } else if text.len() > MAX_PIPELINE {
            Some("it is longer than 128 characters")
        } else if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) {
            Some("only letters, digits, '.', '_' and '-' are allowed")
        } else if text.starts_with('-') {
            Some("it starts with '-'")
        } else {
            None
        };
        match rule {
            Some(rule) => Err(StageError::Pipeline { name: text.to_owned(), rule }),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The pipeline that is meant where none is named (contract stages.md).
impl Default for PipelineName {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl fmt::Display for PipelineName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}
