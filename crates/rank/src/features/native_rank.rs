//! `nativeRank` and `nativeRank(field,…)`: the first phase of a profile that does not say otherwise.
//!
//! (100·nativeFieldMatch + 25·nativeProximity + 100·nativeAttributeMatch)/225; the weights are
//! `nativeRank.fieldMatchWeight`, `.proximityWeight` (100 by default if tables are not normalized) and
//! `.attributeMatchWeight`, and the divisor their sum, whether or not the query searches such fields.

use super::call::Call;
use super::native_attribute_match::NativeAttributeMatch;
use super::native_field_match::NativeFieldMatch;
use super::native_proximity::NativeProximity;
use super::properties::Properties;
use super::table::is_normalized;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{FieldKind, MatchData};
use brooklet_task::Rejection;

struct NativeRank {
    field_match: NativeFieldMatch,
    proximity: NativeProximity,
    attribute_match: NativeAttributeMatch,
    field_match_weight: f64,
    proximity_weight: f64,
    attribute_match_weight: f64,
}

/// Makes `nativeRank` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let environment = call.environment;
    let index_fields = call.fields(FieldKind::Index)?;
    let attributes = call.fields(FieldKind::Attribute)?;
    let properties = Properties::new(environment, "nativeRank".to_owned());
    let proximity_weight = if is_normalized(environment)? { 25.0 } else { 100.0 };
    let executor = NativeRank {
        field_match: NativeFieldMatch::new(&index_fields, environment)?,
        proximity: NativeProximity::new(&index_fields, environment)?,
        attribute_match: NativeAttributeMatch::new(&attributes, environment)?,
        field_match_weight: properties.number("fieldMatchWeight", 100.0)?,
        proximity_weight: properties.number("proximityWeight", proximity_weight)?,
        attribute_match_weight: properties.number("attributeMatchWeight", 100.0)?,
    };
    Ok(call.ready(&["score"], executor))
}

impl Executor for NativeRank {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let divisor = self.field_match_weight + self.proximity_weight + self.attribute_match_weight;
        let sum = self.field_match.score(data) * self.field_match_weight
            + self.proximity.score(data) * self.proximity_weight
            + self.attribute_match.score(data) * self.attribute_match_weight;
        outputs[0] = if divisor > 0.0 { sum / divisor } else { 0.0 };
    }
}
