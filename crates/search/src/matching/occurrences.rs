//! Where a leaf stands in a document, for ranking and for operators that ask.
use brooklet_rank::match_data::{FieldId, Occurrence};
use brooklet_segment::column::text;
use brooklet_segment::column::text::Text;
use brooklet_segment::{ColumnHeader, Gaps, Halt};

use super::found::{LeafHits, LeafMatch};
use super::words::{Extent, WordReader};
use super::{last_words, weighted};
use crate::plan::condition::Leaf;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Words that are looked at in the time of a byte that slow matching looks at.
const WORDS_OF_WORK: usize = 4;

/// Puts the occurrences of a target in a document into `out`, sorted, and says how long the field is; nothing if it did
/// not match.
pub(crate) fn occurrences(
    column: Option<&ColumnHeader>,
    found: &LeafHits,
    view: &View,
    ordinal: u32,
    reads: &mut Reads,
    out: &mut Vec<Occurrence>,
) -> Result<Option<u32>, Halt> {
    let start = out.len();
    let length = match found {
        LeafHits::None => return Ok(None),
        LeafHits::Documents(documents) => {
            if !documents.get(ordinal as usize) {
                return Ok(None);
            }
            out.push(Occurrence { element: 0, position: 0, element_length: 1, element_weight: 1 });
            1
        }
        LeafHits::Elements(elements) => {
            let from = elements.partition_point(|(other, _, _)| *other < ordinal);
            let own = elements[from..].iter().take_while(|(other, _, _)| *other == ordinal);
            out.extend(own.map(|(_, element, weight)| Occurrence {
                element: *element,
                position: 0,
                element_length: 1,
                element_weight: *weight,
            }));
            1
        }
        LeafHits::Weighted(hits) => {
            out.extend(weighted::occurrences(hits, ordinal));
            1
        }
        LeafHits::Kept(kept) => {
            let Ok(at) = kept.lengths.binary_search_by_key(&ordinal, |(other, _)| *other) else { return Ok(None) };
            let from = kept.occurrences.partition_point(|(other, _)| *other < ordinal);
            let own = kept.occurrences[from..].iter().take_while(|(other, _)| *other == ordinal);
            out.extend(own.map(|(_, occurrence)| *occurrence));
            kept.lengths[at].1
        }
        LeafHits::Words { postings, numbers } => {
            let Some(column) = column else { return Ok(None) };
            if postings.find(ordinal, 0).is_none() {
                return Ok(None);
            }
            let mut reader = WordReader::new(Text::from_column(column)?, &view.segment);
            word_occurrences(&mut reader, (view, ordinal), numbers, reads, out)?
        }
        LeafHits::Places(all) => {
            let Some(column) = column else { return Ok(None) };
            let from = all.partition_point(|(other, _)| *other < ordinal);
            let own = all[from..].iter().take_while(|(other, _)| *other == ordinal);
            let places: Vec<u32> = own.map(|(_, place)| *place).collect();
            if places.is_empty() {
                return Ok(None);
            }
            let mut reader = WordReader::new(Text::from_column(column)?, &view.segment);
            let extent = reader.extent(ordinal, reads)?;
            reader.occurrences(extent, &places, reads, out)?;
            extent.words()
        }
    };
    // Several values of one element come one after the other, each from position 0.
    let own = &mut out[start..];
    if !own.is_sorted_by_key(place) {
        own.sort_by_key(place);
    }
    Ok((out.len() > start).then_some(length))
}

/// What occurrences are sorted and told apart by. Values of one element that is a list differ by their length at most.
pub(super) fn place(occurrence: &Occurrence) -> (u32, u32, u32) {
    (occurrence.element, occurrence.position, occurrence.element_length)
}

/// Where some words stand among those of a document. Most terms are one word.
fn places_among(words: &[u32], numbers: &[(u32, u32)]) -> Vec<u32> {
    if let [(only, 1)] = numbers {
        return (0..).zip(words).filter(|(_, word)| *word == only).map(|(place, _)| place).collect();
    }
    let mut places = Vec::new();
    for (place, word) in (0..).zip(words) {
        if let Ok(at) = numbers.binary_search_by_key(word, |(number, _)| *number) {
            places.extend(std::iter::repeat_n(place, numbers[at].1 as usize));
        }
    }
    places
}

/// Where some words stand in a document, ascending.
fn places_of(
    reader: &mut WordReader<'_>,
    (view, ordinal, extent): (&View, u32, Extent),
    numbers: &[(u32, u32)],
    reads: &mut Reads,
) -> Result<Vec<u32>, Halt> {
    let words = extent.words() as usize;
    let column = (&view.segment, ordinal, reader.text.part(text::WORDS).first_block);
    if last_words::is_worth_it(words, numbers.len()) && reads.last_words.column(column).is_asked_often() {
        if !reads.last_words.column(column).is_in_order() {
            let words = reader.words(extent, reads)?;
            reads.work(words.len());
            reads.last_words.column(column).put_in_order(words);
        }
        return Ok(reads.last_words.column(column).places(numbers));
    }
    reads.work(words / WORDS_OF_WORK);
    Ok(places_among(reader.words(extent, reads)?, numbers))
}

/// Where words stand in a document, and how many words it has.
fn word_occurrences(
    reader: &mut WordReader<'_>,
    (view, ordinal): (&View, u32),
    numbers: &[(u32, u32)],
    reads: &mut Reads,
    out: &mut Vec<Occurrence>,
) -> Result<u32, Halt> {
    let extent = reader.extent(ordinal, reads)?;
    let places = places_of(reader, (view, ordinal, extent), numbers, reads)?;
    reader.occurrences(extent, &places, reads, out)?;
    Ok(extent.words())
}

/// What a leaf found in one field of a document.
#[derive(Clone, Debug)]
pub(crate) struct FieldHits {
    pub(crate) field: FieldId,
    /// Words of the field.
    pub(crate) length: u32,
    /// Sorted by element and position.
    pub(crate) occurrences: Vec<Occurrence>,
}

/// Where a leaf stands in a document, field by field. What targets of one field find at one place counts once.
pub(crate) fn leaf_hits(
    leaf: &Leaf,
    matched: &LeafMatch,
    view: &View,
    ordinal: u32,
    reads: &mut Reads,
) -> Result<Vec<FieldHits>, Halt> {
    let mut hits: Vec<FieldHits> = Vec::new();
    let mut gaps = Gaps::default();
    for (target, found) in leaf.targets.iter().zip(&matched.found) {
        let column = view.segment.header.column(&target.spec);
        let mut occurrences = Vec::new();
        let length = gaps.note(self::occurrences(column, found, view, ordinal, reads, &mut occurrences))?.flatten();
        let Some(length) = length else { continue };
        match hits.iter_mut().find(|other| other.field == target.field) {
            Some(other) => join(other, length, &occurrences),
            None => hits.push(FieldHits { field: target.field, length, occurrences }),
        }
    }
    gaps.check()?;
    if leaf.shares_fields {
        hits.iter_mut().for_each(|hits| hits.occurrences.dedup_by_key(|occurrence| place(occurrence)));
    }
    Ok(hits)
}

fn join(hits: &mut FieldHits, length: u32, occurrences: &[Occurrence]) {
    hits.length = hits.length.max(length);
    hits.occurrences.extend_from_slice(occurrences);
    hits.occurrences.sort_by_key(place);
}
