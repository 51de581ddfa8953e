//! Several items of the simple query language as one.

use crate::grammar::Composite;
use crate::tree::{AndNot, Item, Near, Operator, Phrase, WeakAnd};

/// How far apart words may be under the composites `near` and `oNear`.
const NEAR_DISTANCE: u32 = 2;

/// The items under one operator; a single item stands for itself where that means the same.
pub(crate) fn collect(mut items: Vec<Item>, composite: Composite) -> Option<Item> {
    let alone = matches!(composite, Composite::And | Composite::Or | Composite::Phrase);
    let near = |items, ordered| {
        let near = Near { items, negatives: Vec::new(), distance: NEAR_DISTANCE, exclusion_distance: None, ordered };
        Operator::Near(near)
    };
    let operator = match composite {
        _ if items.is_empty() => return None,
        _ if alone && items.len() == 1 => return items.pop(),
        Composite::And => Operator::And(items),
        Composite::Or => Operator::Or(items),
        Composite::WeakAnd => Operator::WeakAnd(WeakAnd { items, ..WeakAnd::default() }),
        Composite::Near => near(items, false),
        Composite::OrderedNear => near(items, true),
        Composite::Phrase => Operator::Phrase(Phrase { field: field_of(&items), items, segmented: None }),
    };
    Some(Item::from(operator))
}

/// The item without composites that are directly in one of their kind: of all items of an and or an or, and of what
/// matches in a rank or an exclusion.
pub(crate) fn merge(mut item: Item) -> Item {
    let below = |items: Vec<Item>| items.into_iter().map(merge).collect();
    item.operator = match item.operator {
        Operator::And(items) => Operator::And(flatten(below(items), Composite::And)),
        Operator::Or(items) => Operator::Or(flatten(below(items), Composite::Or)),
        Operator::Rank(items) => {
            let mut items: Vec<Item> = below(items);
            if let Some(Operator::Rank(first)) = items.first_mut().map(|first| &mut first.operator) {
                let first = std::mem::take(first);
                items.splice(..1, first);
            }
            Operator::Rank(items)
        }
        Operator::AndNot(AndNot { positive, negatives }) => {
            let (positive, negatives): (Item, Vec<Item>) = (merge(*positive), below(negatives));
            match positive.operator {
                Operator::AndNot(mut not) => {
                    not.negatives.extend(negatives);
                    Operator::AndNot(not)
                }
                _ => Operator::AndNot(AndNot { positive: Box::new(positive), negatives }),
            }
        }
        Operator::WeakAnd(weak) => Operator::WeakAnd(WeakAnd { items: below(weak.items), ..weak }),
        other => other,
    };
    item
}

/// Replaces items that are the same composite by what is in them.
fn flatten(items: Vec<Item>, composite: Composite) -> Vec<Item> {
    let mut flat = Vec::new();
    for mut item in items {
        match &mut item.operator {
            Operator::And(inner) if composite == Composite::And => flat.append(inner),
            Operator::Or(inner) if composite == Composite::Or => flat.append(inner),
            _ => flat.push(item),
        }
    }
    flat
}

pub(crate) fn field_of(items: &[Item]) -> String {
    match items.first().map(|item| &item.operator) {
        Some(Operator::Term(term)) => term.field.clone(),
        Some(Operator::Number(number)) => number.field.clone(),
        _ => String::new(),
    }
}

pub(crate) fn except(positive: Option<Item>, negatives: Vec<Item>) -> Option<Item> {
    if negatives.is_empty() {
        return positive;
    }
    let positive = Box::new(positive.unwrap_or_else(|| Item::from(Operator::True)));
    Some(Item::from(Operator::AndNot(AndNot { positive, negatives })))
}
