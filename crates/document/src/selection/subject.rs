//! A document as a selection sees it.
use crate::{DocumentId, Value};

/// A document as a selection sees it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its id.
    pub id: &'a DocumentId,
    /// Its fields; those of [`Selection::fields`] suffice.
    pub fields: &'a [(String, Value)],
    /// Seconds since 1970, for `now()`.
    pub now: i64,
}
