//! The strictness of reading documents.

/// The strictness of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Pass over fields that the document type does not have, instead of refusing them.
    pub ignore_undefined_fields: bool,
    /// Take values in their own JSON type only: no numbers in strings, no strings from numbers.
    pub strict: bool,
}
