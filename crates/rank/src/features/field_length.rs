//! `fieldLength(field)`: tokens of the longest element that a ranked term hit, 1000000 if no hit tells.

use super::call::Call;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Slot};
use brooklet_task::Rejection;

/// A length, position or distance that is not known.
pub const UNKNOWN: u32 = 1_000_000;

struct FieldLength(Vec<Slot>);

/// Makes `fieldLength` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    let slots = call.environment.terms_of_field(field.id).map(|(_, slot)| slot).collect();
    Ok(call.ready(&["out"], FieldLength(slots)))
}

impl Executor for FieldLength {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let lengths = self.0.iter().filter_map(|slot| data.hits(*slot)?.longest_element());
        outputs[0] = f64::from(lengths.max().unwrap_or(UNKNOWN));
    }
}
