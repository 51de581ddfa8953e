//! `textSimilarity(field)`: how alike the query and a single-valued field are as token sequences.
//!
//! The terms are taken greedily from left to right: each at its first occurrence beyond the last one taken, in order of
//! position, then of term. With matches = min(length, terms taken):
//! proximity = mean over consecutive terms taken of 1 − ((distance − 1)/8)², 0 beyond 8;
//! order = share of consecutive terms taken that are in query order; queryCoverage = share of the terms' weight taken;
//! fieldCoverage = matches/length; score = 0.35·proximity + 0.15·order + 0.30·queryCoverage + 0.20·fieldCoverage.
//! A single match has the proximity of the field's length, and order 1 only if the query is that one term.

use super::call::Call;
use crate::features::prepared::{Executor, Prepared};
use crate::features::properties::refuse;
use crate::match_data::{Collection, MatchData, Slot};
use brooklet_task::Rejection;

/// Its outputs, the one it has without a name first.
pub const OUTPUTS: &[&str] = &["score", "proximity", "order", "queryCoverage", "fieldCoverage"];

struct TextSimilarity {
    terms: Vec<(Slot, f64)>,
    total_weight: f64,
    /// (position, term) of all occurrences of the document at hand; kept for its memory.
    places: Vec<(u32, u32)>,
    is_taken: Vec<bool>,
}

/// Makes `textSimilarity` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    if field.collection != Collection::Single {
        return Err(refuse(format!("Field '{}' is not a single value field", field.name)));
    }
    let terms: Vec<(Slot, f64)> = call
        .environment
        .terms_of_field(field.id)
        .filter(|(ranked, _)| ranked.term.weight != 0)
        .map(|(ranked, slot)| (slot, f64::from(ranked.term.weight)))
        .collect();
    let total_weight = terms.iter().map(|(_, weight)| weight).sum();
    let executor = TextSimilarity { is_taken: vec![false; terms.len()], terms, total_weight, places: Vec::new() };
    Ok(call.ready(OUTPUTS, executor))
}

impl Executor for TextSimilarity {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let Some(length) = self.gather(data) else {
            outputs.fill(0.0);
            return;
        };
        let taken = self.take();
        let matches = length.min(taken.terms);
        let (proximity, order) = if matches < 2 {
            (proximity(length), f64::from(u8::from(self.terms.len() == 1)))
        } else {
            let pairs = f64::from(matches - 1);
            (taken.proximity / pairs, f64::from(taken.in_order) / pairs)
        };
        let query_coverage = if self.total_weight == 0.0 { 0.0 } else { taken.weight / self.total_weight };
        let field_coverage = if length == 0 { 0.0 } else { f64::from(matches) / f64::from(length) };
        let score = 0.35 * proximity + 0.15 * order + 0.30 * query_coverage + 0.20 * field_coverage;
        outputs.copy_from_slice(&[score, proximity, order, query_coverage, field_coverage]);
    }
}

/// Sums over the terms taken.
struct Taken {
    terms: u32,
    weight: f64,
    proximity: f64,
    in_order: u32,
}

impl TextSimilarity {
    /// Merges the occurrences of all terms by position; the field's length, or `None` if there are none.
    fn gather(&mut self, data: &MatchData) -> Option<u32> {
        self.places.clear();
        let mut length = None;
        for (index, (slot, _)) in self.terms.iter().enumerate() {
            for occurrence in data.hits(*slot).map_or(&[][..], |hits| hits.occurrences) {
                self.places.push((occurrence.position, index as u32));
                length = Some(occurrence.element_length);
            }
        }
        self.places.sort_unstable();
        length
    }

    fn take(&mut self) -> Taken {
        self.is_taken.fill(false);
        let mut taken = Taken { terms: 0, weight: 0.0, proximity: 0.0, in_order: 0 };
        let mut last: Option<(u32, u32)> = None;
        for (position, term) in self.places.iter().copied() {
            if self.is_taken[term as usize] || last.is_some_and(|(last_position, _)| position <= last_position) {
                continue;
            }
            if let Some((last_position, last_term)) = last {
                taken.proximity += proximity(position - last_position);
                taken.in_order += u32::from(term > last_term);
            }
            self.is_taken[term as usize] = true;
            taken.terms += 1;
            taken.weight += self.terms[term as usize].1;
            last = Some((position, term));
        }
        taken
    }
}

/// How near two terms at that distance are, or how near a single term is to a field of that length: 1 next to it, 0 beyond
/// 8.
pub fn proximity(distance: u32) -> f64 {
    if distance > 8 {
        return 0.0;
    }
    let scaled = (f64::from(distance) - 1.0) / 8.0;
    1.0 - scaled * scaled
}
