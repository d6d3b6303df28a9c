//! The byte contract of run.json and of stage artifacts (contract run-json.md).
//!
//! Legacy programs read with Python's `json.loads` and write with `json.dumps`; legbook must give their bytes. That
//! rules out an ordinary JSON value: integers of any size keep every digit, `NaN` and the infinities are values, a lone
//! surrogate escape survives, a repeated key keeps its first place and its last value.
//!
//! Pure: no files, no clock. Cost: linear in the input; nesting is bounded, so no input overflows the stack.

mod value;

pub use value::{Integer, Object, Text, Value};
