//! The two kinds of what is saved. A type and its word in the answers of SQL; no statement.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};

/// What an artifact is saved as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A stage: saving it completes it.
    Stage,
    /// A marker: it completes nothing.
    Marker,
}

/// The word in the answers of `sql/find.sql` and `sql/saved.sql`.
impl FromSql for Kind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value.as_str()? {
            "stage" => Ok(Self::Stage),
            "marker" => Ok(Self::Marker),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}
