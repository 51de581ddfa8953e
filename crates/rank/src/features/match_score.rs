//! `match`: how well all fields match, weighted.
//!
//! score = Σ weight·match/Σ weight over the fields whose match is above 0, a field's match being fieldMatch (single
//! index), elementCompleteness (index of several values) or attributeMatch; totalWeight = Σ of those weights;
//! `match.weight.FIELD` = the weight of a field.

use super::call::Call;
use super::environment::FeatureEnvironment;
use super::{attribute_match, element_completeness, field_match};
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{Collection, FieldId, FieldInfo, FieldKind, MatchData};
use brooklet_task::Rejection;

struct Part {
    weight: f64,
    prepared: Prepared,
    values: Vec<f64>,
}

struct Match(Vec<Part>);

/// Makes `match` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(0..=0)?;
    let mut parts = Vec::new();
    let mut outputs = vec!["score".to_owned(), "totalWeight".to_owned()];
    for field in call.environment.fields.iter().filter(|field| field.is_matchable) {
        let prepared = prepare_match(field, call.environment)?;
        outputs.push(format!("weight.{}", field.name));
        let values = vec![0.0; prepared.outputs.len()];
        parts.push(Part { weight: f64::from(field.weight), prepared, values });
    }
    Ok(call.ready_with(outputs, Match(parts)))
}

/// The feature that says how well one field matches.
fn prepare_match(field: &FieldInfo, environment: &FeatureEnvironment<'_>) -> Result<Prepared, Rejection> {
    let call = |name| Call { name, parameters: std::slice::from_ref(&field.name), environment };
    match (field.kind, field.collection) {
        (FieldKind::Attribute, _) => call("attributeMatch").prepare_with(attribute_match::prepare),
        (FieldKind::Index, Collection::Single) => call("fieldMatch").prepare_with(field_match::prepare),
        (FieldKind::Index, _) => call("elementCompleteness").prepare_with(element_completeness::prepare),
    }
}

impl Executor for Match {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let (mut sum, mut total) = (0.0, 0.0);
        for (index, part) in self.0.iter_mut().enumerate() {
            part.prepared.executor.execute(data, &mut part.values);
            if part.values[0] > 0.0 {
                total += part.weight;
                sum += part.weight * part.values[0];
            }
            outputs[index + 2] = part.weight;
        }
        outputs[0] = if total > 0.0 { sum / total } else { 0.0 };
        outputs[1] = total;
    }

    fn counted_attributes(&self) -> Vec<FieldId> {
        self.0.iter().flat_map(|part| part.prepared.executor.counted_attributes()).collect()
    }
}
