//! `fieldInfo(field)` and `fieldInfo`: what kind of field it is, and what the first ranked term found in it.
//!
//! type = 1 of an index, 2 of an attribute, 0 unknown; filter = 1 of `rank: filter`; search = 1 if the first term
//! searches it; hit = 1 if it hit; len, first, last (1000000 unknown) and cnt describe its hits; in an attribute a hit
//! is one at 0. Without a field: indexCnt and attrCnt, how many fields of each kind the schema has.

use super::call::Call;
use super::field_length::UNKNOWN;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{FieldKind, MatchData, Slot};
use brooklet_task::Rejection;

struct Counts([f64; 2]);

struct FieldInfo {
    kind: Option<FieldKind>,
    is_filter: bool,
    slot: Option<Slot>,
}

/// Makes `fieldInfo` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(0..=1)?;
    let environment = call.environment;
    let Some(name) = call.parameters.first() else {
        let count = |kind| environment.fields.iter().filter(|field| field.kind == kind).count() as f64;
        let counts = Counts([count(FieldKind::Index), count(FieldKind::Attribute)]);
        return Ok(call.ready(&["indexCnt", "attrCnt"], counts));
    };
    let field = environment.fields.iter().find(|field| field.name == *name);
    let first = environment.query.ranked_terms().next();
    let info = FieldInfo {
        kind: field.map(|field| field.kind),
        is_filter: field.is_some_and(|field| field.is_filter),
        slot: field.and_then(|field| first?.slot(field.id)),
    };
    Ok(call.ready(&["type", "filter", "search", "hit", "len", "first", "last", "cnt"], info))
}

impl Executor for Counts {
    fn execute(&mut self, _data: &MatchData, outputs: &mut [f64]) {
        outputs.copy_from_slice(&self.0);
    }
}

impl Executor for FieldInfo {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let unknown = f64::from(UNKNOWN);
        let flag = |condition: bool| f64::from(u8::from(condition));
        let kind = match self.kind {
            Some(FieldKind::Index) => 1.0,
            Some(FieldKind::Attribute) => 2.0,
            None => 0.0,
        };
        let hits = self.slot.and_then(|slot| data.hits(slot));
        let is_attribute = self.kind == Some(FieldKind::Attribute);
        let filter = flag(self.is_filter && !(is_attribute && self.slot.is_some()));
        let [length, first, last, count] = match hits {
            None => [unknown, unknown, unknown, 0.0],
            Some(_) if is_attribute => [unknown, 0.0, 0.0, 1.0],
            Some(hits) => {
                let length = hits.longest_element().map_or(unknown, f64::from);
                let place =
                    |at: Option<&crate::match_data::Occurrence>| at.map_or(unknown, |at| f64::from(at.position));
                let occurrences = hits.occurrences;
                [length, place(occurrences.first()), place(occurrences.last()), occurrences.len() as f64]
            }
        };
        let found = flag(hits.is_some());
        outputs.copy_from_slice(&[kind, filter, flag(self.slot.is_some()), found, length, first, last, count]);
    }
}
