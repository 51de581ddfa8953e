//! `fieldMatch(field)`: how well the query as a sequence matches an index field as a sequence (string segment match).
//!
//! The query's words are laid onto the field in *segments*: stretches of the query whose words lie close together. The
//! search for good segments is in [`segmentation`], what is counted on the way in [`metrics`], how often words occur in
//! [`occurrence`]; here the counts become the outputs. The words of a phrase count singly, at consecutive positions.
//!
//! queryCompleteness = matches/words; fieldCompleteness = matches/length; completeness = both, the latter with
//! importance 0.05; relatedness = 1 − (segments−1)/(matches−1); earliness = 1 − head/(max(6,length)−1);
//! segmentProximity = 1 − segmentDistance/length; proximity = absoluteProximity/mean connectedness; match =
//! (pci·(1−ri+ri·relatedness)·proximity· completeness² + ei·earliness + spi·segmentProximity +
//! oi·occurrence)/(pci+ei+spi+oi). Without any position only completeness, queryCompleteness, weight, matches and
//! degradedMatches are not 0.

mod metrics;
mod occurrence;
mod parameters;
mod places;
mod segmentation;
mod setup;

use self::metrics::Metrics;
use self::occurrence::OccurrenceCounts;
use self::places::Places;
use self::segmentation::Segmentation;
use super::call::Call;
use super::term::DEFAULT_CONNECTEDNESS;
use crate::features::field_match::setup::{Setup, share};
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::MatchData;
use brooklet_task::Rejection;

/// Its outputs, the one it has without a name first.
pub const OUTPUTS: &[&str] = &[
    "score",
    "proximity",
    "completeness",
    "queryCompleteness",
    "fieldCompleteness",
    "orderness",
    "relatedness",
    "earliness",
    "longestSequenceRatio",
    "segmentProximity",
    "unweightedProximity",
    "absoluteProximity",
    "occurrence",
    "absoluteOccurrence",
    "weightedOccurrence",
    "weightedAbsoluteOccurrence",
    "significantOccurrence",
    "weight",
    "significance",
    "importance",
    "segments",
    "matches",
    "outOfOrder",
    "gaps",
    "gapLength",
    "longestSequence",
    "head",
    "tail",
    "segmentDistance",
    "degradedMatches",
];

struct FieldMatch {
    setup: Setup,
    mean_connectedness: f64,
    places: Places,
    segmentation: Segmentation,
    occurrence: OccurrenceCounts,
}

/// Makes `fieldMatch` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    let setup = Setup::new(call, field.id)?;
    let connected: f64 = setup.words.iter().skip(1).map(|word| word.connectedness.max(DEFAULT_CONNECTEDNESS)).sum();
    let mean_connectedness = match setup.words.len() {
        0 | 1 => f64::from(0.1f32),
        count => connected / (count - 1) as f64,
    };
    let executor = FieldMatch {
        mean_connectedness,
        places: Places::new(setup.words.len()),
        segmentation: Segmentation::new(setup.words.len()),
        occurrence: OccurrenceCounts::default(),
        setup,
    };
    Ok(call.ready(OUTPUTS, executor))
}

impl Executor for FieldMatch {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        outputs.fill(0.0);
        self.places.gather(&self.setup.words, data);
        let degraded = f64::from(self.places.matches() - self.places.matches_with_positions());
        if self.places.matches_with_positions() == 0 || self.places.has_empty_field() {
            self.without_positions(outputs);
        } else {
            self.with_positions(data, outputs);
        }
        outputs[29] = degraded;
    }
}

impl FieldMatch {
    fn without_positions(&self, outputs: &mut [f64]) {
        let matches = f64::from(self.places.matches());
        let query_completeness = share(matches, self.setup.words.len() as f64);
        outputs[2] = query_completeness * (1.0 - self.setup.parameters.field_completeness_importance);
        outputs[3] = query_completeness;
        outputs[17] = share(self.places.matched_weight(), self.setup.total_weight);
        outputs[21] = matches;
    }

    fn with_positions(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let metrics = self.segmentation.best(&self.setup, &self.places);
        let segment_distance = metrics.segment_distance();
        self.occurrence.count(&self.setup, data, self.places.length());
        let counts = metrics.counts;
        outputs[10..12].copy_from_slice(&[counts.unweighted_proximity(), counts.absolute_proximity()]);
        outputs[12..17].copy_from_slice(&self.occurrence.shares());
        outputs[17..20].copy_from_slice(&[
            counts.weight,
            counts.significance,
            (counts.significance + counts.weight) / 2.0,
        ]);
        let whole = [counts.segments, counts.matches, counts.out_of_order, counts.gaps];
        outputs[20..24].copy_from_slice(&whole.map(f64::from));
        outputs[24] = counts.gap_length as f64;
        let ends = [counts.longest_sequence, counts.head.unwrap_or(0), counts.tail.unwrap_or(0)];
        outputs[25..28].copy_from_slice(&ends.map(f64::from));
        outputs[28] = segment_distance;
        self.ratios(&counts, segment_distance, outputs);
    }

    /// The outputs that are made from others: 0 to 9.
    fn ratios(&self, counts: &Metrics, segment_distance: f64, outputs: &mut [f64]) {
        let parameters = &self.setup.parameters;
        let (length, matches) = (self.places.length() as f64, f64::from(counts.matches));
        let query_completeness = share(matches, self.setup.words.len() as f64);
        let field_completeness = share(matches, length);
        let importance = parameters.field_completeness_importance;
        let completeness = query_completeness * (1.0 - importance) + importance * field_completeness;
        let relatedness = match counts.matches {
            0 => 0.0,
            1 => 1.0,
            _ => 1.0 - (f64::from(counts.segments) - 1.0) / (matches - 1.0),
        };
        let earliness = match counts.matches {
            0 => 0.0,
            _ if length == 1.0 => 1.0,
            _ => 1.0 - f64::from(counts.head.unwrap_or(0)) / (length.max(6.0) - 1.0),
        };
        let segment_proximity = if counts.matches == 0 { 0.0 } else { 1.0 - segment_distance / length };
        let proximity = counts.absolute_proximity() / self.mean_connectedness;
        outputs[1..10].copy_from_slice(&[
            proximity,
            completeness,
            query_completeness,
            field_completeness,
            counts.orderness(),
            relatedness,
            earliness,
            share(f64::from(counts.longest_sequence), matches),
            segment_proximity,
        ]);
        let related = 1.0 - parameters.relatedness_importance + parameters.relatedness_importance * relatedness;
        let sum = parameters.proximity_completeness_importance * related * proximity * completeness * completeness
            + parameters.earliness_importance * earliness
            + parameters.segment_proximity_importance * segment_proximity
            + parameters.occurrence_importance * outputs[12];
        outputs[0] = share(sum, parameters.importance_sum());
    }
}
