//! What matching found out about the documents of a view.
use std::rc::Rc;

use brooklet_kernel::Bitmap;
use brooklet_rank::match_data::Occurrence;
use brooklet_segment::column::dictionary::Entry;

use super::postings::Postings;

/// What a leaf found in one column of a segment.
#[derive(Clone, Debug)]
pub(crate) enum LeafHits {
    /// Documents with the number of occurrences, by ordinal; and the numbers of the words that count, each with how
    /// often the term is in it.
    Words { postings: Rc<Postings>, numbers: Vec<(u32, u32)> },
    /// Each occurrence: ordinal and number of its first word in the document; sorted.
    Places(Vec<(u32, u32)>),
    /// Nothing.
    None,
    /// Only which documents.
    Documents(Bitmap),
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

impl LeafHits {
    /// Puts the documents into a set.
    pub(crate) fn add_to(&self, documents: &mut Bitmap) {
        match self {
            LeafHits::Words { postings, .. } => return postings.add_to(documents),
            LeafHits::Documents(found) => return documents.or(found),
            _ => {}
        }
        let mut filler = documents.filler();
        self.for_each_document(|ordinal| filler.set(ordinal as usize));
    }

    /// The documents, ascending; one may come several times.
    pub(crate) fn for_each_document(&self, mut each: impl FnMut(u32)) {
        match self {
            LeafHits::Words { postings, .. } => postings.for_each(|ordinal, _| each(ordinal)),
            LeafHits::Places(places) => places.iter().for_each(|(ordinal, _)| each(*ordinal)),
            LeafHits::None => {}
            LeafHits::Documents(documents) => documents.ones().for_each(|ordinal| each(ordinal as u32)),
            LeafHits::Elements(elements) => elements.iter().for_each(|(ordinal, _, _)| each(*ordinal)),
            LeafHits::Kept(kept) => kept.lengths.iter().for_each(|(ordinal, _)| each(*ordinal)),
            LeafHits::Weighted(hits) => hits.iter().for_each(|hit| each(hit.ordinal)),
        }
    }
}

/// What a leaf found in a segment: for each of its targets.
#[derive(Clone, Debug)]
pub(crate) struct LeafMatch {
    pub(crate) found: Vec<LeafHits>,
    pub(crate) documents: Bitmap,
}

/// The documents of each [`Near`] and each [`SameElement`] of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompositeMatches {
    pub(crate) near: Vec<Bitmap>,
    pub(crate) same_elements: Vec<Bitmap>,
}

/// A token in an element of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WeightedHit {
    pub(crate) ordinal: u32,
    pub(crate) element: u32,
    /// Weight of the token, as the query says.
    pub(crate) of_token: i32,
    /// Weight of the element.
    pub(crate) of_element: i32,
}

/// A word of the dictionary that a test holds for: its number, how often the test's text is in it, its postings.
#[derive(Clone)]
pub(crate) struct Word {
    pub(crate) number: u32,
    pub(crate) times: u32,
    pub(crate) entry: Entry,
}

/// The documents in which parts of a query count; in all, where there is nothing. Empty lists: all parts count in all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) leaves: Vec<Option<Rc<Bitmap>>>,
    pub(crate) nearest: Vec<Option<Rc<Bitmap>>>,
    pub(crate) labeled: Vec<Option<Rc<Bitmap>>>,
}

impl Counted {
    /// The documents in which a leaf counts; nothing if these are all.
    #[inline]
    pub(crate) fn of_leaf(&self, leaf: usize) -> Option<&Bitmap> {
        self.leaves.get(leaf)?.as_deref()
    }

    /// Whether a leaf counts in a document.
    #[inline]
    pub(crate) fn has_leaf(&self, leaf: usize, ordinal: u32) -> bool {
        self.of_leaf(leaf).is_none_or(|documents| documents.get(ordinal as usize))
    }

    /// Whether a neighbour operator counts in a document.
    pub(crate) fn has_nearest(&self, nearest: usize, ordinal: u32) -> bool {
        has(&self.nearest, nearest, ordinal)
    }

    /// Whether a labelled condition counts in a document.
    pub(crate) fn has_labeled(&self, labeled: usize, ordinal: u32) -> bool {
        has(&self.labeled, labeled, ordinal)
    }
}

pub(crate) fn has(parts: &[Option<Rc<Bitmap>>], part: usize, ordinal: u32) -> bool {
    parts.get(part).and_then(Option::as_ref).is_none_or(|documents| documents.get(ordinal as usize))
}

/// What matching found out about a view.
pub(crate) struct ViewMatch {
    pub(crate) leaves: Vec<LeafMatch>,
    pub(crate) settled: CompositeMatches,
    /// Which of it counts for ranking.
    pub(crate) counted: Counted,
}
