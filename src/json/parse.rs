//! From tokens to a value, as Python's `json.loads` builds it.
//!
//! No grammar here (`token.rs`), no files. The containers that are still open stand in a vector, not on the
//! thread's stack.

use super::number;
use super::token::{Container, Token, Tokens};
use super::value::{Integer, Object, Text, Value};
use crate::error::{JsonError, JsonFault};

/// Reads any JSON value, as Python does (contract run-json.md, reading).
///
/// Takes UTF-8 bytes; white space around the value is fine. A repeated key keeps its first place and its last
/// value.
///
/// # Errors
/// A [`JsonError`] with the byte offset of the fault: what is not UTF-8, starts with a byte order mark,
/// breaks the grammar, has an integer of more than 4,300 digits, or nests deeper than 900 levels.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    build(Tokens::of_bytes(bytes)?, RepeatedKey::LastWins)
}

/// Reads a JSON object: a snapshot must be one (contract run-json.md, reading).
///
/// # Errors
/// As [`parse`]; [`JsonFault::NotAnObject`] for any other value.
pub fn parse_object(bytes: &[u8]) -> Result<Object, JsonError> {
    match parse(bytes)? {
        Value::Object(members) => Ok(members),
        _ => {
            let white_space = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            Err(JsonFault::NotAnObject.at(white_space))
        }
    }
}

/// The text that the object in `bytes` has under `key`; `None` where it has none, or something else than a text. All of it
/// is read and checked as by [`parse_object`], and nothing is built but this.
///
/// # Errors
/// As [`parse_object`].
pub fn text_under(bytes: &[u8], key: &str) -> Result<Option<Text>, JsonError> {
    let mut tokens = Tokens::of_bytes(bytes)?;
    let Some(Token::Open(Container::Object)) = tokens.next()? else {
        return parse_object(bytes).map(|_| None);
    };
    let mut found = None;
    let mut depth = 1_usize;
    // Whether the value of the key comes next.
    let mut at_key = false;
    while let Some(token) = tokens.next()? {
        match token {
            Token::Key(name) if depth == 1 => {
                at_key = name.text_bytes() == key.as_bytes();
                continue;
            }
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth -= 1,
            _ => {}
        }
        if at_key {
            // Of a repeated key the last value counts.
            found = if let Token::String(text) = token { Some(text.into_text()) } else { None };
            at_key = false;
        }
    }
    Ok(found)
}

/// Reads a JSON value in which no object, at any depth, has a key twice: a file that the host wrote (contract
/// handoff.md, reading). Keys are compared after their escapes are resolved.
///
/// # Errors
/// As [`parse`]; [`JsonFault::DuplicateKey`] at the second of two equal keys.
pub fn parse_unique(bytes: &[u8]) -> Result<Value, JsonError> {
    build(Tokens::of_bytes(bytes)?, RepeatedKey::Refused)
}

/// What becomes of a key that its object already has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RepeatedKey {
    LastWins,
    Refused,
}

/// A container whose end has not been read yet.
enum Unfinished {
    Array(Vec<Value>),
    Object { members: Object, key: Text },
}

/// Reads the one value that the tokens make up.
pub(super) fn build(mut tokens: Tokens<'_>, repeated: RepeatedKey) -> Result<Value, JsonError> {
    let mut unfinished: Vec<Unfinished> = Vec::new();
    let mut whole = None;
    while let Some(token) = tokens.next()? {
        let value = match token {
            Token::Open(Container::Array) => {
                unfinished.push(Unfinished::Array(Vec::new()));
                continue;
            }
            Token::Open(Container::Object) => {
                unfinished.push(Unfinished::Object { members: Object::new(), key: Text::default() });
                continue;
            }
            Token::Key(quoted) => {
                if let Some(Unfinished::Object { members, key }) = unfinished.last_mut() {
                    *key = quoted.into_text();
                    if repeated == RepeatedKey::Refused && members.contains_key(key) {
                        return Err(JsonFault::DuplicateKey.at(tokens.offset()));
                    }
                }
                continue;
            }
            Token::Close(_) => match unfinished.pop() {
                Some(Unfinished::Array(items)) => Value::Array(items),
                Some(Unfinished::Object { members, .. }) => Value::Object(members),
                None => continue,
            },
            Token::String(quoted) => Value::String(quoted.into_text()),
            Token::Integer(source) => Value::Integer(Integer::from_digits(source)),
            Token::Double(source) => Value::Double(number::read_double(source)),
            Token::Bool(value) => Value::Bool(value),
            Token::Null => Value::Null,
        };
        match unfinished.last_mut() {
            Some(Unfinished::Array(items)) => items.push(value),
            Some(Unfinished::Object { members, key }) => {
                members.insert(std::mem::take(key), value);
            }
            None => whole = Some(value),
        }
    }
    whole.ok_or(JsonFault::UnexpectedEnd.at(tokens.offset()))
}
