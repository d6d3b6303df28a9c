//! How loud an item was on its own platform (contract handoff.md, The host digest, native interactions).
//!
//! Pure. Platforms count different things under different names; the sums below are those that the legacy engine uses.

use crate::json::Value;

/// Engagement fields that are no counts.
const NOT_COUNTS: &[&str] = &["rank", "rank_score", "upvote_ratio", "rating"];

/// The native interactions of one item: the sum of what its source counts. Fields that are no finite number count zero.
pub fn native_interactions(item: &Value) -> f64 {
    let Some(engagement) = item.get("engagement").and_then(Value::as_object) else { return 0.0 };
    let counted: &[&str] = match item.get("source").and_then(Value::as_str) {
        Some("reddit") => &["score", "num_comments"],
        Some("hackernews") => &["points", "comments"],
        Some("digg") => &["postCount", "uniqueAuthors"],
        Some("x") => &["likes", "reposts", "replies", "quotes"],
        _ => {
            let others = engagement.iter().filter(|(key, _)| !key.as_str().is_some_and(is_no_count));
            return others.map(|(_, value)| number(value).unwrap_or(0.0)).sum();
        }
    };
    counted.iter().filter_map(|key| engagement.get(key.as_bytes())).filter_map(number).sum()
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

fn is_no_count(key: &str) -> bool {
    NOT_COUNTS.contains(&key)
}
