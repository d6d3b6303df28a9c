//! The byte contract of run.json and of stage artifacts (contract run-json.md).
//!
//! Legacy programs read with Python's `json.loads` and write with `json.dumps`; legbook must give their bytes. That
//! rules out an ordinary JSON value: integers of any size keep every digit, `NaN` and the infinities are values, a lone
//! surrogate escape survives, a repeated key keeps its first place and its last value.
//!
//! Pure: no files, no clock. Cost: linear in the input; nesting is bounded, so no input overflows the stack.

mod number;
mod parse;
pub mod raw;
mod token;
mod value;
mod write;

pub use parse::{parse, parse_object, parse_unique};
pub use raw::{Raw, RawValue};
pub use value::{Integer, Object, Text, Value};
pub use write::{artifact_bytes, canonical_bytes, indented, line, snapshot_bytes};
