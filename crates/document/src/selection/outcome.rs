//! What a selection says of a document.

/// What a selection says of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The document is selected.
    True,
    /// It is not.
    False,
    /// It is not, and neither by the opposite: a value was missing or of another type.
    Invalid,
}
