//! Which characters a reader does not see. One decision for all text that a host or a person reads, in every room.
//!
//! Pure. Such characters change what a terminal does or what a reader takes the text for: control characters, format
//! characters (bidirectional controls, zero-width ones), line and paragraph separators, and the block of tags. A field of
//! one line may hold none of them. Evidence and host text lose them. What is printed for people shows them escaped.

use std::borrow::Cow;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Whether `character` is a control or format character, a line or paragraph separator, or of the block of tags.
pub fn is_hidden(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    matches!(
        character.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    ) || ('\u{E0000}'..='\u{E007F}').contains(&character)
}

/// Whether `text` fits a field of one line: nothing in it is hidden.
pub fn is_plain(text: &str) -> bool {
    !text.contains(is_hidden)
}

/// `text` with its hidden characters escaped (`\n`, `\u{202e}`): on one line, and safe for a terminal.
pub fn escaped(text: &str) -> Cow<'_, str> {
    escaped_but(text, |_| false)
}

/// As [`escaped`], line by line: the newlines stay.
pub fn escaped_lines(text: &str) -> Cow<'_, str> {
    escaped_but(text, |character| character == '\n')
}

/// JSON text that says the same with each hidden character of its strings as `\u` escapes. Newlines between tokens stay.
pub fn escaped_json(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| is_hidden(character) && character != '\n') {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hidden(character) && character != '\n' {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

fn escaped_but(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |character| is_hidden(character) && !stays(character);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_escaped(character) {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}
