//! `elementCompleteness(field)`: how completely the query and one element of the field cover each other, for the
//! element where that is best.
//!
//! Of an element: fieldCompleteness = min(length, terms that hit it)/length, queryCompleteness = share of the weight of
//! the terms that search the field, completeness = i·fieldCompleteness + (1 − i)·queryCompleteness with
//! i = `elementCompleteness(field).fieldCompletenessImportance`, ½ by default. The best has the largest
//! completeness·elementWeight above 0; without one all outputs are 0. Terms of weight 0 do not take part.

use super::call::Call;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Occurrence, Slot};
use brooklet_task::Rejection;

/// Its outputs, the one it has without a name first.
pub const OUTPUTS: &[&str] = &["completeness", "fieldCompleteness", "queryCompleteness", "elementWeight"];

struct ElementCompleteness {
    terms: Vec<(Slot, f64)>,
    total_weight: f64,
    field_importance: f64,
    /// (element, term, that element's first occurrence of the term), kept for its memory.
    places: Vec<(u32, u32, Occurrence)>,
}

/// Makes `elementCompleteness` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    let terms: Vec<(Slot, f64)> = call
        .environment
        .terms_of_field(field.id)
        .filter(|(ranked, _)| ranked.term.weight != 0)
        .map(|(ranked, slot)| (slot, f64::from(ranked.term.weight)))
        .collect();
    let executor = ElementCompleteness {
        total_weight: terms.iter().map(|(_, weight)| weight).sum(),
        terms,
        field_importance: call.properties().number("fieldCompletenessImportance", 0.5)?,
        places: Vec::new(),
    };
    Ok(call.ready(OUTPUTS, executor))
}

impl Executor for ElementCompleteness {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        self.gather(data);
        outputs.fill(0.0);
        let mut best = 0.0;
        for element in self.places.chunk_by(|left, right| left.0 == right.0) {
            let values = self.completeness(element);
            let score = values[0] * values[3];
            if score > best {
                best = score;
                outputs.copy_from_slice(&values);
            }
        }
    }
}

impl ElementCompleteness {
    /// One entry for every element and term that hit it, by element.
    fn gather(&mut self, data: &MatchData) {
        self.places.clear();
        for (index, (slot, _)) in self.terms.iter().enumerate() {
            let occurrences = data.hits(*slot).map_or(&[][..], |hits| hits.occurrences);
            for same_element in occurrences.chunk_by(|left, right| left.element == right.element) {
                self.places.push((same_element[0].element, index as u32, same_element[0]));
            }
        }
        self.places.sort_unstable_by_key(|(element, term, _)| (*element, *term));
    }

    fn completeness(&self, element: &[(u32, u32, Occurrence)]) -> [f64; 4] {
        let Occurrence { element_length, element_weight, .. } = element[0].2;
        let weight: f64 = element.iter().map(|(_, term, _)| self.terms[*term as usize].1).sum();
        let matches = (element.len() as u32).min(element_length);
        let of_field = if element_length == 0 { 0.0 } else { f64::from(matches) / f64::from(element_length) };
        let of_query = if self.total_weight == 0.0 { 0.0 } else { weight / self.total_weight };
        let completeness = of_field * self.field_importance + of_query * (1.0 - self.field_importance);
        [completeness, of_field, of_query, f64::from(element_weight)]
    }
}
