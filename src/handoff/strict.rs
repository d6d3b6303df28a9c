//! Reading an object of the engine strictly: each key once, none unknown, each of the type that the contract gives.
//!
//! Pure. It works on tokens, so that what is read this way can be kept as it was spelled. A fault names the place as a
//! path of known keys and positions, never a value.

use chrono::NaiveDate;

use crate::json::{RawValue, Value};

/// What has to stand at a place, and the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShapeFault {
    pub(super) place: String,
    pub(super) rule: &'static str,
}

/// An object whose keys were checked.
#[derive(Debug)]
pub(super) struct Shape<'a> {
    place: String,
    members: Vec<(&'static str, RawValue<'a>)>,
}

impl<'a> Shape<'a> {
    /// Reads the object at `place`; `keys` are all that it may have.
    pub(super) fn read(place: &str, value: RawValue<'a>, keys: &[&'static str]) -> Result<Self, ShapeFault> {
        let mut shape = Self { place: place.to_owned(), members: Vec::new() };
        let Some(members) = value.members() else { return Err(shape.fault("must be an object")) };
        for (name, member) in members {
            let Some(key) = keys.iter().find(|key| key.as_bytes() == name.as_bytes()) else {
                return Err(shape.fault("has a key that the contract does not know"));
            };
            if shape.find(key).is_some() {
                return Err(shape.fault_at(key, "stands there twice"));
            }
            shape.members.push((key, member));
        }
        Ok(shape)
    }

    /// The member `key`, which must be there.
    pub(super) fn get(&self, key: &str) -> Result<RawValue<'a>, ShapeFault> {
        self.find(key).ok_or_else(|| self.fault_at(key, "is missing"))
    }

    /// The member `key`, where it is there.
    pub(super) fn find(&self, key: &str) -> Option<RawValue<'a>> {
        self.members.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// The text of `key`: a string without lone surrogates.
    pub(super) fn text(&self, key: &str) -> Result<String, ShapeFault> {
        match self.get(key)?.to_value() {
            Ok(Value::String(text)) if text.as_str().is_some() => {
                Ok(text.as_str().unwrap_or_default().to_owned())
            }
            _ => Err(self.fault_at(key, "must be a string")),
        }
    }

    /// The text of `key`, a day as `YYYY-MM-DD`.
    pub(super) fn day(&self, key: &str) -> Result<String, ShapeFault> {
        let text = self.text(key)?;
        let is_day = text.len() == 10 && NaiveDate::parse_from_str(&text, "%Y-%m-%d").is_ok();
        if is_day { Ok(text) } else { Err(self.fault_at(key, "must be a day as YYYY-MM-DD")) }
    }

    /// The items of the list `key`.
    pub(super) fn list(&self, key: &str) -> Result<impl Iterator<Item = RawValue<'a>> + use<'a>, ShapeFault> {
        self.get(key)?.items().ok_or_else(|| self.fault_at(key, "must be a list"))
    }

    /// A fault of the object itself.
    pub(super) fn fault(&self, rule: &'static str) -> ShapeFault {
        let place = if self.place.is_empty() { "the top".to_owned() } else { self.place.clone() };
        ShapeFault { place, rule }
    }

    /// A fault of its member `key`.
    pub(super) fn fault_at(&self, key: &str, rule: &'static str) -> ShapeFault {
        ShapeFault { place: self.place_of(key), rule }
    }

    /// The path of its member `key`.
    pub(super) fn place_of(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }
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

/// Whether these tokens are `null`.
pub(super) fn is_null(value: RawValue<'_>) -> bool {
    value.as_str() == "null"
}
