//! Confining what was found to some elements of the documents.
use brooklet_kernel::sort;
use brooklet_segment::{ColumnHeader, Gaps, Halt};

use super::found::{Kept, LeafHits};
use super::occurrences::occurrences;
use crate::plan::condition::Target;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Elements that were chosen by the query.
pub(super) enum Chosen {
    /// The one with this number, of every document.
    Number(u32),
    /// Ordinal and element, sorted.
    Listed(Vec<(u32, u32)>),
}

impl Chosen {
    fn has(&self, ordinal: u32, element: u32) -> bool {
        match self {
            Chosen::Number(number) => *number == element,
            Chosen::Listed(list) => list.binary_search(&(ordinal, element)).is_ok(),
        }
    }

    fn has_document(&self, ordinal: u32) -> bool {
        match self {
            Chosen::Number(_) => true,
            Chosen::Listed(list) => {
                let from = list.partition_point(|(other, _)| *other < ordinal);
                list.get(from).is_some_and(|(other, _)| *other == ordinal)
            }
        }
    }
}

/// What a target found, without what is in other elements than the chosen ones.
pub(super) fn confine(
    target: &Target,
    column: &ColumnHeader,
    found: LeafHits,
    mut chosen: Chosen,
    view: &View,
    reads: &mut Reads,
) -> Result<LeafHits, Halt> {
    if let Chosen::Listed(list) = &mut chosen {
        sort(list);
    }
    debug_assert!(target.spec == column.spec, "a target is confined in its own column");
    if let LeafHits::Weighted(mut hits) = found {
        hits.retain(|hit| chosen.has(hit.ordinal, hit.element));
        return Ok(LeafHits::Weighted(hits));
    }
    let mut documents = Vec::new();
    found.for_each_document(|ordinal| documents.push(ordinal));
    documents.dedup();
    let mut kept = Kept::default();
    let mut gaps = Gaps::default();
    for ordinal in documents.into_iter().filter(|ordinal| chosen.has_document(*ordinal)) {
        let mut own = Vec::new();
        if let Some(length) = gaps.note(occurrences(Some(column), &found, view, ordinal, reads, &mut own))? {
            let own = own.into_iter().filter(|occurrence| chosen.has(ordinal, occurrence.element));
            kept.push(ordinal, own, length.unwrap_or(0));
        }
    }
    gaps.check()?;
    Ok(LeafHits::Kept(kept))
}
