//! Which documents are visited: what a selection says of them, and their ids.
use brooklet_document::selection::Selection;
use brooklet_task::{Code, Rejection};

use crate::deployed::Deployed;

/// The selection of a request; nothing: all documents are selected.
pub(super) fn read_selection(text: &str, deployed: &Deployed) -> Result<Option<Selection>, Rejection> {
    if text.is_empty() {
        return Ok(None);
    }
    Selection::parse(text, &deployed.application, Code::BadRequest).map(Some)
}

/// The namespace of a stored id, which is known to be well formed.
pub(super) fn namespace_of(id: &str) -> &str {
    id.split(':').nth(1).unwrap_or_default()
}
