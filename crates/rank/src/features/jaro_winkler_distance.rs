//! `jaroWinklerDistance(field)`: 1 − the Jaro-Winkler likeness of the query's terms and the field's words.
//!
//! With n ranked terms and a field of m words (the longest element with a hit, 1000000 unknown), term i matches if it
//! occurs within max(0, i − h)…min(m, i + h), h = ⌊min(n, m)/2⌋ + 1; it is moved if that place is not i.
//! jaro = (c/n + c/m + (c − ⌊moved/2⌋)/c)/3 with c matches, 0 without any. Above `boostThreshold` 0.7 it gains
//! 0.1·p·(1 − jaro), p being how many of the first `prefixSize` 4 terms begin the field in order.

use super::call::Call;
use super::field_length::UNKNOWN;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Occurrence, Slot};
use brooklet_task::Rejection;

struct JaroWinkler {
    /// For every ranked term, whether or not it searches the field.
    terms: Vec<Option<Slot>>,
    boost_threshold: f64,
    prefix_size: u32,
}

/// Makes `jaroWinklerDistance` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    let properties = call.properties();
    let executor = JaroWinkler {
        terms: call.environment.query.ranked_terms().map(|ranked| ranked.slot(field.id)).collect(),
        boost_threshold: properties.number("boostThreshold", f64::from(0.7f32))?,
        prefix_size: properties.whole_number("prefixSize", 4)?,
    };
    Ok(call.ready(&["out"], executor))
}

impl Executor for JaroWinkler {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let hits = || self.terms.iter().map(|slot| slot.and_then(|slot| data.hits(slot)));
        let length = hits().flatten().filter_map(|hits| hits.longest_element()).max().unwrap_or(UNKNOWN);
        let places: Vec<&[Occurrence]> = hits().map(|hits| hits.map_or(&[][..], |hits| hits.occurrences)).collect();
        let mut likeness = jaro(&places, length).clamp(0.0, 1.0);
        if likeness > self.boost_threshold {
            likeness += f64::from(0.1f32) * f64::from(prefix(&places, length.min(self.prefix_size))) * (1.0 - likeness);
        }
        outputs[0] = 1.0 - likeness;
    }
}

fn jaro(places: &[&[Occurrence]], length: u32) -> f64 {
    if places.is_empty() || length == 0 {
        return 0.0;
    }
    let reach = (places.len() as u32).min(length) / 2 + 1;
    let (mut matches, mut moved) = (0u32, 0u32);
    for (index, occurrences) in (0u32..).zip(places) {
        let (low, high) = (index.saturating_sub(reach), length.min(index + reach));
        let mut positions = occurrences.iter().map(|occurrence| occurrence.position);
        let reachable = positions.by_ref().take_while(|position| *position <= high).find(|position| *position >= low);
        if let Some(position) = reachable {
            matches += 1;
            moved += u32::from(position != index);
        }
    }
    if matches == 0 {
        return 0.0;
    }
    let found = f64::from(matches);
    (found / places.len() as f64 + found / f64::from(length) + (found - f64::from(moved / 2)) / found)
        / f64::from(3.0f32)
}

/// How many of the first terms stand at the beginning of the field, one after the other.
fn prefix(places: &[&[Occurrence]], most: u32) -> u32 {
    let in_place = |(index, occurrences): &(u32, &&[Occurrence])| {
        occurrences.first().is_some_and(|occurrence| occurrence.position == *index)
    };
    (0..most).zip(places).take_while(in_place).count() as u32
}
