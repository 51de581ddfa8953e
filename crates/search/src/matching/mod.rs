//! Matching, term at a time: which documents of a segment a leaf matches, and what ranking will want to know of it.
//!
//! [`match_leaf`] looks at columns. Then [`composite`] settles what depends on where terms stand (near, sameElement):
//! document at a time, and only for documents that can still match.
pub(crate) mod composite;
pub(crate) mod counted;
pub(crate) mod elements;
pub(crate) mod last_postings;
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

use std::rc::Rc;

use brooklet_kernel::Bitmap;
use brooklet_rank::match_data::Occurrence;
use brooklet_segment::{ColumnHeader, Halt};

use crate::partition::View;
use crate::plan::{KeyTest, Leaf, Target, Test, Within};
use crate::reads::Reads;
use postings::Postings;
use walk::Walk;
use weighted::WeightedHit;

/// What a leaf found in one column of a segment.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// Documents with the number of occurrences, by ordinal; and the numbers of the words that count, each with how
    /// often the term is in it.
    Words { postings: Rc<Postings>, numbers: Vec<(u32, u32)> },
    /// Each occurrence: ordinal and number of its first word in the document; sorted.
    Places(Vec<(u32, u32)>),
    /// Only which documents; ascending.
    Documents(Vec<u32>),
    /// Which elements of documents with several values: ordinal, element, its weight; sorted.
    Elements(Vec<(u32, u32, i32)>),
    /// The occurrences themselves, sorted.
    Kept(Kept),
    /// Tokens of a weighted operator, by ordinal.
    Weighted(Vec<WeightedHit>),
}

/// Occurrences by document, and for each document with one how long the field is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) occurrences: Vec<(u32, Occurrence)>,
    pub(crate) lengths: Vec<(u32, u32)>,
}

impl Kept {
    /// Adds the occurrences of a document that comes after all others; nothing if there are none.
    pub(crate) fn push(&mut self, ordinal: u32, occurrences: impl IntoIterator<Item = Occurrence>, length: u32) {
        let before = self.occurrences.len();
        self.occurrences.extend(occurrences.into_iter().map(|occurrence| (ordinal, occurrence)));
        if self.occurrences.len() > before {
            self.lengths.push((ordinal, length));
        }
    }

    /// Whether something is in this element of a document.
    pub(crate) fn has(&self, ordinal: u32, element: u32) -> bool {
        let at = |(other, occurrence): &(u32, Occurrence)| (*other, occurrence.element).cmp(&(ordinal, element));
        self.occurrences.binary_search_by(at).is_ok()
    }
}

impl Found {
    /// Puts the documents into a set.
    pub(crate) fn add_to(&self, documents: &mut Bitmap) {
        if let Found::Words { postings, .. } = self {
            return postings.add_to(documents);
        }
        let mut filler = documents.filler();
        self.for_each_document(|ordinal| filler.set(ordinal as usize));
    }

    /// The documents, ascending; one may come several times.
    pub(crate) fn for_each_document(&self, mut each: impl FnMut(u32)) {
        match self {
            Found::Words { postings, .. } => postings.for_each(|ordinal, _| each(ordinal)),
            Found::Places(places) => places.iter().for_each(|(ordinal, _)| each(*ordinal)),
            Found::Documents(documents) => documents.iter().for_each(|ordinal| each(*ordinal)),
            Found::Elements(elements) => elements.iter().for_each(|(ordinal, _, _)| each(*ordinal)),
            Found::Kept(kept) => kept.lengths.iter().for_each(|(ordinal, _)| each(*ordinal)),
            Found::Weighted(hits) => hits.iter().for_each(|hit| each(hit.ordinal)),
        }
    }
}

/// What a leaf found in a segment: for each of its targets.
#[derive(Clone, Debug)]
pub(crate) struct LeafMatch {
    pub(crate) found: Vec<Found>,
    pub(crate) documents: Bitmap,
}

/// Matches a leaf against a segment, from where `walks` are. All blocks that are missing are noted before it halts; if
/// none are, the step has worked enough.
pub(crate) fn match_leaf(
    leaf: &Leaf,
    view: &View,
    reads: &mut Reads,
    walks: &mut Vec<Walk>,
) -> Result<LeafMatch, Halt> {
    walks.resize_with(leaf.targets.len(), Walk::default);
    let mut halted = false;
    for (target, walk) in leaf.targets.iter().zip(walks.iter_mut()).filter(|(_, walk)| walk.found.is_none()) {
        match match_target(target, view, reads, walk) {
            Ok(found) => *walk = Walk { found: Some(found), ..Walk::default() },
            Err(Halt::Missing) => halted = true,
            Err(halt) => return Err(halt),
        }
    }
    if halted {
        return Err(Halt::Missing);
    }
    let found: Vec<Found> = std::mem::take(walks).into_iter().filter_map(|walk| walk.found).collect();
    let mut documents = Bitmap::none(view.segment.header.documents as usize);
    found.iter().for_each(|of_target| of_target.add_to(&mut documents));
    documents.and(&view.alive);
    Ok(LeafMatch { found, documents })
}

fn match_target(target: &Target, view: &View, reads: &mut Reads, walk: &mut Walk) -> Result<Found, Halt> {
    Ok(match (find_target(target, view, reads, walk)?, &target.test) {
        (Found::Weighted(hits), Test::Weighted(test)) => Found::Weighted(weighted::above_threshold(test, hits)),
        (found, _) => found,
    })
}

/// What a target asks for, in the elements it is confined to.
fn find_target(target: &Target, view: &View, reads: &mut Reads, walk: &mut Walk) -> Result<Found, Halt> {
    let Some(column) = view.segment.header.column(&target.spec) else { return Ok(Found::Documents(Vec::new())) };
    let Some(within) = &target.within else { return match_test(column, &target.test, view, reads, walk) };
    // What is missing of both is noted before it halts.
    let chosen = chosen_elements(within, view, reads);
    if walk.unconfined.is_none() {
        walk.unconfined = Some(match_test(column, &target.test, view, reads, walk)?);
    }
    let found = walk.unconfined.clone().unwrap_or(Found::Documents(Vec::new()));
    elements::confine(target, column, found, chosen?, view, reads)
}

fn match_test(
    column: &ColumnHeader,
    test: &Test,
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<Found, Halt> {
    match test {
        Test::Words(words) => text::match_words(column, words, view, reads, walk),
        Test::Phrase(phrase) => phrase::match_phrase(column, phrase, view, reads),
        Test::Text { words, text } => values::match_text(column, words, text, view, reads, walk),
        Test::Number(test) => number::match_numbers(column, test, view, reads),
        Test::Value(test) => values::match_values(column, test, view, reads, walk),
        Test::Weighted(test) => weighted::match_weighted(column, test, view, reads),
        Test::Position(test) => number::match_positions(column, *test, view, reads),
        Test::Elements => Ok(Found::Documents(Vec::new())),
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
        Found::Elements(elements) => elements.into_iter().map(|(ordinal, element, _)| (ordinal, element)).collect(),
        _ => Vec::new(),
    }))
}
