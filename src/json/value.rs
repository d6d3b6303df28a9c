//! A JSON value as Python holds it.

use std::borrow::Borrow;
use std::fmt;

use indexmap::IndexMap;

/// A JSON value. Numbers are either an [`Integer`] of any size or a double.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number without `.`, `e` or `E`.
    Integer(Integer),
    /// A number with one of them, or `NaN`, `Infinity`, `-Infinity`.
    Double(f64),
    /// A string.
    String(Text),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

/// An object's members in the order of their first appearance.
pub type Object = IndexMap<Text, Value>;

/// An object of these members; of a repeated key the last value, in the place of the first.
pub fn object<K: Into<Text>>(members: impl IntoIterator<Item = (K, Value)>) -> Object {
    members.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

/// An integer of any size as Python prints it: decimal digits, `-` in front where negative, no leading zeros,
/// no `-0`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Integer(String);

impl Integer {
    /// Keeps digits that the reader has checked already.
    pub(crate) fn from_digits(digits: &str) -> Self {
        Self(Self::normal(digits).to_owned())
    }

    /// As Python prints digits that the reader has checked already.
    pub(super) fn normal(digits: &str) -> &str {
        if digits == "-0" { "0" } else { digits }
    }

    /// The decimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value, where it lies in the signed 64-bit range.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }
}

impl From<i64> for Integer {
    fn from(value: i64) -> Self {
        Self(value.to_string())
    }
}

/// A string of code points, lone surrogates among them: generalized UTF-8 (WTF-8), whose byte order is code
/// point order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text(Vec<u8>);

impl Text {
    /// Adds one code point (0 to 0x10FFFF, surrogates allowed); anything above is left out.
    pub(crate) fn push(&mut self, code_point: u32) {
        match char::from_u32(code_point) {
            Some(character) => {
                self.0.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None if code_point < 0x1_0000 => {
                let [high, low] = [(code_point >> 6) as u8 & 0x3F, code_point as u8 & 0x3F];
                self.0.extend_from_slice(&[0xE0 | (code_point >> 12) as u8, 0x80 | high, 0x80 | low]);
            }
            None => {}
        }
    }

    /// Adds UTF-8 text.
    pub(crate) fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// The text, where it holds no lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The generalized UTF-8 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The code points in order, surrogates by their value.
    pub fn code_points(&self) -> impl Iterator<Item = u32> + '_ {
        let bytes = &self.0;
        let mut at = 0;
        std::iter::from_fn(move || {
            let first = *bytes.get(at)?;
            let (length, start) = match first {
                0..=0x7F => (1, u32::from(first)),
                0x80..=0xDF => (2, u32::from(first & 0x1F)),
                0xE0..=0xEF => (3, u32::from(first & 0x0F)),
                _ => (4, u32::from(first & 0x07)),
            };
            let rest = bytes.get(at + 1..at + length)?;
            at += length;
            Some(rest.iter().fold(start, |point, byte| point << 6 | u32::from(byte & 0x3F)))
        })
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

/// Lets an [`Object`] be asked by a plain key: `object.get("status".as_bytes())`.
impl Borrow<[u8]> for Text {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl Value {
    /// The members, where this is an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The member `key`, where this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key.as_bytes())
    }

    /// The items, where this is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text, where this is a string; it may hold lone surrogates.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The text, where this is a string without a lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => text.as_str(),
            _ => None,
        }
    }

    /// The boolean, where this is one; a number is none.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer, where this is one in the signed 64-bit range.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => integer.as_i64(),
            _ => None,
        }
    }

    /// What Python's `bool(value)` says: false for null, false, zero, and empty strings, arrays and objects.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Integer(integer) => integer.as_str() != "0",
            Self::Double(value) => *value != 0.0,
            Self::String(text) => !text.as_bytes().is_empty(),
            Self::Array(items) => !items.is_empty(),
            Self::Object(members) => !members.is_empty(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(Text::from(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(Text::from(text))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(Integer::from(value))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Text> for Value {
    fn from(text: Text) -> Self {
        Self::String(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::Array(items)
    }
}

impl From<Object> for Value {
    fn from(members: Object) -> Self {
        Self::Object(members)
    }
}
