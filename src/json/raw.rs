//! JSON kept as its own tokens: for a value that must come back as it was spelled (contract handoff.md, the
//! pool).
//!
//! The spelling of numbers and escapes, the order of keys and repeated keys are kept; white space between
//! tokens is not. The grammar is the tokenizer's (`token.rs`), the white space of the outputs the layout's
//! (`layout.rs`).

use super::layout::{Layout, Spacing};
use super::parse::{self, RepeatedKey};
use super::token::{Container, Token, Tokens};
use super::value::{Text, Value};
use super::write;
use crate::error::JsonError;

/// Reads any JSON value and keeps its tokens.
///
/// # Errors
/// As [`super::parse()`]: the same grammar, the same bounds.
pub fn parse(bytes: &[u8]) -> Result<Raw, JsonError> {
    spaced(Tokens::of_bytes(bytes)?, Spacing::None).map(Raw)
}

/// A JSON value as its tokens, without white space between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw(String);

impl Raw {
    /// An object of these members, in this order.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Raw)>) -> Self {
        let mut layout = Layout::new(Spacing::None);
        layout.open(Container::Object);
        for (key, value) in members {
            layout.key().push_str(&write::compact(&Value::from(key)));
            layout.colon();
            layout.value().push_str(&value.0);
        }
        layout.close(Container::Object);
        Self(layout.into_text())
    }

    /// An array of these items, in this order.
    pub fn array(items: impl IntoIterator<Item = Raw>) -> Self {
        let mut layout = Layout::new(Spacing::None);
        layout.open(Container::Array);
        for item in items {
            layout.value().push_str(&item.0);
        }
        layout.close(Container::Array);
        Self(layout.into_text())
    }

    /// The whole value, to be looked into.
    pub fn value(&self) -> RawValue<'_> {
        RawValue(&self.0)
    }

    /// The tokens: JSON text without white space between them.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// The tokens that [`super::line`] writes, without white space.
impl From<&Value> for Raw {
    fn from(value: &Value) -> Self {
        Self(write::compact(value))
    }
}

/// A value inside a [`Raw`], or the whole of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawValue<'a>(&'a str);

impl<'a> RawValue<'a> {
    /// The tokens: JSON text without white space between them.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// A copy of its own.
    pub fn to_raw(self) -> Raw {
        Raw(self.0.to_owned())
    }

    /// The members in their order, repeated keys and all; none where this is no object.
    pub fn members(self) -> Option<Members<'a>> {
        self.inside(Container::Object).map(Members)
    }

    /// The items; none where this is no array.
    pub fn items(self) -> Option<Items<'a>> {
        self.inside(Container::Array).map(Items)
    }

    /// The member `key`, the last one of that name; none where there is none or this is no object.
    pub fn get(self, key: &str) -> Option<RawValue<'a>> {
        self.members()?.filter(|(name, _)| name.as_bytes() == key.as_bytes()).last().map(|(_, value)| value)
    }

    /// The value as Python reads it: a repeated key's last value wins.
    ///
    /// # Errors
    /// [`crate::error::JsonFault::TooDeep`] for a value that was put together deeper than 900 levels; none
    /// for one that was read.
    pub fn to_value(self) -> Result<Value, JsonError> {
        parse::build(Tokens::of_bytes(self.0.as_bytes())?, RepeatedKey::LastWins)
    }

    /// The tokens on one line with `, ` and `: ` between them, as [`super::line`] sets them.
    pub fn line(self) -> String {
        self.spaced(Spacing::Line)
    }

    /// The tokens indented by two, as [`super::indented`] sets them.
    pub fn indented(self) -> String {
        self.spaced(Spacing::Indented)
    }

    fn inside(self, wanted: Container) -> Option<Tokens<'a>> {
        let mut tokens = Tokens::of_checked(self.0);
        match tokens.next() {
            Ok(Some(Token::Open(container))) if container == wanted => Some(tokens),
            _ => None,
        }
    }

    fn spaced(self, spacing: Spacing) -> String {
        // The text was checked when it was read; should it be refused all the same, it is better given as it
        // is than not.
        spaced(Tokens::of_checked(self.0), spacing).unwrap_or_else(|_| self.0.to_owned())
    }
}

/// The members of an object, in order.
#[derive(Debug)]
pub struct Members<'a>(Tokens<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Text, RawValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let Ok(Some(Token::Key(key))) = self.0.next() else { return None };
        let value = self.0.next_value().ok()??;
        Some((key.into_text(), RawValue(value)))
    }
}

/// The items of an array, in order.
#[derive(Debug)]
pub struct Items<'a>(Tokens<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = RawValue<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_value().ok()?.map(RawValue)
    }
}

/// Writes the tokens again, as they are spelled.
fn spaced(mut tokens: Tokens<'_>, spacing: Spacing) -> Result<String, JsonError> {
    let mut layout = Layout::new(spacing);
    while let Some(token) = tokens.next()? {
        match token {
            Token::Open(container) => layout.open(container),
            Token::Close(container) => layout.close(container),
            Token::Key(key) => {
                layout.key().push_str(key.source);
                layout.colon();
            }
            Token::String(text) => layout.value().push_str(text.source),
            Token::Integer(source) | Token::Double(source) => layout.value().push_str(source),
            Token::Bool(true) => layout.value().push_str("true"),
            Token::Bool(false) => layout.value().push_str("false"),
            Token::Null => layout.value().push_str("null"),
        }
    }
    Ok(layout.into_text())
}
