//! `flowCompleteness(field)`: as elementCompleteness, but every position counts for one term only.
//!
//! flow = the largest number of terms of an element that can each be given a position of their own (a maximum matching
//! of terms and positions). queryCompleteness = flow/terms that search the field, fieldCompleteness = flow/length,
//! completeness = i·fieldCompleteness + (1 − i)·queryCompleteness, i = `fieldCompletenessImportance` ½. The best element
//! has the largest completeness·Σ weight of the terms that hit it; weight is the field's.

use super::call::Call;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Slot};
use brooklet_task::Rejection;

struct FlowCompleteness {
    terms: Vec<(Slot, f64)>,
    field_weight: f64,
    field_importance: f64,
    /// (element, term, position, length, weight of the element), kept for its memory.
    places: Vec<(u32, u32, u32, u32, i32)>,
}

/// Makes `flowCompleteness` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    let terms = call.environment.terms_of_field(field.id).filter(|(ranked, _)| ranked.term.weight != 0);
    let executor = FlowCompleteness {
        terms: terms.map(|(ranked, slot)| (slot, f64::from(ranked.term.weight))).collect(),
        field_weight: f64::from(field.weight),
        field_importance: call.properties().number("fieldCompletenessImportance", 0.5)?,
        places: Vec::new(),
    };
    let outputs = ["completeness", "fieldCompleteness", "queryCompleteness", "elementWeight", "weight", "flow"];
    Ok(call.ready(&outputs, executor))
}

impl Executor for FlowCompleteness {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        self.places.clear();
        for (term, (slot, _)) in (0u32..).zip(&self.terms) {
            let occurrences = data.hits(*slot).map_or(&[][..], |hits| hits.occurrences);
            self.places
                .extend(occurrences.iter().map(|o| (o.element, term, o.position, o.element_length, o.element_weight)));
        }
        self.places.sort_unstable();
        outputs.fill(0.0);
        outputs[4] = self.field_weight;
        let mut best = 0.0;
        for element in self.places.chunk_by(|left, right| left.0 == right.0) {
            let by_term: Vec<Vec<u32>> = element
                .chunk_by(|left, right| left.1 == right.1)
                .map(|same_term| same_term.iter().map(|place| place.2).collect())
                .collect();
            let of_terms =
                element.chunk_by(|left, right| left.1 == right.1).map(|same| self.terms[same[0].1 as usize].1);
            let weight: f64 = of_terms.sum();
            let flow = f64::from(maximum_matching(&by_term));
            let of_query = flow / self.terms.len() as f64;
            let of_field = if element[0].3 == 0 { 0.0 } else { flow / f64::from(element[0].3) };
            let completeness = of_field * self.field_importance + of_query * (1.0 - self.field_importance);
            if completeness * weight > best {
                best = completeness * weight;
                let element_weight = f64::from(element[0].4);
                outputs.copy_from_slice(&[completeness, of_field, of_query, element_weight, self.field_weight, flow]);
            }
        }
    }
}

/// How many terms can have a position of their own (augmenting paths).
fn maximum_matching(positions: &[Vec<u32>]) -> u32 {
    let mut owner: Vec<(u32, usize)> = Vec::new();
    let mut flow = 0;
    for term in 0..positions.len() {
        flow += u32::from(augment(term, positions, &mut owner));
    }
    flow
}

/// Finds a position for one more term by moving others; breadth first, without recursion.
fn augment(term: usize, positions: &[Vec<u32>], owner: &mut Vec<(u32, usize)>) -> bool {
    // Each step: the term, the position it would take, and the step before.
    let mut steps: Vec<(usize, u32, Option<usize>)> = Vec::new();
    let mut queue = vec![(term, None)];
    let mut seen = vec![false; positions.len()];
    seen[term] = true;
    let mut next = 0;
    while let Some((moving, before)) = queue.get(next).copied() {
        next += 1;
        for position in &positions[moving] {
            steps.push((moving, *position, before));
            let Some((_, taken_by)) = owner.iter().find(|(taken, _)| taken == position) else {
                let mut step = Some(steps.len() - 1);
                while let Some((moved, to, previous)) = step.map(|at| steps[at]) {
                    owner.retain(|(_, owned_by)| *owned_by != moved);
                    owner.retain(|(taken, _)| *taken != to);
                    owner.push((to, moved));
                    step = previous;
                }
                return true;
            };
            if !std::mem::replace(&mut seen[*taken_by], true) {
                queue.push((*taken_by, Some(steps.len() - 1)));
            }
        }
    }
    false
}
