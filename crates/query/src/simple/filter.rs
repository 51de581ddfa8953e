//! A request's filter (`model.filter`) and its recall: terms that are added to a query without counting as its words.
use super::compose::{Composer, Part};
use super::term::Reader;
use super::token::tokenize;
use crate::grammar::{Composite, Syntax};
use crate::surroundings::Surroundings;
use crate::tree::{AndNot, Item, Operator, TextRange};

/// Adds the terms of a filter to a query: `+term` must match, `-term` must not, others only rank. They have no places,
/// which would be in another text than the query's.
pub(super) fn filter(root: Option<Item>, filter: &str, around: &Surroundings<'_>) -> Option<Item> {
    let reader = Reader::new(tokenize(filter, Syntax::Simple, None, around), None, around);
    let mut composer = Composer::new(reader, Composite::Or);
    let Some(mut root) = root else {
        let mut item = composer.any(true)?;
        mark_as_filter(&mut item);
        return Some(item);
    };
    while let Some(part) = composer.next_part(true) {
        root = match part {
            Part::Required(item) => with_required(root, filtering(item)),
            Part::Excluded(item) => with_excluded(root, filtering(item)),
            Part::Plain(read) => with_ranked(root, filtering(read.item)),
            Part::Group(_) | Part::Skipped => root,
        };
    }
    Some(root)
}

/// Adds the terms of a recall: as a filter's, but ranking sees none of them, so that each must be `+` or `-`.
pub(super) fn recall(mut root: Item, recall: &str, around: &Surroundings<'_>) -> Result<Item, &'static str> {
    let reader = Reader::new(tokenize(recall, Syntax::Simple, None, around), None, around);
    let mut composer = Composer::new(reader, Composite::Or);
    let mut parts = 0;
    while let Some(part) = composer.next_part(true) {
        root = match part {
            Part::Required(item) => with_required(root, unrank(filtering(item))),
            Part::Excluded(item) => with_excluded(root, unrank(filtering(item))),
            Part::Plain(_) | Part::Group(_) => return Err("Recall contains at least one rank item."),
            Part::Skipped => continue,
        };
        parts += 1;
    }
    if parts == 0 { Err("Failed to parse recall parameter.") } else { Ok(root) }
}

fn unrank(mut item: Item) -> Item {
    fn mark(item: &mut Item) {
        item.annotations.ranked = false;
        item.children_mut().into_iter().for_each(mark);
    }
    mark(&mut item);
    item
}

fn filtering(mut item: Item) -> Item {
    mark_as_filter(&mut item);
    item
}

fn mark_as_filter(item: &mut Item) {
    let leaf = item.children().is_empty() || matches!(item.operator, Operator::Phrase(_));
    item.annotations.filter |= leaf;
    item.place = TextRange::default();
    item.children_mut().into_iter().for_each(mark_as_filter);
}

fn with_required(mut root: Item, item: Item) -> Item {
    match &mut root.operator {
        Operator::And(items) => {
            items.push(item);
            root
        }
        Operator::Rank(items) if !items.is_empty() => {
            let first = items.remove(0);
            items.insert(0, with_required_inside(first, item));
            root
        }
        _ => Item::from(Operator::And(vec![root, item])),
    }
}

/// Puts an item into what a ranked query matches by.
fn with_required_inside(mut first: Item, item: Item) -> Item {
    match &mut first.operator {
        Operator::AndNot(not) => {
            let positive = std::mem::replace(&mut *not.positive, Item::from(Operator::True));
            *not.positive = with_required(positive, item);
            first
        }
        _ => with_required(first, item),
    }
}

fn with_excluded(mut root: Item, item: Item) -> Item {
    match &mut root.operator {
        Operator::AndNot(not) => {
            not.negatives.push(item);
            root
        }
        Operator::Rank(items) if !items.is_empty() => {
            let first = items.remove(0);
            items.insert(0, with_excluded(first, item));
            root
        }
        _ => Item::from(Operator::AndNot(AndNot { positive: Box::new(root), negatives: vec![item] })),
    }
}

fn with_ranked(mut root: Item, item: Item) -> Item {
    match &mut root.operator {
        Operator::Rank(items) => {
            items.push(item);
            root
        }
        _ => Item::from(Operator::Rank(vec![root, item])),
    }
}
