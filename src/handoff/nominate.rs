//! Leg 1: a sweep's pool becomes the current round (contract handoff.md).
//!
//! One transaction, see `round.rs`. A sweep without nominations stores nothing, and still ends the earlier round: that
//! round's bundle is not this sweep's.

use chrono::{DateTime, Utc};

use crate::clock::{random_hex, snapshot_time};
use crate::db::Store;
use crate::error::{Error, Record, Result};
use crate::json::{Raw, Value};

use super::freshness::expires_at;
use super::host_digest::{Cover, host_digest};
use super::pool::{Head, Pool};
use super::round::{self, KIND, NewRound, SCHEMA_VERSION};
use super::writing::not_stored;

/// Bytes of a bundle's id and of a digest's nonce: 16 hex characters.
const ID_BYTES: usize = 8;

/// What leg 1 stored.
#[derive(Debug, Clone)]
pub struct Nominated {
    /// The minted id, 16 hex characters.
    pub bundle_id: String,
    /// How many nominations await judgment.
    pub nominations: usize,
    /// When the bundle expires.
    pub expires_at: DateTime<Utc>,
    /// What the host reads.
    pub host_digest: String,
}

/// Stores `pool` as the current round and supersedes the one before. None, and only the superseding, where the pool has
/// no nominations. `mock` says that it was made from fixtures.
///
/// # Errors
/// [`crate::error::HandoffError::NotStored`] where the store can't take it: the earlier round is current as before.
pub fn nominate(store: &Store, pool: &Pool, mock: bool) -> Result<Option<Nominated>> {
    let now = store.clock().now();
    if pool.nominations.is_empty() {
        return store
            .write(|transaction| round::supersede(transaction, now).map(|()| None))
            .map_err(not_stored(Record::Bundle));
    }
    let [bundle_id, nonce] = [mint(store)?, mint(store)?];
    let generated_at = snapshot_time(now);
    let bundle = bundle(&bundle_id, &generated_at, mock, &pool.head);
    let rows: Vec<(&str, &Raw)> =
        pool.nominations.iter().map(|nomination| (nomination.id.as_str(), &nomination.row)).collect();
    let new = NewRound {
        bundle_id: &bundle_id,
        generated_at: &generated_at,
        mock,
        bundle: &bundle,
        nominations: &rows,
    };
    store.write(|transaction| round::insert(transaction, &new, now)).map_err(not_stored(Record::Bundle))?;
    let expires_at = expires_at(now);
    let cover = Cover {
        head: &pool.head,
        bundle_id: &bundle_id,
        store: &store.path().display().to_string(),
        expires_at: &snapshot_time(expires_at),
        nonce: &nonce,
    };
    let host_digest = host_digest(&cover, &pool.nominations);
    Ok(Some(Nominated { nominations: rows.len(), bundle_id, expires_at, host_digest }))
}

/// A new id, or a nonce for a fence: 16 random hex characters.
///
/// # Errors
/// [`Error::Io`] where the system has no random bytes.
pub fn mint(store: &Store) -> Result<String> {
    random_hex(store.clock(), ID_BYTES).map_err(Error::io("get random bytes for", store.path()))
}

/// A bundle without its nominations, in the key order of the legacy file.
fn bundle(bundle_id: &str, generated_at: &str, mock: bool, head: &Head) -> Raw {
    let text = |text: &str| Raw::from(&Value::from(text));
    let mut members = vec![
        ("schema_version", text(SCHEMA_VERSION)),
        ("kind", text(KIND)),
        ("bundle_id", text(bundle_id)),
        ("generated_at", text(generated_at)),
        ("from_date", text(&head.from_date)),
        ("to_date", text(&head.to_date)),
        ("domain", text(&head.domain)),
        ("tier", text(&head.tier)),
        ("mock", Raw::from(&Value::from(mock))),
        ("source_status", head.source_status.clone()),
        ("context", head.context.clone()),
    ];
    if head.warnings.value().items().is_some_and(|mut warnings| warnings.next().is_some()) {
        members.push(("warnings", head.warnings.clone()));
    }
    Raw::object(members)
}
