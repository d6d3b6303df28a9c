//! What the columns of a stored row must say, from the JSON that stands beside them. Pure; doctor asks it of every row.

use crate::json::raw;

use super::host_file::{judgment, proposal};
use super::report_topics::links;
use super::round::text_of;
use super::topic::normalized_name;

/// The string under `key` of the object `body`.
pub(crate) fn text(body: &str, key: &str) -> Option<String> {
    text_of(raw::parse(body.as_bytes()).ok()?.value().get(key))
}

/// Whether these columns are what leg 2 reads in the host's row `body`.
pub(crate) fn is_judgment(
    body: &str,
    name: Option<&str>,
    junk: Option<i64>,
    worthiness: Option<i64>,
) -> bool {
    let Ok(tokens) = raw::parse(body.as_bytes()) else { return false };
    let Ok(row) = tokens.value().to_value() else { return false };
    judgment(&row, tokens).0.is_some_and(|said| {
        said.name.as_deref() == name
            && said.junk.map(i64::from) == junk
            && said.worthiness.map(i64::from) == worthiness
    })
}

/// Whether these columns are what leg 3 reads in the host's row `body`.
pub(crate) fn is_angle(body: &str, podcast: Option<&str>, x_article: Option<&str>) -> bool {
    let Ok(tokens) = raw::parse(body.as_bytes()) else { return false };
    let Ok(row) = tokens.value().to_value() else { return false };
    proposal(&row, tokens)
        .0
        .is_some_and(|said| said.podcast.as_deref() == podcast && said.x_article.as_deref() == x_article)
}

/// Whether the pending report `body` has a topic with a name that the queue takes.
pub(crate) fn names_topics(body: &str) -> bool {
    let Ok(body) = raw::parse(body.as_bytes()) else { return false };
    let report = body.value().get("report").and_then(|report| report.to_value().ok());
    report.is_some_and(|report| {
        let links = links(&report, &[]);
        links.iter().filter_map(|link| link.name.as_deref()).any(|name| !normalized_name(name).is_empty())
    })
}
