//! Tokens with weights against a column: weightedSet, dotProduct and wand.
use brooklet_rank::match_data::Occurrence;
use brooklet_segment::column::number::Values;
use brooklet_segment::column::text::Text;
use brooklet_segment::layout::ColumnKind;
use brooklet_segment::{ColumnHeader, Halt};
use brooklet_task::Rejection;
use rustc_hash::FxHashMap;

use super::words::WordReader;
use super::{Found, number, text};
use crate::partition::View;
use crate::plan::{How, Scoring, WeightedKeys, WeightedTest, WordTest};
use crate::reads::Reads;

/// Documents with one of the tokens; for a wand with a positive threshold those above it.
pub(crate) fn match_weighted(
    column: &ColumnHeader,
    test: &WeightedTest,
    view: &View,
    reads: &mut Reads,
) -> Result<Found, Halt> {
    let mut hits = match (&test.keys, &column.spec.kind) {
        (WeightedKeys::Words(keys), ColumnKind::Text { .. }) => word_hits(column, keys, view, reads)?,
        (keys, ColumnKind::Numbers { number, collection }) => {
            let part = column.parts.first().ok_or_else(|| Rejection::corrupt("a column of numbers without them"))?;
            let mut hits = Vec::new();
            number::each_value(part, *number, *collection, view, reads, |ordinal, _, weight, values, at| {
                hits.extend(weight_of(keys, values, at).map(|of_token| (ordinal, of_token, weight)));
            })?;
            hits
        }
        _ => return Err(Rejection::corrupt("weighted tokens on another column").into()),
    };
    // Ranking wants the heaviest tokens first.
    hits.sort_unstable_by_key(|(ordinal, of_token, of_element)| {
        (*ordinal, std::cmp::Reverse(*of_token), std::cmp::Reverse(*of_element))
    });
    if let Scoring::Wand(threshold) = test.scoring
        && threshold > 0.0
    {
        let mut kept = Vec::new();
        for own in hits.chunk_by(|a, b| a.0 == b.0) {
            if dot_product(own) as f64 > threshold {
                kept.extend_from_slice(own);
            }
        }
        hits = kept;
    }
    Ok(Found::Weighted(hits))
}

fn weight_of(keys: &WeightedKeys, values: &Values<'_>, at: usize) -> Option<i32> {
    match keys {
        WeightedKeys::Integers(keys) => {
            let found = keys.binary_search_by_key(&values.integer(at), |(key, _)| *key);
            found.ok().map(|place| keys[place].1)
        }
        WeightedKeys::Floats(keys) => {
            let value = values.float(at);
            keys.iter().find(|(key, _)| *key == value).map(|(_, weight)| *weight)
        }
        WeightedKeys::Words(_) => None,
    }
}

fn word_hits(
    column: &ColumnHeader,
    keys: &[(String, i32)],
    view: &View,
    reads: &mut Reads,
) -> Result<Vec<(u32, i32, i32)>, Halt> {
    let text = Text::of(column)?;
    let mut weights = FxHashMap::default();
    let (mut hits, mut candidates) = (Vec::new(), Vec::new());
    let mut missing = false;
    for (key, weight) in keys.iter().filter(|(key, _)| !key.is_empty()) {
        let test = WordTest { text: key.clone(), how: How::Equals };
        match text::match_words(column, std::slice::from_ref(&test), view, reads) {
            Ok(Found::Words { postings, numbers }) if text.several => {
                weights.extend(numbers.iter().map(|(number, _)| (*number, *weight)));
                postings.for_each(|ordinal, _| candidates.push(ordinal));
            }
            Ok(Found::Words { postings, .. }) => {
                postings.for_each(|ordinal, count| {
                    hits.extend(std::iter::repeat_n((ordinal, *weight, 1), count as usize));
                });
            }
            Ok(_) => {}
            Err(Halt::Missing) => missing = true,
            Err(halt) => return Err(halt),
        }
    }
    candidates.sort_unstable();
    candidates.dedup();
    let mut reader = WordReader::new(text, &view.segment);
    for ordinal in candidates {
        match element_hits(&mut reader, ordinal, &weights, reads, &mut hits) {
            Ok(()) => {}
            Err(Halt::Missing) => missing = true,
            Err(halt) => return Err(halt),
        }
    }
    if missing { Err(Halt::Missing) } else { Ok(hits) }
}

/// Hits of a document whose elements have weights.
fn element_hits(
    reader: &mut WordReader<'_>,
    ordinal: u32,
    weights: &FxHashMap<u32, i32>,
    reads: &mut Reads,
    hits: &mut Vec<(u32, i32, i32)>,
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
    let weights = of_tokens.into_iter().zip(occurrences);
    hits.extend(weights.map(|(of_token, occurrence)| (ordinal, of_token, occurrence.element_weight)));
    Ok(())
}

/// The hits of one document in the list of all.
pub(crate) fn hits_of(hits: &[(u32, i32, i32)], ordinal: u32) -> &[(u32, i32, i32)] {
    let from = hits.partition_point(|(other, _, _)| *other < ordinal);
    let to = hits.partition_point(|(other, _, _)| *other <= ordinal);
    &hits[from..to]
}

fn dot_product(hits: &[(u32, i32, i32)]) -> i64 {
    hits.iter().fold(0i64, |sum, (_, of_token, of_element)| {
        sum.wrapping_add(i64::from(*of_token).wrapping_mul(i64::from(*of_element)))
    })
}

/// What a weighted operator scores a document in one field; nothing if it gives no score.
pub(crate) fn raw_score(test: &WeightedTest, hits: &[(u32, i32, i32)], ordinal: u32) -> Option<f64> {
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

/// What ranking sees of a document's tokens: weights, at no place. Only weightedSet shows them.
pub(crate) fn occurrences(hits: &[(u32, i32, i32)], ordinal: u32) -> impl Iterator<Item = Occurrence> + '_ {
    let own = hits_of(hits, ordinal).iter();
    own.map(|(_, of_token, _)| Occurrence { element: 0, position: 0, element_length: 1, element_weight: *of_token })
}
