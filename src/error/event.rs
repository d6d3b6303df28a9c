//! What the event envelope and the registry refuse.

/// A refused event. One variant a rule of contract events.md.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {}
