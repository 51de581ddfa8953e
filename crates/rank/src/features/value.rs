//! `value(a,b,…)`: the numbers it is given, as outputs `0`, `1`, …; and `subqueries(field)`, whose outputs lsb and msb are
//! the subqueries of predicate search that matched: none, for predicates are not searched in streaming mode.

use super::call::Call;
use super::properties::parse_number;
use crate::features::prepared::{Executor, Prepared};
use crate::features::properties::refuse;
use crate::match_data::MatchData;
use brooklet_task::Rejection;

struct Values(Vec<f64>);

/// Makes `value` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let numbers = call
        .parameters
        .iter()
        .map(|text| parse_number(text).ok_or_else(|| refuse(format!("'{}' is not a number", Rejection::quote(text)))));
    let numbers = numbers.collect::<Result<Vec<f64>, Rejection>>()?;
    if numbers.is_empty() {
        return Err(refuse("takes at least 1 parameter"));
    }
    Ok(call.ready_with((0..numbers.len()).map(|index| index.to_string()).collect(), Values(numbers)))
}

/// Makes `subqueries` ready.
pub fn prepare_subqueries(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(1..=1)?;
    call.environment.field(&call.parameters[0])?;
    Ok(call.ready(&["lsb", "msb"], Values(vec![0.0; 2])))
}

impl Executor for Values {
    fn execute(&mut self, _data: &MatchData, outputs: &mut [f64]) {
        outputs.copy_from_slice(&self.0);
    }
}
