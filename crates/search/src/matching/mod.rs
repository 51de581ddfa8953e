//! Matching, term at a time: which documents of a segment a leaf matches, and what ranking will want to know of it.
//!
//! [`match_leaf`] looks at columns. Then [`composite`] settles what depends on where terms stand (near, sameElement):
//! document at a time, and only for documents that can still match.
pub(crate) mod composite;
pub(crate) mod counted;
pub(crate) mod elements;
pub(crate) mod found;
pub(crate) mod last_postings;
pub(crate) mod last_words;
pub(crate) mod near;
pub(crate) mod number;
pub(crate) mod occurrences;
pub(crate) mod phrase;
mod positions;
pub(crate) mod postings;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod tree;
pub(crate) mod values;
mod variants;
pub(crate) mod walk;
pub(crate) mod weighted;
pub(crate) mod words;

use brooklet_kernel::Bitmap;
use brooklet_segment::{ColumnHeader, Gaps, Halt};

use crate::plan::condition::{KeyTest, Leaf, Target, Test, Within};
use crate::resident::partition::View;
use crate::resident::reads::Reads;
use found::{LeafHits, LeafMatch};
use walk::Walk;

/// Matches a leaf against a segment, from where `walks` are. All blocks that are missing are noted before it halts; if
/// none are, the step has worked enough.
pub(crate) fn match_leaf(
    leaf: &Leaf,
    view: &View,
    reads: &mut Reads,
    walks: &mut Vec<Walk>,
) -> Result<LeafMatch, Halt> {
    walks.resize_with(leaf.targets.len(), Walk::default);
    let mut gaps = Gaps::default();
    for (target, walk) in leaf.targets.iter().zip(walks.iter_mut()).filter(|(_, walk)| walk.found.is_none()) {
        if let Some(found) = gaps.note(match_target(target, view, reads, walk))? {
            *walk = Walk { found: Some(found), ..Walk::default() };
        }
    }
    gaps.check()?;
    let found: Vec<LeafHits> = std::mem::take(walks).into_iter().filter_map(|walk| walk.found).collect();
    let mut documents = Bitmap::none(view.segment.header.documents as usize);
    found.iter().for_each(|of_target| of_target.add_to(&mut documents));
    documents.and(&view.alive);
    Ok(LeafMatch { found, documents })
}

fn match_target(target: &Target, view: &View, reads: &mut Reads, walk: &mut Walk) -> Result<LeafHits, Halt> {
    Ok(match (find_target(target, view, reads, walk)?, &target.test) {
        (LeafHits::Weighted(hits), Test::Weighted(test)) => LeafHits::Weighted(weighted::above_threshold(test, hits)),
        (found, _) => found,
    })
}

/// What a target asks for, in the elements it is confined to.
fn find_target(target: &Target, view: &View, reads: &mut Reads, walk: &mut Walk) -> Result<LeafHits, Halt> {
    let Some(column) = view.segment.header.column(&target.spec) else { return Ok(LeafHits::None) };
    let Some(within) = &target.within else { return match_test(column, &target.test, view, reads, walk) };
    // What is missing of both is noted before it halts.
    let chosen = chosen_elements(within, view, reads);
    if walk.unconfined.is_none() {
        walk.unconfined = Some(match_test(column, &target.test, view, reads, walk)?);
    }
    let found = walk.unconfined.clone().unwrap_or(LeafHits::None);
    elements::confine(target, column, found, chosen?, view, reads)
}

fn match_test(
    column: &ColumnHeader,
    test: &Test,
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<LeafHits, Halt> {
    match test {
        Test::Words(words) => text::match_words(column, words, view, reads, walk),
        Test::Phrase(phrase) => phrase::match_phrase(column, phrase, view, reads),
        Test::Text { words, text } => values::match_text(column, words, text, view, reads, walk),
        Test::Number(test) => number::match_numbers(column, test, view, reads),
        Test::Value(test) => values::match_values(column, test, view, reads, walk),
        Test::Weighted(test) => weighted::match_weighted(column, test, view, reads, walk),
        Test::Position(test) => number::match_positions(column, *test, view, reads),
        Test::Elements => Ok(LeafHits::None),
    }
}

/// The elements a target is confined to.
fn chosen_elements(within: &Within, view: &View, reads: &mut Reads) -> Result<elements::Chosen, Halt> {
    let (spec, test) = match within {
        Within::Element(number) => return Ok(elements::Chosen::Number(*number)),
        Within::Key(spec, test) => (spec, test),
    };
    let Some(column) = view.segment.header.column(spec) else { return Ok(elements::Chosen::Listed(Vec::new())) };
    let found = match test {
        KeyTest::Text(key) => values::match_strings(column, key, view, reads)?,
        KeyTest::Number(test) => number::match_numbers(column, test, view, reads)?,
    };
    Ok(elements::Chosen::Listed(match found {
        LeafHits::Elements(elements) => elements.into_iter().map(|(ordinal, element, _)| (ordinal, element)).collect(),
        _ => Vec::new(),
    }))
}
