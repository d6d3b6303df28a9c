//! The table `recoveries`: the receipts that recovery has written.

use rusqlite::{Transaction, params};

use crate::db::change_one;
use crate::digest::Digest;
use crate::error::Result;
use crate::id::RunId;
use crate::json::{Object, Value};

/// Keeps the receipt `bytes` (the snapshot encoding of `object`) of `run_id`, made after the journal's `after_sequence`
/// (0 without a journal).
pub(crate) fn keep(
    tx: &Transaction<'_>,
    run_id: &RunId,
    after_sequence: i64,
    recovered_at: &str,
    object: &Object,
    bytes: &[u8],
) -> Result<()> {
    let failure = object.get("failure".as_bytes());
    let owner_pid = failure.and_then(|failure| failure.get("owner_pid")).and_then(Value::as_i64);
    let prior_status = failure.and_then(|failure| failure.get("prior_status")).and_then(Value::as_str);
    change_one(
        tx,
        include_str!("sql/keep_receipt.sql"),
        params![
            run_id.as_str(),
            after_sequence,
            recovered_at,
            owner_pid,
            prior_status,
            Digest::of(bytes).to_hex(),
            bytes
        ],
    )
}
