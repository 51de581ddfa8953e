//! `matches`, `matches(field)`, `matches(field,n)` and `matchCount(field)`: which terms hit, not how well.
//!
//! matches is 1 if any ranked term (or the n-th) hit the field (or any field), else 0; matchCount is how many terms
//! hit.

use super::call::Call;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Slot};
use brooklet_task::Rejection;

struct Matches(Vec<Slot>);

/// Makes `matches` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(0..=2)?;
    let environment = call.environment;
    let slots = match call.parameters {
        [] => environment.query.ranked_terms().flat_map(|ranked| ranked.slots()).map(|(_, slot)| slot).collect(),
        [field, wanted @ ..] => {
            let field = environment.field(field)?;
            let wanted = if wanted.is_empty() { None } else { Some(call.whole_number(1)?) };
            let terms = environment.terms_of_field(field.id);
            terms.filter(|(ranked, _)| wanted.is_none_or(|n| ranked.number == n)).map(|(_, slot)| slot).collect()
        }
    };
    Ok(call.ready(&["out"], Matches(slots)))
}

impl Executor for Matches {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        outputs[0] = f64::from(u8::from(self.0.iter().any(|slot| data.hits(*slot).is_some())));
    }
}

struct MatchCount(Vec<Slot>);

/// Makes `matchCount` ready.
pub fn prepare_count(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(1..=1)?;
    let field = call.environment.field(&call.parameters[0])?;
    let slots = call.environment.terms_of_field(field.id).map(|(_, slot)| slot).collect();
    Ok(call.ready(&["out"], MatchCount(slots)))
}

impl Executor for MatchCount {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        outputs[0] = self.0.iter().filter(|slot| data.hits(**slot).is_some()).count() as f64;
    }
}
