//! Segments that lack columns of their schema: those that were written before a deployment that added some.
use brooklet_document::unread::written_name;
use brooklet_kernel::Bitmap;

use crate::document::{BlockSource, read_source};
use crate::halt::{Gaps, Halt};
use crate::header::Header;
use crate::stored_schema::StoredSchema;

/// Whether a segment answers as it would if it were written anew now: it has the columns of the schema, or lacks but those of
/// fields that none of its documents which are alive has a value of. All missing blocks are asked for before it halts.
///
/// # Errors
/// If a block is missing or damaged.
pub fn answers_as_rewritten(
    header: &Header,
    stored: &StoredSchema,
    alive: &Bitmap,
    blocks: &mut dyn BlockSource,
) -> Result<bool, Halt> {
    if header.fingerprint == stored.fingerprint {
        return Ok(true);
    }
    let specs = || header.columns.iter().map(|column| &column.spec);
    // A value that was written for another type of its field is not read any more: then the fingerprint is not that of its columns.
    if header.fingerprint != stored.fingerprint_of(specs()) || !specs().all(|spec| stored.columns.contains(spec)) {
        return Ok(false);
    }
    let lacking: Vec<&str> =
        stored.columns.iter().filter(|spec| header.column(spec).is_none()).map(|spec| spec.document_field()).collect();
    let mut gaps = Gaps::default();
    for ordinal in alive.ones() {
        let values = read_source(header, ordinal as u32, &|name| lacking.contains(&written_name(name)), blocks);
        if gaps.note(values)?.is_some_and(|values| !values.is_empty()) {
            return Ok(false);
        }
    }
    gaps.check().map(|()| true)
}
