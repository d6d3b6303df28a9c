//! Reading a column of a row.
//!
//! Another program may have put any value into a row. Whoever reads a column asks here, so that a value of the wrong kind
//! is one error that names the column, its row and the kind that was found; a room only decides whose trouble it is.

use rusqlite::types::{FromSql, FromSqlError, ValueRef};
use rusqlite::{Error, Row, RowIndex};

use crate::text::escaped;

/// The columns that name a row, if a query selects one: the first of them is said.
const NAMES: [&str; 11] = [
    "run_id",
    "bundle_id",
    "pipeline",
    "normalized_name",
    "pending_number",
    "nomination_id",
    "path",
    "name",
    "key",
    "sequence",
    "run_number",
];

/// A stored value that legbook never writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}{} holds {found}", .row.as_ref().map(|row| format!(" of {row}")).unwrap_or_default())]
pub struct OddValue {
    /// The column.
    pub column: String,
    /// The name of the row, as `run_id r1`, if the query selects it.
    pub row: Option<String>,
    /// What the column holds, in words.
    pub found: String,
}

/// The value of the column `index` of `row`.
///
/// # Errors
/// An [`OddValue`] inside of [`Error::FromSqlConversionFailure`], which becomes
/// [`StoreError::Value`](crate::error::StoreError::Value).
pub(crate) fn column<T: FromSql>(row: &Row<'_>, index: impl RowIndex) -> rusqlite::Result<T> {
    let statement = row.as_ref();
    let index = index.idx(statement)?;
    let value = row.get_ref(index)?;
    T::column_result(value).map_err(|error| {
        let column = statement.column_name(index).unwrap_or("?").to_owned();
        let odd = OddValue { row: name_of(row, &column), column, found: found(value, &error) };
        Error::FromSqlConversionFailure(index, value.data_type(), Box::new(odd))
    })
}

/// The first of [`NAMES`] that `row` has beside the odd column.
fn name_of(row: &Row<'_>, odd: &str) -> Option<String> {
    let named = NAMES.iter().filter(|name| **name != odd);
    let mut named = named.filter_map(|name| Some((name, row.get_ref(*name).ok()?)));
    named.find_map(|(name, value)| match value {
        ValueRef::Integer(number) => Some(format!("{name} {number}")),
        ValueRef::Text(bytes) => Some(format!("{name} {:.128}", escaped(&String::from_utf8_lossy(bytes)))),
        _ => None,
    })
}

/// What `value` is, which a reader refused with `error`.
fn found(value: ValueRef<'_>, error: &FromSqlError) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => format!("the number {number}"),
        ValueRef::Real(_) => "a number with a fraction".to_owned(),
        ValueRef::Blob(bytes) => format!("a BLOB of {} bytes", bytes.len()),
        ValueRef::Text(_) if matches!(error, FromSqlError::Utf8Error(_)) => {
            "text that is not UTF-8".to_owned()
        }
        ValueRef::Text(bytes) => format!("a text of {} bytes", bytes.len()),
    }
}
