//! `attributeMatch(field)`: how completely the query and an attribute cover each other.
//!
//! matches = terms that hit the attribute; queryCompleteness = matches/terms that search it; fieldCompleteness = min(1,
//! matches/values), for a weighted set min(1, weight hit/weight of all keys) (0 if the weight hit is not positive, 1 if
//! the weight of all is not); completeness = queryCompleteness·(1 − i + i·fieldCompleteness), i =
//! `fieldCompletenessImportance` 0.05. Only of weighted sets: totalWeight, averageWeight and maxWeight of the keys hit;
//! normalizedWeight = min(1, totalWeight/(m·attribute terms)); normalizedWeightedWeight = min(1, Σ key weight·term
//! weight/(m·weight of attribute terms)), m = `maxWeight` 256. weight and significance = share of the whole query's
//! that hit, importance their mean.

use super::call::Call;
use super::term::significance;
use crate::features::environment::FeatureEnvironment;
use crate::features::prepared::{Executor, Prepared};
use crate::features::properties::refuse;
use crate::match_data::{AttributeContent, Collection, FieldId, FieldKind, MatchData, RankedTerm, Slot};
use brooklet_task::Rejection;

/// Its outputs, the one it has without a name first.
pub const OUTPUTS: &[&str] = &[
    "completeness",
    "queryCompleteness",
    "fieldCompleteness",
    "normalizedWeight",
    "normalizedWeightedWeight",
    "weight",
    "significance",
    "importance",
    "matches",
    "totalWeight",
    "averageWeight",
    "maxWeight",
];

struct Term {
    slot: Slot,
    weight: f64,
    significance: f64,
}

struct AttributeMatch {
    field: FieldId,
    collection: Collection,
    terms: Vec<Term>,
    query_weight: f64,
    query_significance: f64,
    /// Terms that search any attribute, and their weight.
    attribute_terms: f64,
    attribute_terms_weight: f64,
    key_weight_max: f64,
    field_importance: f64,
}

/// Makes `attributeMatch` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_attribute_field()?;
    let properties = call.properties();
    let key_weight_max = f64::from(properties.whole_number("maxWeight", 256)?);
    if key_weight_max == 0.0 {
        return Err(refuse("maxWeight must be positive"));
    }
    let environment = call.environment;
    let mut executor = AttributeMatch {
        field: field.id,
        collection: field.collection,
        terms: Vec::new(),
        query_weight: 0.0,
        query_significance: 0.0,
        attribute_terms: 0.0,
        attribute_terms_weight: 0.0,
        key_weight_max,
        field_importance: properties.number("fieldCompletenessImportance", 0.05)?,
    };
    for ranked in environment.query.ranked_terms() {
        let (weight, significance) = (f64::from(ranked.term.weight), significance(&ranked, environment));
        executor.query_weight += weight;
        executor.query_significance += significance;
        if searches_attribute(&ranked, environment) {
            executor.attribute_terms += 1.0;
            executor.attribute_terms_weight += weight;
        }
        if let Some(slot) = ranked.slot(field.id) {
            executor.terms.push(Term { slot, weight, significance });
        }
    }
    Ok(call.ready(OUTPUTS, executor))
}

fn searches_attribute(ranked: &RankedTerm<'_>, environment: &FeatureEnvironment<'_>) -> bool {
    let mut attributes = environment.fields.iter().filter(|field| field.kind == FieldKind::Attribute);
    attributes.any(|field| ranked.term.fields.contains(&field.id))
}

/// Sums over the terms that hit.
#[derive(Default)]
struct Hits {
    matches: f64,
    weight: f64,
    significance: f64,
    key_weight: f64,
    key_weight_max: f64,
    weighted_key_weight: f64,
}

impl Executor for AttributeMatch {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let hits = self.hits(data);
        let of_query = share(hits.matches, self.terms.len() as f64);
        let of_field = self.field_completeness(&hits, data);
        let weight = share(hits.weight, self.query_weight);
        let significance = share(hits.significance, self.query_significance);
        let weighted_divisor = if self.attribute_terms_weight > 0.0 { self.attribute_terms_weight } else { 1.0 };
        outputs.copy_from_slice(&[
            of_query * (1.0 - self.field_importance + self.field_importance * of_field),
            of_query,
            of_field,
            share(hits.key_weight.max(0.0), self.key_weight_max * self.attribute_terms).min(1.0),
            share(hits.weighted_key_weight.max(0.0), self.key_weight_max * weighted_divisor).min(1.0),
            weight,
            significance,
            (weight + significance) * 0.5,
            hits.matches,
            hits.key_weight,
            share(hits.key_weight, hits.matches),
            hits.key_weight_max,
        ]);
    }

    fn counted_attributes(&self) -> Vec<FieldId> {
        if self.collection == Collection::Single { Vec::new() } else { vec![self.field] }
    }
}

impl AttributeMatch {
    fn hits(&self, data: &MatchData) -> Hits {
        let mut sums = Hits::default();
        for term in &self.terms {
            let Some(hits) = data.hits(term.slot) else { continue };
            sums.matches += 1.0;
            sums.weight += term.weight;
            sums.significance += term.significance;
            if self.collection == Collection::WeightedSet {
                let key_weight = f64::from(hits.element_weight());
                sums.key_weight += key_weight;
                sums.key_weight_max =
                    if sums.matches == 1.0 { key_weight } else { sums.key_weight_max.max(key_weight) };
                sums.weighted_key_weight += key_weight * term.weight;
            }
        }
        sums
    }

    fn field_completeness(&self, hits: &Hits, data: &MatchData) -> f64 {
        let single = AttributeContent { values: u32::from(self.collection == Collection::Single), weights: 0 };
        let content = data.content(self.field).unwrap_or(single);
        if self.collection != Collection::WeightedSet {
            return share(hits.matches, f64::from(content.values)).min(1.0);
        }
        if hits.key_weight <= 0.0 {
            0.0
        } else if content.weights <= 0 {
            1.0
        } else {
            (hits.key_weight / content.weights as f64).min(1.0)
        }
    }
}

/// The part of a whole, 0 if the whole is not positive.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
