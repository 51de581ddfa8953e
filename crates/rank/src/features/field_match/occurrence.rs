//! How often the words of the query occur in the field, counting up to `maxOccurrences` of each.
//!
//! Words whose first occurrence is the same place count once (the first of them). With M = maxOccurrences, u distinct
//! words and d = min(length, M·u): occurrence = Σ count/d; absoluteOccurrence = Σ count/(M·u);
//! weightedAbsoluteOccurrence = Σ count·weight/M / Σ weight; weightedOccurrence and significantOccurrence = Σ count·x /
//! Σ min(length, M)·x with the words' weights and significances.

use crate::features::field_match::setup::{Setup, share};
use crate::match_data::MatchData;

/// The counts of one document.
#[derive(Clone, Debug, Default)]
pub struct OccurrenceCounts {
    /// (first position, word, occurrences) of every word that matched, then of the distinct ones.
    distinct: Vec<(u32, usize, u32)>,
    shares: [f64; 5],
}

impl OccurrenceCounts {
    /// occurrence, absoluteOccurrence, weightedOccurrence, weightedAbsoluteOccurrence, significantOccurrence.
    pub fn shares(&self) -> [f64; 5] {
        self.shares
    }

    /// Counts the document in `data`, whose field has `length` tokens.
    pub fn count(&mut self, setup: &Setup, data: &MatchData, length: usize) {
        self.gather(setup, data);
        let most = setup.parameters.occurrences_max as usize;
        let absolute_divisor = most as f64 * self.distinct.len() as f64;
        let divisor = absolute_divisor.min(length as f64);
        let possible = length.min(most) as f64;
        let [mut occurrence, mut absolute, mut weighted_absolute, mut total_weight] = [0.0; 4];
        let [mut weighted, mut weighted_whole, mut significant, mut significant_whole] = [0.0; 4];
        for (_, word, count) in &self.distinct {
            let (word, count) = (&setup.words[*word], f64::from(*count));
            occurrence += count / divisor;
            absolute += count / absolute_divisor;
            weighted_absolute += count * word.weight / most as f64;
            total_weight += word.weight;
            weighted += count * word.weight / divisor;
            weighted_whole += possible * word.weight / divisor;
            significant += count * word.significance / divisor;
            significant_whole += possible * word.significance / divisor;
        }
        self.shares = [
            occurrence,
            absolute,
            share(weighted, weighted_whole),
            weighted_absolute / if total_weight > 0.0 { total_weight } else { 1.0 },
            share(significant, significant_whole),
        ];
    }

    fn gather(&mut self, setup: &Setup, data: &MatchData) {
        self.distinct.clear();
        for (index, word) in setup.words.iter().enumerate() {
            let occurrences = data.hits(word.slot).map_or(&[][..], |hits| hits.occurrences);
            if let Some(first) = occurrences.first() {
                let count = occurrences.len().min(setup.parameters.occurrences_max as usize) as u32;
                self.distinct.push((first.position.saturating_add(word.offset), index, count));
            }
        }
        self.distinct.sort_unstable();
        self.distinct.dedup_by_key(|(position, _, _)| *position);
        self.distinct.sort_unstable_by_key(|(_, word, _)| *word);
    }
}
