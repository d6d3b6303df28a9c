//! SQL functions that only legbook's own connections have.
//!
//! Doctor's and recovery's questions use them; nothing in migrations/ does, so that a plain shell can do all that the
//! schema does. Each is a pure function over the ground (digest, event, json, receipt): what it says of a text here is
//! what the library says of it in Rust. Where an argument has another type than the function takes, the answer is null
//! or a fault, never an error, so that one damaged row does not end a question over all of them.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSql, ValueRef};

use crate::digest::Digest;
use crate::error::CheckpointPayloadError;
use crate::event::{CheckpointPayload, Event};
use crate::json::{self, Object, Value};
use crate::receipt;

/// Registers all of them on `connection`.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    // sha256(bytes) -> 64 lower-case hex characters; null for null and numbers.
    add(connection, "sha256", 1, |arguments| bytes(arguments, 0).map(|bytes| Digest::of(bytes).to_hex()))?;
    // event_fault(line) -> the rule of the envelope or the registry that the line breaks; null for a valid event.
    add(connection, "event_fault", 1, |arguments| {
        Event::parse_line(bytes(arguments, 0).unwrap_or_default()).err().map(|fault| fault.to_string())
    })?;
    // event_digest(line) -> the digest of the envelope, computed anew; null where the line is no valid event.
    add(connection, "event_digest", 1, |arguments| {
        event(arguments, 0).map(|event| event.event_digest().to_hex())
    })?;
    // link_holds(line_before, line) -> whether the line names the digest that the one before says, and none after null.
    // Whether a line says its own digest is event_fault's question; asked of both lines, the two hold the chain together.
    add(connection, "link_holds", 2, |arguments| {
        let Some(line) = object(arguments, 1) else { return false };
        let previous = line.get("previous_digest".as_bytes());
        match arguments.get_raw(0) {
            ValueRef::Null => previous == Some(&Value::Null),
            _ => object(arguments, 0).is_some_and(|before| {
                let digest = before.get("event_digest".as_bytes());
                digest.is_some_and(|digest| digest.as_str().is_some()) && digest == previous
            }),
        }
    })?;
    // event_status(line) -> the status that the event tells; null where it tells none.
    add(connection, "event_status", 1, |arguments| event(arguments, 0).and_then(|event| event.status()))?;
    // checkpoint_fault(line, max_bytes) -> the rule that the payload of a checkpoint event breaks, 'bound exceeded' for
    // a size beyond max_bytes; null for a valid one.
    add(connection, "checkpoint_fault", 2, |arguments| {
        let max_bytes = arguments.get_raw(1).as_i64().ok().and_then(|bytes| u64::try_from(bytes).ok());
        let Some(event) = event(arguments, 0) else { return Some("the event is not valid".to_owned()) };
        match CheckpointPayload::parse(event.payload(), max_bytes.unwrap_or(0)) {
            Ok(_) => None,
            Err(CheckpointPayloadError::SizeBound { .. }) => Some("bound exceeded".to_owned()),
            Err(fault) => Some(fault.to_string()),
        }
    })?;
    // snapshot_fault(body) -> why the bytes are no run.json as legbook writes it; null for those that are.
    add(connection, "snapshot_fault", 1, |arguments| {
        let body = bytes(arguments, 0).unwrap_or_default();
        if std::str::from_utf8(body).is_err() {
            return Some("it is not UTF-8");
        }
        match json::parse_object(body) {
            Err(_) => Some("it is not a JSON object"),
            Ok(object) if json::snapshot_bytes(&object) != body => {
                Some("it is not in the encoding of a snapshot")
            }
            Ok(_) => None,
        }
    })?;
    // snapshot_text(body, key, …) -> the string under the key, or under the last of nested keys; null where there is none.
    add(connection, "snapshot_text", -1, |arguments| match member(arguments)? {
        Value::String(text) => text.as_str().map(str::to_owned),
        _ => None,
    })?;
    // snapshot_differs(body, key, text, key, text, …) -> the first key under which the snapshot has another string, or one
    // where the text is null; null where all agree.
    add(connection, "snapshot_differs", -1, |arguments| {
        let object = object(arguments, 0)?;
        let differs = |at: &usize| {
            let said = bytes(arguments, *at).and_then(|key| object.get(key)).and_then(Value::as_str);
            said.map(str::as_bytes) != bytes(arguments, at + 1)
        };
        let key = (1..arguments.len().saturating_sub(1)).step_by(2).find(differs)?;
        bytes(arguments, key).map(|key| String::from_utf8_lossy(key).into_owned())
    })?;
    // snapshot_is_true(body, key, …) -> whether `true` is there.
    add(connection, "snapshot_is_true", -1, |arguments| member(arguments) == Some(Value::Bool(true)))?;
    // receipt_fault(receipt, sha256, byte_size, recovered_at, owner_pid, prior_status, checkpoint) -> the rule that a row of
    // recoveries breaks; null for a receipt. checkpoint: the body of the latest one before it, or null.
    add(connection, "receipt_fault", 7, |arguments| {
        let stored = receipt::Stored {
            bytes: bytes(arguments, 0).unwrap_or_default(),
            sha256: text(arguments, 1).unwrap_or_default(),
            byte_size: arguments.get_raw(2).as_i64().unwrap_or(-1),
            recovered_at: text(arguments, 3).unwrap_or_default(),
            owner_pid: arguments.get_raw(4).as_i64().ok(),
            prior_status: text(arguments, 5),
        };
        stored.check(object(arguments, 6).as_ref()).err()
    })?;
    // snapshot_is_terminal(body) -> whether the run has ended; null where the body is no object.
    add(connection, "snapshot_is_terminal", 1, |arguments| {
        object(arguments, 0).map(|object| receipt::is_terminal(&object))
    })?;
    // matches_receipt(checkpoint, candidate) -> whether the candidate is the receipt that recovery makes of the checkpoint.
    add(connection, "matches_receipt", 2, |arguments| match (object(arguments, 0), object(arguments, 1)) {
        (Some(checkpoint), Some(candidate)) => receipt::matches_receipt(&checkpoint, &candidate),
        _ => false,
    })
}

pub(crate) fn add<T: ToSql + 'static>(
    connection: &Connection,
    name: &'static str,
    arguments: i32,
    answer: fn(&Context<'_>) -> T,
) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        // A schema can't call them: neither a view nor a trigger of the file, nor an index that somebody put there.
        | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function(name, arguments, flags, move |context| Ok(answer(context)))
}

/// A text argument; none for another type and for bytes that are not UTF-8.
pub(crate) fn text<'a>(arguments: &'a Context<'_>, at: usize) -> Option<&'a str> {
    match arguments.get_raw(at) {
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// The bytes of a text or blob argument.
fn bytes<'a>(arguments: &'a Context<'_>, at: usize) -> Option<&'a [u8]> {
    match arguments.get_raw(at) {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
        _ => None,
    }
}

fn event(arguments: &Context<'_>, at: usize) -> Option<Event> {
    Event::parse_line(bytes(arguments, at)?).ok()
}

fn object(arguments: &Context<'_>, at: usize) -> Option<Object> {
    json::parse_object(bytes(arguments, at)?).ok()
}

/// The value under the keys that follow the first argument, a snapshot.
fn member(arguments: &Context<'_>) -> Option<Value> {
    let mut value = Value::Object(object(arguments, 0)?);
    for at in 1..arguments.len() {
        let Value::Object(mut inner) = value else { return None };
        value = inner.swap_remove(bytes(arguments, at)?)?;
    }
    Some(value)
}
