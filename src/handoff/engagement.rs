//! How loud an item was on its own platform (contract handoff.md, The host digest, native interactions).
//!
//! Pure. Platforms count different things under different names; the sums below are those that the legacy engine uses.
//! Names of fields are compared in lower case.

use crate::json::Value;

/// Engagement fields that are no counts.
const NOT_COUNTS: &[&str] = &["rank", "rank_score", "upvote_ratio", "rating"];

/// The native interactions of one item: the sum of what its source counts. Fields that are no finite number count zero.
pub fn native_interactions(item: &Value) -> f64 {
    let counted: Option<&[&str]> = match item.get("source").and_then(Value::as_str) {
        Some("reddit") => Some(&["score", "num_comments"]),
        Some("hackernews") => Some(&["points", "comments"]),
        Some("digg") => Some(&["postcount", "uniqueauthors"]),
        Some("x") => Some(&["likes", "reposts", "replies", "quotes"]),
        _ => None,
    };
    let counts = |field: &str| {
        let field = field.to_lowercase();
        match counted {
            Some(counted) => counted.contains(&field.as_str()),
            None => !NOT_COUNTS.contains(&field.as_str()),
        }
    };
    numbers(item).filter(|(field, _)| counts(field)).map(|(_, number)| number).sum()
}

/// The fields of an item's engagement that are finite numbers. A name that is no text is empty.
pub fn numbers(item: &Value) -> impl Iterator<Item = (&str, f64)> {
    let engagement = item.get("engagement").and_then(Value::as_object);
    let fields = engagement.into_iter().flat_map(|fields| fields.iter());
    fields.filter_map(|(field, value)| Some((field.as_str().unwrap_or_default(), number(value)?)))
}

/// A finite JSON number as a double; `None` for anything else, booleans too.
pub fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Integer(integer) => integer.as_str().parse().ok()?,
        Value::Double(number) => *number,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// A count as people read it: whole, with a comma between each three digits.
pub fn grouped(count: f64) -> String {
    let digits = format!("{:.0}", count.abs());
    let mut text = String::from(if count < 0.0 && digits != "0" { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
