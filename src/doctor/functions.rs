//! SQL functions that only doctor's questions use: what a room says of a single value, asked of every row at once.
//!
//! Each is pure. Null in, null out, so that an optional column needs no case of its own.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::clock;
use crate::db::functions::{add, text};
use crate::error::Result;
use crate::handoff;
use crate::id::RunId;
use crate::stage::{PipelineName, StageName, is_known_version};

/// Registers all of them on `connection`.
///
/// # Errors
/// SQLite's own.
pub(super) fn register(connection: &Connection) -> Result<()> {
    // is_time(text) -> whether it is an ISO 8601 time.
    add(connection, "is_time", 1, |arguments| {
        text(arguments, 0).map(|text| clock::parse_time(text).is_some())
    })?;
    // is_utf8(text) -> whether its bytes are UTF-8.
    add(connection, "is_utf8", 1, |arguments| match arguments.get_raw(0) {
        ValueRef::Text(bytes) => Some(std::str::from_utf8(bytes).is_ok()),
        _ => None,
    })?;
    // is_run_id(text), is_pipeline_name(text), is_stage_name(text) -> whether a command can name it.
    add(connection, "is_run_id", 1, |arguments| {
        text(arguments, 0).is_some_and(|text| RunId::parse(text).is_ok())
    })?;
    add(connection, "is_pipeline_name", 1, |arguments| {
        text(arguments, 0).is_some_and(|text| PipelineName::parse(text).is_ok())
    })?;
    add(connection, "is_stage_name", 1, |arguments| {
        text(arguments, 0).is_some_and(|text| StageName::parse(text).is_ok())
    })?;
    add(connection, "is_bundle_id", 1, |arguments| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        text(arguments, 0).is_some_and(|text| (1..=64).contains(&text.len()) && text.bytes().all(is_plain))
    })?;
    // is_stage_version(integer) -> whether this build can resume a pipeline of that version.
    add(connection, "is_stage_version", 1, |arguments| {
        arguments.get_raw(0).as_i64().is_ok_and(is_known_version)
    })?;
    // normalized_name(text) -> the key that a topic of this name has in the queue.
    add(connection, "normalized_name", 1, |arguments| {
        text(arguments, 0).map(handoff::topic::normalized_name)
    })?;
    // token_text(json, key) -> the string under the key of an object that is kept as tokens.
    add(connection, "token_text", 2, |arguments| {
        handoff::stored::text(text(arguments, 0)?, text(arguments, 1)?)
    })?;
    // names_topics(body) -> whether a pending report has a topic that the queue takes.
    add(connection, "names_topics", 1, |arguments| {
        handoff::stored::names_topics(text(arguments, 0).unwrap_or_default())
    })?;
    // judgment_is(body, name, junk, worthiness) -> whether that is what can be used of the host's row.
    add(connection, "judgment_is", 4, |arguments| {
        let number = |at| arguments.get_raw(at).as_i64_or_null().ok().flatten();
        handoff::stored::is_judgment(
            text(arguments, 0).unwrap_or_default(),
            text(arguments, 1),
            number(2),
            number(3),
        )
    })?;
    // angle_is(body, podcast, x_article) -> likewise.
    add(connection, "angle_is", 3, |arguments| {
        handoff::stored::is_angle(
            text(arguments, 0).unwrap_or_default(),
            text(arguments, 1),
            text(arguments, 2),
        )
    })?;
    Ok(())
}
