//! The byte contract of run.json and of stage artifacts (contract run-json.md).
//!
//! Legacy programs read with Python's `json.loads` and write with `json.dumps`; legbook must give their
//! bytes. That rules out an ordinary JSON value: integers of any size keep every digit, `NaN` and the
//! infinities are values, a lone surrogate escape survives, a repeated key keeps its first place and its last
//! value.
//!
//! `token.rs` knows the grammar; `parse.rs` builds values of its tokens, `raw.rs` keeps them as they are
//! spelled. `write.rs` and `number.rs` spell values, `layout.rs` sets tokens apart.
//!
//! Pure: no files, no clock. Cost: linear in the input; nesting is bounded, so no input overflows the stack.

mod artifact;
mod layout;
mod number;
mod parse;
pub mod raw;
mod token;
mod value;
mod write;

pub use artifact::artifact_from_text;
pub use parse::{parse, parse_object, parse_unique, text_under};
pub use raw::{Raw, RawValue};
pub use value::{Integer, Object, Text, Value, object};
pub use write::{artifact_bytes, canonical_bytes, indented, line, snapshot_bytes};
pub(crate) use write::{canonical_object, canonical_string};
