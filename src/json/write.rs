//! From a value to bytes: one function a form that the contracts name (contract run-json.md, writing).
//!
//! The forms differ in three ways: white space, the order of keys, and whether characters beyond ASCII are
//! escaped. What a form can't hold is refused before the first byte is written.

use super::layout::{Layout, Spacing};
use super::number;
use super::token::{Container, run_without};
use super::value::{Object, Text, Value};
use crate::error::{JsonError, JsonFault};

/// The bytes of run.json: indented by two, keys in code point order, ASCII only, one newline at the end
/// (contract run-json.md, writing a snapshot). Every object has such bytes.
pub fn snapshot_bytes(snapshot: &Object) -> Vec<u8> {
    let mut writer = Writer::new(Spacing::Indented, Keys::Sorted, Characters::Ascii);
    writer.object(snapshot);
    let mut text = writer.layout.into_text();
    text.push('\n');
    text.into_bytes()
}

/// The bytes of a stage artifact: indented by two, keys in the order they have, UTF-8, no newline at the end
/// (contract run-json.md, last but one paragraph).
///
/// # Errors
/// [`JsonFault::LoneSurrogate`], in a key or a string.
pub fn artifact_bytes(artifact: &Value) -> Result<Vec<u8>, JsonError> {
    refuse_lone_surrogates(artifact).map_err(|fault| fault.at(0))?;
    Ok(write(artifact, Spacing::Indented, Keys::AsGiven, Characters::Utf8).into_bytes())
}

/// One line as Python's `json.dumps(value)` gives it: `{"a": 1, "b": [1, 2]}`, ASCII only, without a newline
/// (contract run-json.md, last paragraph).
pub fn line(value: &Value) -> String {
    write(value, Spacing::Line, Keys::AsGiven, Characters::Ascii)
}

/// What Python's `json.dumps(value, indent=2)` gives: keys in the order they have, ASCII only, without a
/// newline at the end (contract legacy-files.md, a nominations bundle).
pub fn indented(value: &Value) -> String {
    write(value, Spacing::Indented, Keys::AsGiven, Characters::Ascii)
}

/// Canonical bytes, the ones that are digested: no white space, keys in code point order, UTF-8
/// (contract events.md, envelope).
///
/// # Errors
/// [`JsonFault::NotCanonical`] for a boolean or a double, [`JsonFault::IntegerOutOfRange`] for an integer
/// outside the signed 64-bit range, [`JsonFault::LoneSurrogate`] in a key or a string.
pub fn canonical_bytes(value: &Value) -> Result<Vec<u8>, JsonError> {
    refuse_not_canonical(value).map_err(|fault| fault.at(0))?;
    Ok(write(value, Spacing::None, Keys::Sorted, Characters::Utf8).into_bytes())
}

/// [`canonical_bytes`] of an object, as the text that they are.
///
/// # Errors
/// As [`canonical_bytes`].
pub(crate) fn canonical_object(members: &Object) -> Result<String, JsonError> {
    members.iter().try_for_each(refuse_not_canonical_member).map_err(|fault| fault.at(0))?;
    let mut writer = Writer::new(Spacing::None, Keys::Sorted, Characters::Utf8);
    writer.object(members);
    Ok(writer.layout.into_text())
}

/// [`canonical_bytes`] of a string, quotes included, as the text that they are.
pub(crate) fn canonical_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    push_utf8(&mut out, text);
    out.push('"');
    out
}

/// The tokens of a value without white space, ASCII only, keys in the order they have: what `raw.rs` keeps.
pub(super) fn compact(value: &Value) -> String {
    write(value, Spacing::None, Keys::AsGiven, Characters::Ascii)
}

fn write(value: &Value, spacing: Spacing, keys: Keys, characters: Characters) -> String {
    let mut writer = Writer::new(spacing, keys, characters);
    writer.value(value);
    writer.layout.into_text()
}

/// The order of an object's members.
#[derive(Clone, Copy)]
enum Keys {
    AsGiven,
    Sorted,
}

/// Which characters stand for themselves in a string.
#[derive(Clone, Copy)]
enum Characters {
    /// Space to `~`.
    Ascii,
    /// All but the control characters below space.
    Utf8,
}

struct Writer {
    layout: Layout,
    keys: Keys,
    characters: Characters,
}

impl Writer {
    fn new(spacing: Spacing, keys: Keys, characters: Characters) -> Self {
        Self { layout: Layout::new(spacing), keys, characters }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.layout.value().push_str("null"),
            Value::Bool(true) => self.layout.value().push_str("true"),
            Value::Bool(false) => self.layout.value().push_str("false"),
            Value::Integer(integer) => self.layout.value().push_str(integer.as_str()),
            Value::Double(double) => number::push_double(self.layout.value(), *double),
            Value::String(text) => push_quoted(self.layout.value(), text, self.characters),
            Value::Array(items) => {
                self.layout.open(Container::Array);
                items.iter().for_each(|item| self.value(item));
                self.layout.close(Container::Array);
            }
            Value::Object(members) => self.object(members),
        }
    }

    fn object(&mut self, members: &Object) {
        self.layout.open(Container::Object);
        match self.keys {
            Keys::AsGiven => members.iter().for_each(|(key, value)| self.member(key, value)),
            Keys::Sorted => {
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_unstable_by_key(|(key, _)| *key);
                sorted.into_iter().for_each(|(key, value)| self.member(key, value));
            }
        }
        self.layout.close(Container::Object);
    }

    fn member(&mut self, key: &Text, value: &Value) {
        push_quoted(self.layout.key(), key, self.characters);
        self.layout.colon();
        self.value(value);
    }
}

fn push_quoted(out: &mut String, text: &Text, characters: Characters) {
    out.push('"');
    match (text.as_str(), characters) {
        (Some(text), Characters::Utf8) => push_utf8(out, text),
        (Some(text), Characters::Ascii) => {
            push_escaped(out, text, |byte| !(b' '..=b'~').contains(&byte) | (byte == b'"') | (byte == b'\\'));
        }
        // A lone surrogate can only be an escape; the forms that refuse it have done so before this.
        (None, _) => text.code_points().for_each(|code_point| match code_point {
            0x20 | 0x21 | 0x23..=0x5B | 0x5D..=0x7E => out.extend(char::from_u32(code_point)),
            _ => push_escape(out, code_point),
        }),
    }
    out.push('"');
}

/// Adds a text with the escapes that JSON itself demands.
pub(super) fn push_utf8(out: &mut String, text: &str) {
    push_escaped(out, text, |byte| (byte == b'"') | (byte == b'\\') | (byte < b' '));
}

/// Adds a text; the characters whose first byte `escaped` names are escaped, the runs between them copied
/// whole.
fn push_escaped(out: &mut String, text: &str, escaped: impl Fn(u8) -> bool) {
    let mut rest = text;
    loop {
        let run = run_without(rest.as_bytes(), &escaped);
        let (plain, special) = rest.split_at_checked(run).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut characters = special.chars();
        let Some(character) = characters.next() else { return };
        push_escape(out, u32::from(character));
        rest = characters.as_str();
    }
}

/// Adds the escape of a code point: the short one where there is one, else `\uXXXX`, a pair of them above
/// U+FFFF.
fn push_escape(out: &mut String, code_point: u32) {
    match code_point {
        0x22 => out.push_str("\\\""),
        0x5C => out.push_str("\\\\"),
        0x0A => out.push_str("\\n"),
        0x0D => out.push_str("\\r"),
        0x09 => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0C => out.push_str("\\f"),
        0..0x1_0000 => push_code_unit(out, code_point),
        _ => {
            let above = code_point - 0x1_0000;
            push_code_unit(out, 0xD800 + (above >> 10));
            push_code_unit(out, 0xDC00 + (above & 0x3FF));
        }
    }
}

fn push_code_unit(out: &mut String, unit: u32) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        out.extend(char::from_digit(unit >> shift & 0xF, 16));
    }
}

fn refuse_lone_surrogates(value: &Value) -> Result<(), JsonFault> {
    match value {
        Value::String(text) => refuse_lone_surrogate(text),
        Value::Array(items) => items.iter().try_for_each(refuse_lone_surrogates),
        Value::Object(members) => members.iter().try_for_each(|(key, value)| {
            refuse_lone_surrogate(key)?;
            refuse_lone_surrogates(value)
        }),
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Double(_) => Ok(()),
    }
}

fn refuse_not_canonical(value: &Value) -> Result<(), JsonFault> {
    match value {
        Value::Null => Ok(()),
        Value::Bool(_) | Value::Double(_) => Err(JsonFault::NotCanonical),
        Value::Integer(integer) => integer.as_i64().map(|_| ()).ok_or(JsonFault::IntegerOutOfRange),
        Value::String(text) => refuse_lone_surrogate(text),
        Value::Array(items) => items.iter().try_for_each(refuse_not_canonical),
        Value::Object(members) => members.iter().try_for_each(refuse_not_canonical_member),
    }
}

fn refuse_not_canonical_member((key, value): (&Text, &Value)) -> Result<(), JsonFault> {
    refuse_lone_surrogate(key)?;
    refuse_not_canonical(value)
}

fn refuse_lone_surrogate(text: &Text) -> Result<(), JsonFault> {
    text.as_str().map(|_| ()).ok_or(JsonFault::LoneSurrogate)
}
