//! `queryCompleteness(field[,begin[,end]])`: how many of the ranked terms that search the field hit it.
//!
//! hit = terms whose first occurrence at or behind position begin (0) lies before end (none); miss = the others.

use super::call::Call;
use crate::features::prepared::{Executor, Prepared};
use crate::features::properties::refuse;
use crate::match_data::{MatchData, Slot};
use brooklet_task::Rejection;

struct QueryCompleteness {
    slots: Vec<Slot>,
    begin: usize,
    end: usize,
}

/// Makes `queryCompleteness` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(1..=3)?;
    let field = call.environment.index_field(&call.parameters[0])?;
    let begin = if call.parameters.len() > 1 { call.whole_number(1)? } else { 0 };
    let end = if call.parameters.len() > 2 { call.whole_number(2)? } else { usize::MAX };
    if begin >= end {
        return Err(refuse(format!("the positions from {begin} to {end} are none")));
    }
    let slots = call.environment.terms_of_field(field.id).map(|(_, slot)| slot).collect();
    Ok(call.ready(&["hit", "miss"], QueryCompleteness { slots, begin, end }))
}

impl Executor for QueryCompleteness {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let inside = |slot: &&Slot| {
            let hits = data.hits(**slot);
            let mut positions = hits.iter().flat_map(|hits| hits.occurrences).map(|found| found.position as usize);
            positions.find(|position| *position >= self.begin).is_some_and(|position| position < self.end)
        };
        let hit = self.slots.iter().filter(inside).count();
        outputs.copy_from_slice(&[hit as f64, (self.slots.len() - hit) as f64]);
    }
}
