//! `fieldTermMatch(field,n)`: where and how often the n-th ranked term hit the field.
//!
//! firstPosition and lastPosition are 1000000 without a hit (or without positions); occurrences counts the hits (a hit
//! without positions is one), weight adds the element weights, exactness is 1 for every hit with a position.

use super::call::Call;
use super::field_length::UNKNOWN;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Slot};
use brooklet_task::Rejection;

struct FieldTermMatch(Option<Slot>);

/// Makes `fieldTermMatch` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(2..=2)?;
    let field = call.environment.index_field(&call.parameters[0])?;
    let wanted = call.whole_number(1)?;
    let slot = call.environment.query.ranked_terms().nth(wanted).and_then(|ranked| ranked.slot(field.id));
    Ok(call.ready(&["firstPosition", "lastPosition", "occurrences", "weight", "exactness"], FieldTermMatch(slot)))
}

impl Executor for FieldTermMatch {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let unknown = f64::from(UNKNOWN);
        let Some(hits) = self.0.and_then(|slot| data.hits(slot)) else {
            outputs.copy_from_slice(&[unknown, unknown, 0.0, 0.0, 0.0]);
            return;
        };
        if !hits.has_positions() {
            outputs.copy_from_slice(&[unknown, unknown, 1.0, 0.0, 0.0]);
            return;
        }
        let (mut first, mut last, mut weight) = (UNKNOWN, 0, 0i64);
        for occurrence in hits.occurrences {
            first = first.min(occurrence.position);
            last = last.max(occurrence.position);
            weight += i64::from(occurrence.element_weight);
        }
        outputs.copy_from_slice(&[
            f64::from(first),
            f64::from(last),
            hits.occurrences.len() as f64,
            weight as f64,
            1.0,
        ]);
    }
}
