//! Elements of documents: confining what was found to some of them, and which of a field's matched.
use brooklet_segment::{ColumnHeader, Halt};

use super::occurrences::{leaf_hits, occurrences};
use super::{Found, Kept};
use crate::partition::View;
use crate::plan::{SchemaPlan, Target};
use crate::ranking::ViewMatch;
use crate::reads::Reads;

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
    found: Found,
    mut chosen: Chosen,
    view: &View,
    reads: &mut Reads,
) -> Result<Found, Halt> {
    if let Chosen::Listed(list) = &mut chosen {
        list.sort_unstable();
    }
    debug_assert!(target.spec == column.spec, "a target is confined in its own column");
    let mut documents = Vec::new();
    found.for_each_document(|ordinal| documents.push(ordinal));
    documents.dedup();
    let mut kept = Kept::default();
    let mut missing = false;
    for ordinal in documents.into_iter().filter(|ordinal| chosen.has_document(*ordinal)) {
        let mut own = Vec::new();
        match occurrences(Some(column), &found, view, ordinal, reads, &mut own) {
            Ok(length) => {
                let own = own.into_iter().filter(|occurrence| chosen.has(ordinal, occurrence.element));
                kept.push(ordinal, own, length.unwrap_or(0));
            }
            Err(Halt::Missing) => missing = true,
            Err(halt) => return Err(halt),
        }
    }
    if missing { Err(Halt::Missing) } else { Ok(Found::Kept(kept)) }
}

/// The elements of `field` that a query matched in a document, ascending: of the field itself, and of its parts. What
/// summaries with `matched-elements-only` show. Terms below a `not` do not count.
///
/// # Errors
/// If a block is missing; all that are were noted.
#[allow(dead_code, reason = "asked for by summary classes with matched-elements-only")]
pub(crate) fn matched_elements(
    plan: &SchemaPlan,
    matched: &ViewMatch,
    view: &View,
    ordinal: u32,
    field: &str,
    reads: &mut Reads,
) -> Result<Vec<u32>, Halt> {
    let searches = |name: &str| name == field || name.strip_prefix(field).is_some_and(|rest| rest.starts_with('.'));
    let mut elements = Vec::new();
    let mut missing = false;
    for (leaf, found) in plan.leaves.iter().zip(&matched.leaves) {
        let fields = leaf.targets.iter().map(|target| plan.profile.fields[target.field.0 as usize].name.as_str());
        if leaf.negated || !found.documents.get(ordinal as usize) || !fields.into_iter().any(searches) {
            continue;
        }
        match leaf_hits(leaf, found, view, ordinal, reads) {
            Ok(hits) => {
                let own = hits.iter().filter(|hits| searches(&plan.profile.fields[hits.field.0 as usize].name));
                elements.extend(own.flat_map(|hits| hits.occurrences.iter().map(|occurrence| occurrence.element)));
            }
            Err(Halt::Missing) => missing = true,
            Err(halt) => return Err(halt),
        }
    }
    elements.sort_unstable();
    elements.dedup();
    if missing { Err(Halt::Missing) } else { Ok(elements) }
}
