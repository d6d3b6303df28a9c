//! From a JSON text to a stage artifact's bytes without the value between (contract run-json.md, last but one paragraph).
//!
//! The bytes are those of `artifact_bytes(&parse(text)?)`. But a value takes many times the memory of its text (more
//! than fifty bytes for an integer of one digit), and an artifact may have hundreds of megabytes; so the tokens are
//! written as they are read. What makes that harder is a repeated key, whose last value stands in the place of its first:
//!
//! 1. The first walk checks the whole text and finds the repeated keys. It notes each member of the objects that are open;
//!    when one closes, its members are sorted by the hash of the key, and equal keys come to stand beside each other.
//! 2. The second walk writes. At the first appearance of a repeated key it writes the value of the last one; all the other
//!    appearances are passed over in one step each. So no byte of the text is written twice or skipped through.
//!
//! Cost: linear in the text and the artifact, but for the sorting. Memory: the text, the artifact, twelve bytes for each
//! member of the objects open at one time, and twelve for each appearance of a repeated key.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;

use super::layout::{Layout, Spacing};
use super::number;
use super::token::{Container, Quoted, Token, Tokens};
use super::value::Integer;
use super::write;
use crate::error::{JsonError, JsonFault};

/// The bytes of the stage artifact that `text` stands for: [`super::artifact_bytes()`] of [`super::parse()`] of it, in
/// bounded memory.
///
/// Takes any JSON value as UTF-8. Neither `text` nor the artifact may have more than `most_bytes`.
///
/// # Errors
/// As [`super::parse()`]; [`JsonFault::LoneSurrogate`] in a key or a string that would have to be written;
/// [`JsonFault::TooLong`].
pub fn artifact_from_text(text: &[u8], most_bytes: usize) -> Result<Vec<u8>, JsonError> {
    if text.len() > most_bytes {
        return Err(JsonFault::TooLong.at(most_bytes));
    }
    let mut tokens = Tokens::of_bytes(text)?;
    let repeated = Repeated::find(&mut tokens)?;
    write_artifact(tokens.text(), &repeated, most_bytes).map(String::into_bytes)
}

/// A member of an object that is open in the first walk.
#[derive(Clone, Copy)]
struct Member {
    /// Of the key's text. Sorts the members; never decides alone that two keys are equal.
    hash: u32,
    /// Where its key begins.
    key: u32,
    /// Where its value ends, once that has been read.
    end: u32,
}

/// A member whose key its object has more than once.
#[derive(Clone, Copy)]
struct Repeat {
    key: u32,
    end: u32,
    /// For the first appearance: where the key of the last one begins. None for the others.
    last: Option<NonZeroU32>,
}

/// The members of a text whose keys are repeated, in the order of the text.
struct Repeated(Vec<Repeat>);

impl Repeated {
    /// Reads all the tokens; finds every member whose key its object has again.
    fn find(tokens: &mut Tokens<'_>) -> Result<Self, JsonError> {
        let text = tokens.text();
        let mut repeated = Vec::new();
        let mut members: Vec<Member> = Vec::new();
        // For each object that is open: how many members its outer objects have so far.
        let mut outer: Vec<usize> = Vec::new();
        while let Some(token) = tokens.next()? {
            match token {
                Token::Open(Container::Object) => outer.push(members.len()),
                Token::Open(Container::Array) => {}
                Token::Key(key) => {
                    members.push(Member { hash: hash(&key), key: place(tokens.offset())?, end: 0 });
                }
                Token::Close(Container::Object) => {
                    let first = outer.pop().unwrap_or_default();
                    note_repeated(text, members.get_mut(first..).unwrap_or_default(), &mut repeated);
                    members.truncate(first);
                    end_value(&mut members, tokens)?;
                }
                Token::Close(Container::Array)
                | Token::String(_)
                | Token::Integer(_)
                | Token::Double(_)
                | Token::Bool(_)
                | Token::Null => end_value(&mut members, tokens)?,
            }
        }
        repeated.sort_unstable_by_key(|repeat| repeat.key);
        Ok(Self(repeated))
    }

    /// The member whose key begins at `key`, where that key is repeated.
    fn at(&self, key: usize) -> Option<Repeat> {
        let found = self.0.binary_search_by_key(&key, |repeat| repeat.key as usize).ok()?;
        self.0.get(found).copied()
    }
}

/// A value has ended: for all that is known so far it is the value of the latest member. If an array around it is still
/// open, that member's end is set again later.
fn end_value(members: &mut [Member], tokens: &Tokens<'_>) -> Result<(), JsonError> {
    if let Some(latest) = members.last_mut() {
        latest.end = place(tokens.end())?;
    }
    Ok(())
}

/// Looks for equal keys among the members of one object.
fn note_repeated(text: &str, members: &mut [Member], repeated: &mut Vec<Repeat>) {
    members.sort_unstable_by(|one, other| by_key(text, one, other).then(one.key.cmp(&other.key)));
    for appearances in members.chunk_by(|one, other| by_key(text, one, other) == Ordering::Equal) {
        if let [first, others @ .., last] = appearances {
            repeated.push(Repeat { key: first.key, end: first.end, last: NonZeroU32::new(last.key) });
            let passed_over = others.iter().chain([last]);
            repeated.extend(passed_over.map(|member| Repeat {
                key: member.key,
                end: member.end,
                last: None,
            }));
        }
    }
}

/// Some order in which only equal keys are equal; escapes count as what they stand for.
fn by_key(text: &str, one: &Member, other: &Member) -> Ordering {
    one.hash.cmp(&other.hash).then_with(|| {
        let key = |member: &Member| Tokens::at_key(text, member.key as usize).next();
        match (key(one), key(other)) {
            (Ok(Some(Token::Key(one))), Ok(Some(Token::Key(other)))) => {
                one.text_bytes().cmp(other.text_bytes())
            }
            // Never so: both were read as keys before.
            _ => Ordering::Equal,
        }
    })
}

fn hash(key: &Quoted<'_>) -> u32 {
    let mut hasher = DefaultHasher::new();
    key.text_bytes().hash(&mut hasher);
    hasher.finish() as u32
}

/// An offset in the form in which millions of them are kept.
fn place(offset: usize) -> Result<u32, JsonError> {
    u32::try_from(offset).map_err(|_| JsonFault::TooLong.at(offset))
}

/// The second walk.
fn write_artifact(text: &str, repeated: &Repeated, most_bytes: usize) -> Result<String, JsonError> {
    let mut layout = Layout::new(Spacing::Indented);
    // The innermost one is read: each but the first stands in for the value of a repeated key.
    let mut walks = vec![Tokens::of_checked(text)];
    while let Some(tokens) = walks.last_mut() {
        let Some(token) = tokens.next()? else {
            walks.pop();
            continue;
        };
        match token {
            Token::Open(container) => layout.open(container),
            Token::Close(container) => layout.close(container),
            Token::Key(key) => {
                let repeat = repeated.at(tokens.offset());
                if repeat.is_none_or(|repeat| repeat.last.is_some()) {
                    push_string(layout.key(), &key, tokens.offset())?;
                    layout.colon();
                }
                if let Some(repeat) = repeat {
                    tokens.pass_to(repeat.end as usize);
                    let last = repeat.last.and_then(|last| repeated.at(last.get() as usize));
                    walks.extend(last.map(|last| value_of(text, last)).transpose()?);
                }
            }
            Token::String(string) => push_string(layout.value(), &string, tokens.offset())?,
            Token::Integer(source) => layout.value().push_str(Integer::normal(source)),
            Token::Double(source) => number::push_double(layout.value(), number::read_double(source)),
            Token::Bool(true) => layout.value().push_str("true"),
            Token::Bool(false) => layout.value().push_str("false"),
            Token::Null => layout.value().push_str("null"),
        }
        if layout.len() > most_bytes {
            return Err(JsonFault::TooLong.at(most_bytes));
        }
    }
    Ok(layout.into_text())
}

/// The tokens of a member's value.
fn value_of(text: &str, member: Repeat) -> Result<Tokens<'_>, JsonError> {
    let mut key = Tokens::at_key(text, member.key as usize);
    key.next()?;
    Ok(Tokens::of_part(text, key.end()..member.end as usize))
}

/// Adds a string with its quotes.
fn push_string(out: &mut String, string: &Quoted<'_>, offset: usize) -> Result<(), JsonError> {
    if string.is_plain() {
        // What needs an escape has one in the source: without any, the source is what is to be written.
        out.push_str(string.source);
        return Ok(());
    }
    let text = std::str::from_utf8(string.text_bytes()).map_err(|_| JsonFault::LoneSurrogate.at(offset))?;
    out.push('"');
    write::push_utf8(out, text);
    out.push('"');
    Ok(())
}
