//! The shadow evidence.

/// Why the evidence of a run can't be used. Both close the readiness gate; the next comparison begins it anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShadowError {
    /// Evidence that is damaged, or no evidence at all.
    #[error("evidence-unreadable: the shadow evidence of {run_id}: {rule}")]
    Unreadable {
        /// The run.
        run_id: String,
        /// What is wrong.
        rule: &'static str,
    },
    /// Evidence of another schema, or of another version of the projection.
    #[error("evidence-schema-mismatch: the shadow evidence of {run_id}: {rule}")]
    SchemaMismatch {
        /// The run.
        run_id: String,
        /// What is other.
        rule: &'static str,
    },
}
