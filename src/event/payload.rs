//! The payloads and idempotency keys that the write path makes, and the strict reading of a checkpoint's payload.

use super::envelope::digest_or_null;
use super::registry::{self, CHECKPOINT_KEYS};
use crate::digest::Digest;
use crate::error::{CheckpointPayloadError, EventError};
use crate::json::{self, Object, Text, Value};

/// What a checkpoint's `media_type` holds.
pub const MEDIA_TYPE: &str = "application/vnd.brigade.run+json";
/// What a checkpoint's `privacy_class` holds.
pub const PRIVACY_CLASS: &str = "private";

/// The payload of a checkpoint event, checked (contract recovery.md, checkpoint validity). Media type, privacy class and
/// path follow from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointPayload {
    /// The digest of the snapshot's bytes.
    pub sha256: Digest,
    /// Their number.
    pub byte_size: u64,
    /// The type of the status event that the same write appends next; `None` where it appends none.
    pub paired_event_type: Option<&'static str>,
}

impl CheckpointPayload {
    /// Reads a checkpoint event's payload: exactly six keys, each with its rule. `max_bytes` bounds `byte_size`.
    ///
    /// The registry alone would let a key be missing and any scalar stand under each; this is the stricter reading that
    /// comes before any body is looked at.
    ///
    /// # Errors
    /// The rule that is broken; a size beyond `max_bytes` is [`CheckpointPayloadError::SizeBound`].
    pub fn parse(payload: &Object, max_bytes: u64) -> Result<Self, CheckpointPayloadError> {
        let [path, sha256, media_type, byte_size, privacy_class, paired] = six(payload)?;
        if media_type.as_str() != Some(MEDIA_TYPE) {
            return Err(CheckpointPayloadError::MediaType);
        }
        if privacy_class.as_str() != Some(PRIVACY_CLASS) {
            return Err(CheckpointPayloadError::PrivacyClass);
        }
        let sha256 = sha256.as_str().and_then(Digest::parse).ok_or(CheckpointPayloadError::Digest)?;
        let byte_size = byte_size
            .as_i64()
            .and_then(|size| u64::try_from(size).ok())
            .ok_or(CheckpointPayloadError::Size)?;
        if byte_size > max_bytes {
            return Err(CheckpointPayloadError::SizeBound { limit: max_bytes });
        }
        if path.as_str() != Some(&checkpoint_path(sha256)) {
            return Err(CheckpointPayloadError::Path);
        }
        let paired_event_type = match paired {
            Value::Null => None,
            paired => Some(
                paired
                    .as_str()
                    .and_then(registry::event_type)
                    .map(|event_type| event_type.name)
                    .filter(|name| registry::is_status_event_type(name))
                    .ok_or(CheckpointPayloadError::Pairing)?,
            ),
        };
        Ok(Self { sha256, byte_size, paired_event_type })
    }
}

/// The values of the six keys in the order of [`CHECKPOINT_KEYS`].
fn six(payload: &Object) -> Result<[&Value; 6], CheckpointPayloadError> {
    let values: Option<Vec<&Value>> = CHECKPOINT_KEYS.iter().map(|key| payload.get(key.as_bytes())).collect();
    match values.map(<[&Value; 6]>::try_from) {
        Some(Ok(values)) if payload.len() == values.len() => Ok(values),
        _ => Err(CheckpointPayloadError::Keys),
    }
}

/// The path of a checkpoint relative to a legacy run directory; legbook keeps the body in its store and the path in the event.
pub fn checkpoint_path(sha256: Digest) -> String {
    format!("events/recovery-checkpoints/{sha256}.json")
}

/// The payload of the event that names a checkpoint of `byte_size` bytes. `paired` is the type of the status event that
/// the same write appends next.
pub fn checkpoint_payload(sha256: Digest, byte_size: i64, paired: Option<&str>) -> Object {
    let members: [(&str, Value); 6] = [
        ("path", checkpoint_path(sha256).into()),
        ("sha256", sha256.to_hex().into()),
        ("media_type", MEDIA_TYPE.into()),
        ("byte_size", byte_size.into()),
        ("privacy_class", PRIVACY_CLASS.into()),
        ("paired_event_type", paired.map_or(Value::Null, Value::from)),
    ];
    members.into_iter().map(|(key, value)| (Text::from(key), value)).collect()
}

/// The idempotency key of a checkpoint event: `checkpoint:<sha256>:<paired or none>`.
pub fn checkpoint_key(sha256: Digest, paired: Option<&str>) -> String {
    format!("checkpoint:{sha256}:{}", paired.unwrap_or("none"))
}

/// The payload of a status event: `status` and `detail`, where the type allows them, both the status word.
pub fn status_payload(event_type: &str, status: &str) -> Object {
    let keys = registry::event_type(event_type).map_or(&[][..], |event_type| event_type.payload_keys);
    let said = keys.iter().filter(|key| matches!(**key, "status" | "detail"));
    said.map(|key| (Text::from(*key), Value::from(status))).collect()
}

/// The idempotency key of a status event: `lifecycle:` and the first 32 hex characters of the digest of the canonical
/// `{event_type, payload, prior_snapshot_digest}`. `prior_snapshot_digest` is null before the first snapshot.
///
/// # Errors
/// [`EventError::NotCanonical`] for a payload that canonical bytes can't hold.
pub fn status_key(
    event_type: &str,
    payload: &Object,
    prior_snapshot_digest: Option<Digest>,
) -> Result<String, EventError> {
    let event_type = json::canonical_string(event_type);
    let payload = json::canonical_object(payload).map_err(|_| EventError::NotCanonical)?;
    let prior = digest_or_null(prior_snapshot_digest);
    let request =
        format!(r#"{{"event_type":{event_type},"payload":{payload},"prior_snapshot_digest":{prior}}}"#);
    Ok(format!("lifecycle:{:.32}", Digest::of(request.as_bytes()).to_hex()))
}

/// `key` for an event of a journal that holds `key` already: the new sequence behind it.
pub fn recurring_key(key: &str, sequence: i64) -> String {
    format!("{key}:{sequence}")
}
