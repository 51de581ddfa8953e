//! Tokens with weights against a column: weightedSet, dotProduct and wand.
use std::cmp::Reverse;

use brooklet_rank::match_data::Occurrence;
use brooklet_segment::column::number::Values;
use brooklet_segment::column::text::Text;
use brooklet_segment::layout::ColumnKind;
use brooklet_segment::{ColumnHeader, Gaps, Halt};
use brooklet_task::Rejection;
use rustc_hash::FxHashMap;

use super::found::{LeafHits, WeightedHit};
use super::walk::Walk;
use super::words::WordReader;
use super::{number, text};
use crate::plan::condition::{How, Scoring, WeightedKeys, WeightedTest, WordTest};
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// The tokens of documents that have one, those of each document from the heaviest on.
pub(crate) fn match_weighted(
    column: &ColumnHeader,
    test: &WeightedTest,
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<LeafHits, Halt> {
    let mut hits = match (&test.keys, &column.spec.kind) {
        (WeightedKeys::Words(keys), ColumnKind::Text { .. }) => word_hits(column, keys, view, reads, walk)?,
        (keys, ColumnKind::Numbers { number, collection }) => {
            let part = column.parts.first().ok_or_else(|| Rejection::corrupt("a column of numbers without them"))?;
            let mut hits = Vec::new();
            number::each_value(part, *number, *collection, view, reads, |ordinal, element, weight, values, at| {
                let of_token = weight_of(keys, values, at);
                hits.extend(of_token.map(|of_token| WeightedHit { ordinal, element, of_token, of_element: weight }));
            })?;
            hits
        }
        _ => return Err(Rejection::corrupt("weighted tokens on another column").into()),
    };
    // Ranking wants the heaviest tokens first.
    let heaviest = |hit: &WeightedHit| (hit.ordinal, Reverse(hit.of_token), Reverse(hit.of_element), hit.element);
    hits.sort_unstable_by_key(heaviest);
    Ok(LeafHits::Weighted(hits))
}

/// Of a wand with a positive threshold the documents above it; of other operators all.
pub(super) fn above_threshold(test: &WeightedTest, mut hits: Vec<WeightedHit>) -> Vec<WeightedHit> {
    let Scoring::Wand(threshold) = test.scoring else { return hits };
    if threshold > 0.0 {
        let own = hits.chunk_by(|a, b| a.ordinal == b.ordinal);
        hits = own.filter(|own| dot_product(own) as f64 > threshold).flatten().copied().collect();
    }
    hits
}

fn weight_of(keys: &WeightedKeys, values: &Values<'_>, at: usize) -> Option<i32> {
    match keys {
        WeightedKeys::Integers(keys) => {
            let found = keys.binary_search_by_key(&values.integer(at), |(key, _)| *key);
            found.ok().map(|place| keys[place].1)
        }
        WeightedKeys::Floats(keys) => {
            let value = values.float(at);
            // Both zeros are one value.
            let place = keys.partition_point(|(key, _)| *key < value);
            keys.get(place).filter(|(key, _)| *key == value).map(|(_, weight)| *weight)
        }
        WeightedKeys::Words(_) => None,
    }
}

#[inline(never)]
fn word_hits(
    column: &ColumnHeader,
    keys: &[(String, i32)],
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<Vec<WeightedHit>, Halt> {
    let text = Text::from_column(column)?;
    let Walk { candidates, looked_up, weights, weighted, .. } = walk;
    let candidates = candidates.get_or_insert_default();
    let mut gaps = Gaps::default();
    for (key, weight) in keys.iter().filter(|(key, _)| !key.is_empty()).skip(*looked_up) {
        if reads.rests() {
            return Err(Halt::Missing);
        }
        let test = WordTest { text: key.clone(), how: How::Equals };
        let found = text::match_words(column, std::slice::from_ref(&test), view, reads, &mut Walk::default());
        let found = gaps.note(found)?;
        // What follows a missing block is looked up when that is there.
        if gaps.are_there() {
            continue;
        }
        *looked_up += 1;
        match found {
            Some(LeafHits::Words { postings, numbers }) if text.several => {
                weights.extend(numbers.iter().map(|(number, _)| (*number, *weight)));
                postings.for_each(|ordinal, _| candidates.push(ordinal));
            }
            Some(LeafHits::Words { postings, .. }) => {
                postings.for_each(|ordinal, count| {
                    let hit = WeightedHit { ordinal, element: 0, of_token: *weight, of_element: 1 };
                    weighted.extend(std::iter::repeat_n(hit, count as usize));
                });
            }
            _ => {}
        }
    }
    gaps.check()?;
    candidates.sort_unstable();
    candidates.dedup();
    let mut reader = WordReader::new(text, &view.segment);
    let mut hits = Vec::new();
    for ordinal in candidates.iter() {
        gaps.note(element_hits(&mut reader, *ordinal, weights, reads, &mut hits))?;
    }
    gaps.check()?;
    hits.append(weighted);
    Ok(hits)
}

/// Hits of a document of several elements.
fn element_hits(
    reader: &mut WordReader<'_>,
    ordinal: u32,
    weights: &FxHashMap<u32, i32>,
    reads: &mut Reads,
    hits: &mut Vec<WeightedHit>,
) -> Result<(), Halt> {
    let extent = reader.extent(ordinal, reads)?;
    let words = reader.words(extent, reads)?;
    let mut places = Vec::new();
    let mut of_tokens = Vec::new();
    for (place, word) in words.iter().enumerate() {
        if let Some(weight) = weights.get(word) {
            places.push(place as u32);
            of_tokens.push(*weight);
        }
    }
    let mut occurrences = Vec::new();
    reader.occurrences(extent, &places, reads, &mut occurrences)?;
    hits.extend(of_tokens.into_iter().zip(occurrences).map(|(of_token, occurrence)| WeightedHit {
        ordinal,
        element: occurrence.element,
        of_token,
        of_element: occurrence.element_weight,
    }));
    Ok(())
}

/// The hits of one document in the list of all.
fn hits_of(hits: &[WeightedHit], ordinal: u32) -> &[WeightedHit] {
    let from = hits.partition_point(|hit| hit.ordinal < ordinal);
    let to = hits.partition_point(|hit| hit.ordinal <= ordinal);
    &hits[from..to]
}

fn dot_product(hits: &[WeightedHit]) -> i64 {
    hits.iter().fold(0i64, |sum, hit| sum.wrapping_add(i64::from(hit.of_token).wrapping_mul(i64::from(hit.of_element))))
}

/// What a weighted operator scores a document in one field; nothing if it gives no score.
pub(crate) fn raw_score(test: &WeightedTest, hits: &[WeightedHit], ordinal: u32) -> Option<f64> {
    let own = hits_of(hits, ordinal);
    if own.is_empty() {
        return None;
    }
    let product = dot_product(own) as f64;
    match test.scoring {
        Scoring::Weights => None,
        Scoring::DotProduct => Some(product),
        Scoring::Wand(threshold) => (product > threshold).then_some(product),
    }
}

/// Which elements of a document have tokens; the weights are those of the tokens.
pub(crate) fn occurrences(hits: &[WeightedHit], ordinal: u32) -> impl Iterator<Item = Occurrence> + '_ {
    hits_of(hits, ordinal).iter().map(|hit| Occurrence {
        element: hit.element,
        position: 0,
        element_length: 1,
        element_weight: hit.of_token,
    })
}

/// What ranking sees of a document's tokens: weights, at no place. Only weightedSet shows them.
pub(crate) fn ranked_occurrences(hits: &[WeightedHit], ordinal: u32) -> impl Iterator<Item = Occurrence> + '_ {
    occurrences(hits, ordinal).map(|occurrence| Occurrence { element: 0, ..occurrence })
}
