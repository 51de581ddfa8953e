//! `termFieldMd(field)`: what the match data of all ranked terms says about a field, added up.
//!
//! score = Σ over the terms that hit of the weight of their first hit (1 outside of weighted sets); terms = ranked terms
//! that search the field; match = 1 if any hit; termsmatched = how many hit; firstweight = the first non-zero of those
//! weights; occurrences = Σ occurrences with a position; maxTermWeight = largest positive weight of a term that hit.

use super::call::Call;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Slot};
use brooklet_task::Rejection;

struct TermFieldMd(Vec<(Slot, f64)>);

/// Makes `termFieldMd` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(1..=1)?;
    let field = call.environment.field(&call.parameters[0])?;
    let terms = call.environment.terms_of_field(field.id);
    let terms = terms.map(|(ranked, slot)| (slot, f64::from(ranked.term.weight))).collect();
    let outputs = ["score", "terms", "match", "termsmatched", "firstweight", "occurrences", "maxTermWeight"];
    Ok(call.ready(&outputs, TermFieldMd(terms)))
}

impl Executor for TermFieldMd {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let (mut score, mut matched, mut first, mut occurrences, mut heaviest) = (0.0, 0.0, 0.0, 0.0, 0.0f64);
        for (slot, term_weight) in &self.0 {
            let Some(hits) = data.hits(*slot) else { continue };
            let weight = f64::from(hits.element_weight());
            score += weight;
            matched += 1.0;
            if first == 0.0 {
                first = weight;
            }
            occurrences += hits.occurrences.len() as f64;
            heaviest = heaviest.max(*term_weight);
        }
        let any = f64::from(u8::from(matched > 0.0));
        outputs.copy_from_slice(&[score, self.0.len() as f64, any, matched, first, occurrences, heaviest]);
    }
}
