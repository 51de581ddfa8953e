//! Fields of which only some elements are shown: those that matched, or those a feature of the rank profile selects; and
//! values of which nothing is.
use std::collections::BTreeSet;

use brooklet_document::Value;
use brooklet_rank::Value as Feature;
use brooklet_segment::{Gaps, Halt};

use crate::found::places::{places_of, positive_leaves};
use crate::plan::SchemaPlan;
use crate::plan::condition::Test;
use crate::ranking::spot::Spot;
use crate::resident::reads::Reads;

/// The elements of a field, by their number, that the query matched: in the field itself or in a part of it. What is
/// asked for not to match does not count.
pub(super) fn matched_elements(
    plan: &SchemaPlan,
    field: &str,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<BTreeSet<u32>, Halt> {
    let concerns =
        |name: &str| name.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '{', '[']));
    let mut elements = BTreeSet::new();
    let mut gaps = Gaps::default();
    for leaf in positive_leaves(plan) {
        for (index, target) in plan.leaves[leaf].targets.iter().enumerate() {
            // What stands for a whole sameElement has no column of its own.
            let searched = match target.test {
                Test::Elements => &plan.profile.fields[target.field.0 as usize].name,
                _ => &target.spec.field,
            };
            if !concerns(searched) {
                continue;
            }
            if let Some(places) = gaps.note(places_of(plan, leaf, index, spot, reads))? {
                elements.extend(places.iter().map(|place| place.element));
            }
        }
    }
    gaps.check()?;
    Ok(elements)
}

/// The elements that are labels of a tensor's first mapped dimension. Labels that are no numbers select nothing.
pub(super) fn selected_elements(feature: &Feature) -> BTreeSet<u32> {
    let Feature::Tensor(tensor) = feature else { return BTreeSet::new() };
    let labels = tensor.addresses.iter().filter_map(|address| address.first());
    labels.filter_map(|label| label.parse().ok()).collect()
}

/// A collection with only these elements, in their order.
pub(super) fn only(value: &Value, elements: &BTreeSet<u32>) -> Value {
    fn kept<T: Clone>(all: &[T], elements: &BTreeSet<u32>) -> Vec<T> {
        elements.iter().filter_map(|element| all.get(*element as usize).cloned()).collect()
    }
    match value {
        Value::Array(all) => Value::Array(kept(all, elements)),
        Value::WeightedSet(all) => Value::WeightedSet(kept(all, elements)),
        Value::Map(all) => Value::Map(kept(all, elements)),
        other => other.clone(),
    }
}

/// Whether a value is shown as none: an empty one, what is not a number, and the least of its type, which marks the
/// absence of one (query-api §2).
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Raw(bytes) => bytes.is_empty(),
        Value::Byte(number) => *number == i8::MIN,
        Value::Int(number) => *number == i32::MIN,
        Value::Long(number) => *number == i64::MIN,
        Value::Float(number) => number.is_nan(),
        Value::Double(number) => number.is_nan(),
        other => other.is_empty_collection(),
    }
}
