//! `nativeDotProduct(field)` and `nativeDotProduct`: Σ over the ranked terms that hit of term weight·element weight.
//!
//! The weight of the first element with a hit counts, 1 outside of weighted sets. Without a field, every field of every
//! term counts.

use super::call::Call;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Slot};
use brooklet_task::Rejection;

struct NativeDotProduct(Vec<(Slot, f64)>);

/// Makes `nativeDotProduct` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(0..=1)?;
    let environment = call.environment;
    let only = call.parameters.first().map(|name| environment.field(name)).transpose()?;
    let mut terms = Vec::new();
    for ranked in environment.query.ranked_terms() {
        let slots = ranked.slots().filter(|(field, _)| only.is_none_or(|only| only.id == *field));
        terms.extend(slots.map(|(_, slot)| (slot, f64::from(ranked.term.weight))));
    }
    Ok(call.ready(&["out"], NativeDotProduct(terms)))
}

impl Executor for NativeDotProduct {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let products = self.0.iter().filter_map(|(slot, weight)| {
            let hits = data.hits(*slot)?;
            Some(weight * f64::from(hits.element_weight()))
        });
        // The sum of an iterator over nothing is -0.
        outputs[0] = products.fold(0.0, |sum, product| sum + product);
    }
}
