//! What scripts know of the write that they are run for.

/// The document that is written, and when.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// Its whole id.
    pub id: &'a str,
    /// µs since 1970.
    pub time: u64,
}
