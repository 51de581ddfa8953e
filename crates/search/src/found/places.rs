//! Where the leaves of a query stand in one document: what summaries show of it, and what explanations tell.
use brooklet_rank::match_data::Occurrence;
use brooklet_segment::Halt;

use crate::matching::occurrences::occurrences;
use crate::plan::SchemaPlan;
use crate::ranking::spot::Spot;
use crate::resident::reads::Reads;

/// The leaves that must or may match, without those that must not. What of them took part in a match of operators that
/// look at places, like sameElement, is all they have found.
pub(crate) fn positive_leaves(plan: &SchemaPlan) -> impl Iterator<Item = usize> {
    let below_near = |leaf: &usize| plan.near.iter().any(|near| near.negatives.contains(leaf));
    (0..plan.leaves.len()).filter(move |leaf| !plan.leaves[*leaf].negated && !below_near(leaf))
}

/// Where a target of a leaf matched the document, in order; nothing if it did not.
pub(crate) fn places_of(
    plan: &SchemaPlan,
    leaf: usize,
    target: usize,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Vec<Occurrence>, Halt> {
    let matched = &spot.matches[spot.view].leaves[leaf];
    let column = spot.at().segment.header.column(&plan.leaves[leaf].targets[target].spec);
    let mut places = Vec::new();
    if matched.documents.get(spot.ordinal as usize) {
        occurrences(column, &matched.found[target], spot.at(), spot.ordinal, reads, &mut places)?;
    }
    Ok(places)
}
