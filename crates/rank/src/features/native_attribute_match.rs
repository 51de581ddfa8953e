//! `nativeAttributeMatch` and `nativeAttributeMatch(field,…)`: hits in attributes, by the weight of the key they hit.
//!
//! Σ over terms i and the attributes j they search of w·aw·table(x)/max(table), divided by Σ w·aw. x is the weight of
//! the first element hit (1 for single values, arrays and filters), table(x) = sign(x)·weightTable[|x|], aw the field's
//! weight. Terms and fields of weight 0 do not take part; no term that does: 0.

use super::call::Call;
use super::table::{FieldProperties, Table, field_weight, normalizer};
use crate::features::environment::FeatureEnvironment;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{FieldInfo, FieldKind, MatchData, Slot};
use brooklet_task::Rejection;

/// One term in one attribute.
struct Part {
    slot: Slot,
    table: usize,
    is_filter: bool,
    /// Term weight · field weight / max(table).
    scale: f64,
}

/// The executor, which `nativeRank` has as well.
pub struct NativeAttributeMatch {
    tables: Vec<Table>,
    parts: Vec<Part>,
    divisor: f64,
}

/// Makes `nativeAttributeMatch` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let fields = call.fields(FieldKind::Attribute)?;
    Ok(call.ready(&["score"], NativeAttributeMatch::new(&fields, call.environment)?))
}

impl NativeAttributeMatch {
    /// The executor over `fields` only.
    pub fn new(fields: &[&FieldInfo], environment: &FeatureEnvironment<'_>) -> Result<NativeAttributeMatch, Rejection> {
        let mut executor = NativeAttributeMatch { tables: Vec::new(), parts: Vec::new(), divisor: 0.0 };
        for field in fields.iter().filter(|field| environment.may_be_hit(field.id)) {
            let table = FieldProperties::new(environment, "nativeAttributeMatch", field).table("weightTable")?;
            let table_max = normalizer(environment, table.max())?;
            for (ranked, slot) in environment.terms_of_field(field.id) {
                let weight = field_weight(field) * f64::from(ranked.term.weight);
                if weight != 0.0 {
                    let part = Part {
                        slot,
                        table: executor.tables.len(),
                        is_filter: field.is_filter,
                        scale: weight / table_max,
                    };
                    executor.divisor += weight;
                    executor.parts.push(part);
                }
            }
            executor.tables.push(table);
        }
        Ok(executor)
    }

    /// The feature's value.
    pub fn score(&self, data: &MatchData) -> f64 {
        let mut score = 0.0;
        for part in &self.parts {
            let Some(hits) = data.hits(part.slot) else { continue };
            let key_weight = if part.is_filter { 1 } else { hits.element_weight() };
            let boost = self.tables[part.table].get(u64::from(key_weight.unsigned_abs()));
            score += if key_weight < 0 { -boost } else { boost } * part.scale;
        }
        if self.divisor == 0.0 { 0.0 } else { score / self.divisor }
    }
}

impl Executor for NativeAttributeMatch {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        outputs[0] = self.score(data);
    }
}
