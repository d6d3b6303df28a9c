//! Legacy stage directories: manifest.json and a file for each artifact (contracts stages.md and legacy-files.md).
//!
//! No table is owned here; what a directory says goes through the room's own rows.

mod export;
mod import;
mod manifest;

pub use export::{Exported, export};
pub use import::{Imported, import};
pub use manifest::Shortfall;

use super::name::StageName;

/// The file that says what is completed.
const MANIFEST: &str = "manifest.json";

/// The file of an artifact.
fn file_name(name: &StageName) -> String {
    format!("{name}.json")
}
