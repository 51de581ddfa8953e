//! `nativeProximity` and `nativeProximity(field,…)`: neighbouring terms of the query close to each other in index
//! fields.
//!
//! Per field, the pairs are the terms a, b that search it with fewer than `slidingWindowSize` 4 steps from a to b.
//! Connectedness of a pair = min(1, connectedness of every neighbour from a to b)/steps; pair weight = connectedness·
//! (sig_a·w_a + sig_b·w_b); pair score = weight·(imp·forward[distance a→b − 1] + (1−imp)·reverse[distance b→a −
//! 1])/maxTable with imp = `proximityImportance` ½. The field scores fw·Σ pair scores/Σ pair weights, the feature their
//! sum divided by Σ fw of the fields with pairs. Pairs of two terms of weight 0, fields of weight 0 and filter fields
//! do not take part. Distances are those of `termDistance`.

use super::call::Call;
use super::properties::Properties;
use super::table::{FieldProperties, Table, field_weight, normalizer};
use super::term::{connectedness, significance};
use super::term_distance::{Distances, Nearest, Placed};
use crate::features::environment::FeatureEnvironment;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{FieldInfo, FieldKind, MatchData, RankedTerm, Slot};
use brooklet_task::Rejection;

const NAME: &str = "nativeProximity";

struct Pair {
    first: Placed,
    second: Placed,
    weight: f64,
}

struct Field {
    pairs: Vec<Pair>,
    forward: Table,
    reverse: Table,
    importance: f64,
    element_gap: Option<u32>,
    weight: f64,
    table_max: f64,
    divisor: f64,
}

/// The executor, which `nativeRank` has as well.
pub struct NativeProximity {
    fields: Vec<Field>,
    divisor: f64,
}

/// Makes `nativeProximity` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let fields = call.fields(FieldKind::Index)?;
    Ok(call.ready(&["score"], NativeProximity::new(&fields, call.environment)?))
}

impl NativeProximity {
    /// The executor over `fields` only.
    pub fn new(fields: &[&FieldInfo], environment: &FeatureEnvironment<'_>) -> Result<NativeProximity, Rejection> {
        let window = Properties::new(environment, NAME.to_owned()).whole_number("slidingWindowSize", 4)? as usize;
        let mut executor = NativeProximity { fields: Vec::new(), divisor: 0.0 };
        for field in fields.iter().filter(|field| environment.may_be_hit(field.id)) {
            let mut prepared = Field::new(environment, field)?;
            if prepared.weight == 0.0 || field.is_filter {
                continue;
            }
            prepared.add_pairs(environment, field, window);
            if !prepared.pairs.is_empty() {
                executor.divisor += prepared.weight;
                executor.fields.push(prepared);
            }
        }
        Ok(executor)
    }

    /// The feature's value.
    pub fn score(&self, data: &MatchData) -> f64 {
        let score: f64 = self.fields.iter().map(|field| field.score(data)).sum();
        if self.divisor > 0.0 { score / self.divisor } else { 0.0 }
    }
}

impl Executor for NativeProximity {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        outputs[0] = self.score(data);
    }
}

impl Field {
    fn new(environment: &FeatureEnvironment<'_>, field: &FieldInfo) -> Result<Field, Rejection> {
        let properties = FieldProperties::new(environment, NAME, field);
        let forward = properties.table("proximityTable")?;
        let reverse = properties.table("reverseProximityTable")?;
        let importance = properties.number("proximityImportance")?.unwrap_or(0.5);
        let largest = forward.max() * importance + reverse.max() * (1.0 - importance);
        let element_gap = match properties.text("elementGap") {
            None => field.element_gap,
            Some("infinity") => None,
            Some(_) => properties.number("elementGap")?.map(|gap| gap.max(0.0) as u32),
        };
        Ok(Field {
            pairs: Vec::new(),
            importance,
            element_gap,
            weight: field_weight(field),
            table_max: normalizer(environment, largest)?,
            divisor: 0.0,
            forward,
            reverse,
        })
    }

    fn add_pairs(&mut self, environment: &FeatureEnvironment<'_>, field: &FieldInfo, window: usize) {
        let terms: Vec<(RankedTerm<'_>, Slot)> = environment.terms_of_field(field.id).collect();
        for (start, (first, first_slot)) in terms.iter().enumerate() {
            let mut connected: f64 = 1.0;
            for steps in 1..window.min(terms.len() - start) {
                let (second, second_slot) = &terms[start + steps];
                connected = connected.min(connectedness(Some(&terms[start + steps - 1].0), second));
                if first.term.weight == 0 && second.term.weight == 0 {
                    continue;
                }
                let weighted =
                    |ranked: &RankedTerm<'_>| significance(ranked, environment) * f64::from(ranked.term.weight);
                let weight = connected / steps as f64 * (weighted(first) + weighted(second));
                self.divisor += weight;
                let (first, second) = ((*first_slot, first.term.words), (*second_slot, second.term.words));
                self.pairs.push(Pair { first, second, weight });
            }
        }
    }

    fn score(&self, data: &MatchData) -> f64 {
        let boost = |table: &Table, nearest: Nearest| table.get(u64::from(nearest.distance.saturating_sub(1)));
        let mut score = 0.0;
        for pair in &self.pairs {
            let Distances { forward, reverse } = Distances::between(pair.first, pair.second, self.element_gap, data);
            let forward = boost(&self.forward, forward) * self.importance;
            let reverse = boost(&self.reverse, reverse) * (1.0 - self.importance);
            score += (forward + reverse) * pair.weight / self.table_max;
        }
        let score = score * self.weight;
        if self.divisor > 0.0 { score / self.divisor } else { score }
    }
}
