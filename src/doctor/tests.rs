//! The vectors through the very questions: rows in the tables of a store, the compiled-in SQL over them.

use std::path::PathBuf;

use rusqlite::{Connection, named_params, params};
use tempfile::TempDir;

use crate::db::{Store, StoreOptions, inspect};
use crate::digest::Digest;
use crate::json::{self, Value};
use crate::receipt;

/// A store whose tables take anything: its triggers are gone.
struct Tables {
    _folder: TempDir,
    path: PathBuf,
}

impl Tables {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        drop(Store::open(&path, StoreOptions::default()).unwrap());
        let plain = Connection::open(&path).unwrap();
        let mut names = plain.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").unwrap();
        let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        for name in names {
            plain.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
        }
        Self { _folder: folder, path }
    }

    fn fill(&self, fill: impl FnOnce(&Connection)) {
        let mut plain = Connection::open(&self.path).unwrap();
        let transaction = plain.transaction().unwrap();
        fill(&transaction);
        transaction.commit().unwrap();
    }

    fn ask<T>(&self, mut ask: impl FnMut(&Connection) -> rusqlite::Result<T>) -> T {
        inspect::examine(&self.path, false, |connection| Ok(ask(connection)?)).unwrap()
    }
}

fn vectors(text: &str) -> Vec<Value> {
    text.lines().map(|line| json::parse(line.as_bytes()).unwrap()).collect()
}

fn text<'a>(vector: &'a Value, key: &str) -> Option<&'a str> {
    vector.get(key).unwrap().as_str()
}

#[test]
fn coverage_vectors_through_the_question() {
    let tables = Tables::new();
    let vectors = vectors(include_str!("../../tests/vectors/coverage.jsonl"));
    for (number, vector) in vectors.iter().enumerate() {
        tables.fill(|plain| {
            plain.execute("DELETE FROM events", []).unwrap();
            for line in vector.get("lines").and_then(Value::as_array).unwrap() {
                let row = params![line.as_str().unwrap()];
                plain.execute("INSERT INTO events (line, journal_bytes) VALUES (?1, 0)", row).unwrap();
            }
        });
        let covered: bool = tables.ask(|connection| {
            connection.query_row(
                include_str!("sql/coverage.sql"),
                named_params! { ":run_id": "r", ":status": text(vector, "checkpoint_status") },
                |row| row.get(0),
            )
        });
        assert_eq!(Some(covered), vector.get("covered").unwrap().as_bool(), "vector {number}");
    }
}

#[test]
fn receipt_vectors_through_the_question() {
    let tables = Tables::new();
    let vectors = vectors(include_str!("../../tests/vectors/stale-lock-receipts.jsonl"));
    let bodies: Vec<Vec<u8>> = vectors
        .iter()
        .map(|vector| {
            let snapshot = text(vector, "snapshot").unwrap();
            json::snapshot_bytes(&json::parse_object(snapshot.as_bytes()).unwrap())
        })
        .collect();
    tables.fill(|plain| {
        for body in &bodies {
            let row = params![Digest::of(body).to_hex(), body.len() as i64, body];
            plain.execute("INSERT OR IGNORE INTO checkpoints VALUES (?1, ?2, ?3)", row).unwrap();
        }
    });
    let what = |body: &[u8], run_json: &[u8]| -> String {
        tables.ask(|connection| {
            connection.query_row(
                include_str!("sql/run_json.sql"),
                named_params! {
                    ":run_id": "r", ":sequence": 1, ":sha256": Digest::of(body).to_hex(), ":run_json": run_json
                },
                |row| row.get(0),
            )
        })
    };
    let mut receipts = 0;
    for (vector, body) in vectors.iter().zip(&bodies) {
        assert_eq!(what(body, body), "last snapshot", "{vector:?}");
        let Some(receipt) = text(vector, "receipt") else { continue };
        let snapshot = json::parse_object(body).unwrap();
        let candidate = json::parse_object(receipt.as_bytes()).unwrap();
        if !receipt::matches_receipt(&snapshot, &candidate) {
            // What recovery makes of a run without a journal lacks the lock's words.
            assert_eq!(vector.get("journaled").unwrap().as_bool(), Some(false), "{vector:?}");
            assert_eq!(what(body, receipt.as_bytes()), "unknown", "{vector:?}");
            continue;
        }
        receipts += 1;
        assert_eq!(what(body, receipt.as_bytes()), "receipt", "{vector:?}");
        let forged = receipt.replace(r#""prior_status": ""#, r#""prior_status": "not "#);
        assert_eq!(what(body, forged.as_bytes()), "unknown", "{vector:?}");
    }
    assert!(receipts > 10, "{receipts} receipts of journaled runs");
}
