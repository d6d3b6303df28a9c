//! Reading an object of the engine strictly: each key once, none unknown, each of the type that it must have.
//!
//! Pure. It works on tokens, so that what is read this way can be kept as it was spelled. Reading goes on after a fault, so
//! that all faults of a file are told at once. A fault names its place as a path of keys and positions.

use std::cell::RefCell;

use chrono::NaiveDate;

use crate::error::Faults;
use crate::json::{RawValue, Value};
use crate::text::is_plain;

use super::host_text::characters;

/// What is found wrong with one file.
#[derive(Debug, Default)]
pub(super) struct Found(RefCell<Faults>);

impl Found {
    /// Adds a fault.
    pub(super) fn add(&self, place: impl Into<String>, rule: impl Into<String>) {
        self.0.borrow_mut().add(place.into(), rule.into());
    }

    /// `read`, if nothing is wrong.
    pub(super) fn or_faults<T>(self, read: Option<T>) -> Result<T, Faults> {
        let faults = self.0.into_inner();
        match read.filter(|_| faults.is_empty()) {
            Some(read) => Ok(read),
            None => Err(faults),
        }
    }
}

/// An object whose keys were checked. What its methods cannot give is a fault that they have added.
#[derive(Debug)]
pub(super) struct Shape<'a, 'f> {
    place: String,
    members: Vec<(&'static str, RawValue<'a>)>,
    found: &'f Found,
}

impl<'a, 'f> Shape<'a, 'f> {
    /// Reads the object at `place`; `keys` are all that it may have.
    pub(super) fn read(
        place: &str,
        value: RawValue<'a>,
        keys: &[&'static str],
        found: &'f Found,
    ) -> Option<Self> {
        let mut shape = Self { place: place.to_owned(), members: Vec::new(), found };
        let Some(members) = value.members() else {
            found.add(if place.is_empty() { "the top" } else { place }, "must be an object");
            return None;
        };
        for (name, member) in members {
            match keys.iter().find(|key| key.as_bytes() == name.as_bytes()) {
                Some(key) if shape.find(key).is_some() => shape.fault(key, "appears twice"),
                Some(key) => shape.members.push((key, member)),
                None => shape.fault(
                    &shortened(&characters(&name)),
                    &format!("unknown key; known: {}", keys.join(", ")),
                ),
            }
        }
        Some(shape)
    }

    /// The member `key`, which must be there.
    pub(super) fn get(&self, key: &str) -> Option<RawValue<'a>> {
        let member = self.find(key);
        if member.is_none() {
            self.fault(key, "is missing");
        }
        member
    }

    /// The member `key`, if it is there.
    pub(super) fn find(&self, key: &str) -> Option<RawValue<'a>> {
        self.members.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// The member `key`, which must be there and of which `is_right` must hold.
    pub(super) fn checked(
        &self,
        key: &str,
        is_right: impl Fn(RawValue<'a>) -> bool,
        rule: &str,
    ) -> Option<RawValue<'a>> {
        self.get(key).filter(|member| self.holds(is_right(*member), key, rule))
    }

    /// The text of `key`: a string without lone surrogates.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let text = text(self.get(key)?);
        self.holds(text.is_some(), key, "must be a string");
        text
    }

    /// The text of `key`, in which nothing is hidden.
    pub(super) fn line(&self, key: &str) -> Option<String> {
        self.text(key).filter(|text| self.holds(is_plain(text), key, LINE))
    }

    /// The text of `key`, a day as `YYYY-MM-DD`.
    pub(super) fn day(&self, key: &str) -> Option<String> {
        let is_day = |text: &str| text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok();
        self.text(key).filter(|text| self.holds(is_day(text), key, "must be a day as YYYY-MM-DD"))
    }

    /// The items of the list `key`.
    pub(super) fn list(&self, key: &str) -> Option<impl Iterator<Item = RawValue<'a>> + use<'a>> {
        let items = self.get(key)?.items();
        self.holds(items.is_some(), key, "must be a list");
        items
    }

    /// Adds a fault of the member `key`.
    pub(super) fn fault(&self, key: &str, rule: &str) {
        self.found.add(self.place_of(key), rule);
    }

    /// The path of the member `key`.
    pub(super) fn place_of(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    fn holds(&self, holds: bool, key: &str, rule: &str) -> bool {
        if !holds {
            self.fault(key, rule);
        }
        holds
    }
}

/// The rule of a field of one line.
pub(super) const LINE: &str = "must be one line of text, without control, format or other hidden characters";

/// A key, short enough for a message.
pub(super) fn shortened(key: &str) -> String {
    const LONGEST: usize = 40;
    match key.char_indices().nth(LONGEST) {
        None => key.to_owned(),
        Some((end, _)) => format!("{}…", key.get(..end).unwrap_or_default()),
    }
}

/// The text of these tokens, where they are a string without lone surrogates.
pub(super) fn text(value: RawValue<'_>) -> Option<String> {
    match value.to_value() {
        Ok(Value::String(text)) => text.as_str().map(str::to_owned),
        _ => None,
    }
}

/// Whether these tokens are an object.
pub(super) fn is_object(value: RawValue<'_>) -> bool {
    value.members().is_some()
}

/// Whether these tokens are a string.
pub(super) fn is_string(value: RawValue<'_>) -> bool {
    value.as_str().starts_with('"')
}

/// Whether these tokens are a number without fraction and exponent.
pub(super) fn is_integer(value: RawValue<'_>) -> bool {
    let digits = value.as_str().strip_prefix('-').unwrap_or(value.as_str());
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether these tokens are `true` or `false`.
pub(super) fn is_boolean(value: RawValue<'_>) -> bool {
    matches!(value.as_str(), "true" | "false")
}

/// Whether these tokens are `null`.
pub(super) fn is_null(value: RawValue<'_>) -> bool {
    value.as_str() == "null"
}
