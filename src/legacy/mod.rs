//! Legacy run directories: reading, importing, writing, and judging them where they are (contract legacy-files.md).
//!
//! Owns the tables `imports`, `imported_files` and `quarantine`. Above every other room: it reads and writes journals,
//! checkpoints and runs through the rooms that own them, and asks doctor's questions. Not here: what an event or a
//! checkpoint must be, and what a verdict is.
//!
//! * `folder`: opening what somebody else put there. `layout`: the names. `source`: one run directory. `find`: which run
//!   directories a path means.
//! * `import` and `kept`: each directory whole or not at all, many in one transaction. `export` and `tree`: one directory,
//!   one rename.
//! * `examine` and `lock`: doctor over directories; nothing is written. `advice`: what a person can do about a verdict.
//! * `newer`: telling a directory of a newer program from a damaged one.

mod advice;
mod examine;
mod export;
mod find;
mod folder;
mod import;
mod kept;
mod layout;
mod lock;
mod newer;
mod source;
mod tree;

pub use examine::examine;
pub use export::{Exported, export};
pub use find::{RunDirectory, run_directories};
pub use import::{Imported, Outcome, Partial, import, import_all};
