//! What a host may write: names, angles, junk flags and worthiness (contract handoff.md, Host text).
//!
//! Pure. A host is a language model, so nothing it wrote is trusted to be the right type or length; every function
//! here gives "absent" for what it can't use, and the caller falls back by row. The legacy programs are Python, and
//! white space, letters and numbers mean what Python's `str` and `float` mean by them. No stored state, no SQL.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::json::{Text, Value};
use crate::text::is_hidden;

/// The longest name, in code points.
pub const NAME_CAP: usize = 96;
/// The longest angle, in code points.
pub const ANGLE_CAP: usize = 200;

/// Punctuation that is taken off the ends of a name.
const STRIP: &[char] = &[' ', '"', '\'', '`', '.', ',', ';', ':', '!', '?', '-'];

/// The name that `raw` becomes: one line without invisible characters, at most [`NAME_CAP`] code points, with a letter
/// or digit in it; `None` (absent) for anything else.
pub fn name(raw: &Value) -> Option<String> {
    let line = visible_line(&string(raw)?);
    let name = cut(line.trim_matches(STRIP), NAME_CAP);
    name.chars().any(is_alphanumeric).then_some(name)
}

/// The angle that `raw` becomes: one line without invisible characters, 1 to [`ANGLE_CAP`] code points; `None` (absent)
/// for anything else.
pub fn angle(raw: &Value) -> Option<String> {
    let angle = cut(&visible_line(&string(raw)?), ANGLE_CAP);
    (!angle.is_empty()).then_some(angle)
}

/// The junk flag: a JSON boolean, nothing that only looks like one.
pub fn junk(raw: &Value) -> Option<bool> {
    match raw {
        Value::Bool(junk) => Some(*junk),
        _ => None,
    }
}

/// The worthiness, 0 to 100: a number or a string that Python's `float` reads, rounded half to even and clamped. A
/// number beyond the range of doubles is absent, as is NaN.
pub fn worthiness(raw: &Value) -> Option<u8> {
    // After the clamp the cast is exact.
    rounded(raw).map(|number| number.clamp(0.0, 100.0) as u8)
}

/// Whether [`worthiness`] gives another number than the one that `raw` rounds to.
pub fn is_clamped(raw: &Value) -> bool {
    rounded(raw).is_some_and(|number| !(0.0..=100.0).contains(&number))
}

/// The number that `raw` is, rounded half to even; finite.
fn rounded(raw: &Value) -> Option<f64> {
    let number: f64 = match raw {
        Value::Integer(integer) => integer.as_str().parse().ok()?,
        Value::Double(number) => *number,
        Value::String(text) => python_float(text.as_str()?)?,
        _ => return None,
    };
    number.is_finite().then(|| number.round_ties_even())
}

/// Text within `cap` code points is untouched; else the first `cap`, back to their last space where there is one, with
/// the strip set taken off the end.
pub fn cut(text: &str, cap: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(cap) else { return text.to_owned() };
    let head = text.get(..end).unwrap_or(text);
    let whole_words = head.rfind(' ').and_then(|space| head.get(..space)).unwrap_or(head);
    whole_words.trim_end_matches(STRIP).to_owned()
}

/// White space runs as one space each, none at the ends.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(is_white_space).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// `text` as one line without hidden characters; those that are white space become spaces.
pub fn visible_line(text: &str) -> String {
    let seen: String =
        text.chars().filter(|&character| is_white_space(character) || !is_hidden(character)).collect();
    one_line(&seen)
}

/// `text` without its lone surrogates, which are no characters: neither UTF-8 nor SQLite can hold them.
pub fn characters(text: &Text) -> String {
    match text.as_str() {
        Some(text) => text.to_owned(),
        None => text.code_points().filter_map(char::from_u32).collect(),
    }
}

/// The key by which names are compared: the full case folding of Unicode, as Python's `str.casefold`.
pub fn fold(text: &str) -> String {
    unicase::UniCase::unicode(text).to_folded_case()
}

/// The words of `text`: what stands between non-word characters, where a word is of letters, numbers and `_`.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character| character != '_' && !is_alphanumeric(character)).filter(|word| !word.is_empty())
}

/// What Python's `str.isalnum` says of one character: a letter or a number of any script, no combining mark.
pub fn is_alphanumeric(character: char) -> bool {
    let group = character.general_category_group();
    matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

/// Where Python's `str.split` splits: Unicode's white space and the four ASCII separators.
pub fn is_white_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&character)
}

fn string(raw: &Value) -> Option<String> {
    match raw {
        Value::String(text) => Some(characters(text)),
        _ => None,
    }
}

/// What Python's `float(text)` reads: white space around it, digits of any script, `_` between two digits. The result
/// may be infinite or NaN.
fn python_float(text: &str) -> Option<f64> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.trim().chars().map(ascii_digit).peekable();
    while let Some(character) = characters.next() {
        let after_digit = plain.ends_with(|last: char| last.is_ascii_digit());
        if character == '_' {
            let before_digit = characters.peek().is_some_and(char::is_ascii_digit);
            if !(after_digit && before_digit) {
                return None;
            }
        } else {
            plain.push(character);
        }
    }
    plain.parse().ok()
}

/// A decimal digit of any script as its ASCII digit; any other character as it is. Unicode promises that the digits of
/// a script stand in a row from zero to nine, so the value is the distance from the row's start.
fn ascii_digit(character: char) -> char {
    let is_digit = |point: u32| {
        char::from_u32(point).is_some_and(|c| c.general_category() == GeneralCategory::DecimalNumber)
    };
    let point = u32::from(character);
    if character.is_ascii() || !is_digit(point) {
        return character;
    }
    let before = (0..point).rev().take_while(|&earlier| is_digit(earlier)).count();
    u32::try_from(before % 10).ok().and_then(|value| char::from_digit(value, 10)).unwrap_or(character)
}
