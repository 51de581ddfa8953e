//! Terms of which any may match, and which of them only rank.
use brooklet_task::limits::QUERY_DEPTH;

use crate::grammar::Composite;
use crate::simple::collect::{collect, except};
use crate::tree::{Item, Operator};

/// The parts of an any-of grammar while they are collected. What ranks and what matches depends on the order the terms
/// and groups came in, as it does in the reference implementation: a group puts itself before everything seen so far, and
/// everything seen so far then only ranks.
pub(super) struct Ranked {
    /// Whether the whole text is of the type `any`; in groups of others an or takes over what only ranks.
    any: bool,
    top: Option<Item>,
    /// What stands before the items of a rank at the top, the last one first.
    before: Vec<Item>,
    marked: bool,
    /// How many ors are in one another.
    depth: usize,
}

impl Ranked {
    pub fn new(any: bool) -> Ranked {
        Ranked { any, top: None, before: Vec::new(), marked: false, depth: 0 }
    }

    /// Where the required and excluded terms will be: an item that nothing else here makes.
    pub fn mark(&mut self) {
        if !self.marked {
            self.marked = true;
            self.add_group(Item::from(Operator::Null));
        }
    }

    fn is_mark(item: &Item) -> bool {
        item.operator == Operator::Null
    }

    pub fn add(&mut self, item: Item) {
        let Some(mut top) = self.top.take() else {
            self.top = Some(item);
            return;
        };
        self.top = Some(match &mut top.operator {
            Operator::Or(items) | Operator::Rank(items) => {
                items.push(item);
                top
            }
            Operator::Null | Operator::AndNot(_) => Item::from(Operator::Rank(vec![top, item])),
            _ => Item::from(Operator::Or(vec![top, item])),
        });
    }

    pub fn add_group(&mut self, item: Item) {
        let Some(mut top) = self.top.take() else {
            self.top = Some(item);
            return;
        };
        let both_or = matches!((&top.operator, &item.operator), (Operator::Or(_), Operator::Or(_)));
        self.top = Some(match &mut top.operator {
            Operator::Or(items) if both_or && self.depth >= QUERY_DEPTH => {
                if let Operator::Or(more) = item.operator {
                    items.extend(more);
                }
                top
            }
            _ if both_or => {
                self.depth += 1;
                Item::from(Operator::Or(vec![top, item]))
            }
            Operator::Rank(items) if !self.any && matches!(item.operator, Operator::Or(_)) => {
                items.reverse();
                items.append(&mut self.before);
                into_or(std::mem::take(items), item)
            }
            Operator::Phrase(_) if !self.any && matches!(item.operator, Operator::Or(_)) => into_or(vec![top], item),
            Operator::Rank(_) => {
                self.before.push(item);
                top
            }
            Operator::Null | Operator::AndNot(_) => Item::from(Operator::Rank(vec![top, item])),
            _ => Item::from(Operator::Rank(vec![item, top])),
        });
    }

    /// Takes the mark out; what is left is `None` if it was all there was.
    fn unmark(self) -> Option<Item> {
        let mut top = self.top?;
        if Self::is_mark(&top) {
            return None;
        }
        remove_mark(&mut top);
        Some(top)
    }

    /// Everything, with `item` where the mark is.
    fn with_mark(self, item: Item) -> Item {
        let Some(mut top) = self.top else { return item };
        if let Some(mark) = find_mark(&mut top) {
            *mark = item;
        }
        top
    }

    pub fn finish(mut self, required: Vec<Item>, excluded: Vec<Item>) -> Option<Item> {
        if let Some(Item { operator: Operator::Rank(items), .. }) = &mut self.top {
            items.splice(..0, self.before.drain(..).rev());
        }
        if !self.marked {
            return self.top;
        }
        let positive = join_required(required);
        match (positive, excluded.is_empty()) {
            (None, _) => {
                let rest = self.unmark().and_then(|rest| match rest.operator {
                    Operator::Rank(mut items) if items.len() < 2 => items.pop(),
                    Operator::Rank(items) => Some(Item::from(Operator::Or(items))),
                    _ => Some(rest),
                });
                except(rest, excluded)
            }
            (Some(positive), true) => {
                if let Some(Item { operator: Operator::Or(_), .. }) = &self.top {
                    return Some(self.with_mark(positive));
                }
                let any = self.any;
                let Some(rest) = self.unmark() else { return Some(positive) };
                let others = match rest.operator {
                    Operator::Rank(items) => items,
                    _ => vec![rest],
                };
                if !any && matches!(positive.operator, Operator::Or(_)) {
                    return Some(into_or(others.into_iter().rev().collect(), positive));
                }
                let positive = ranked_into_or(positive);
                Some(Item::from(Operator::Rank(std::iter::once(positive).chain(others).collect())))
            }
            (positive, false) => {
                let core = except(positive, excluded)?;
                Some(self.with_mark(core))
            }
        }
    }
}

/// All of the required items; the parts of a first one that must all match are such items, too.
fn join_required(mut required: Vec<Item>) -> Option<Item> {
    match required.first_mut() {
        Some(Item { operator: Operator::And(_), .. }) => {
            let mut first = required.remove(0);
            if let Operator::And(items) = &mut first.operator {
                items.append(&mut required);
            }
            Some(first)
        }
        _ => collect(required, Composite::And),
    }
}

/// What a required group only ranks by belongs to the or that it matches by, as soon as other items rank beside it.
fn ranked_into_or(mut required: Item) -> Item {
    match &mut required.operator {
        Operator::Rank(items) if matches!(items.first(), Some(Item { operator: Operator::Or(_), .. })) => {
            let or = items.remove(0);
            items.reverse();
            into_or(std::mem::take(items), or)
        }
        _ => required,
    }
}

/// The mark, which may be in an or that another took over.
fn find_mark(item: &mut Item) -> Option<&mut Item> {
    if Ranked::is_mark(item) {
        return Some(item);
    }
    match &mut item.operator {
        Operator::Rank(items) | Operator::Or(items) => items.iter_mut().find_map(find_mark),
        _ => None,
    }
}

fn remove_mark(item: &mut Item) {
    if let Operator::Rank(items) | Operator::Or(items) = &mut item.operator {
        items.retain(|item| !Ranked::is_mark(item));
        items.iter_mut().for_each(remove_mark);
    }
}

/// An or of items, and of what is in another.
fn into_or(mut items: Vec<Item>, mut or: Item) -> Item {
    if let Operator::Or(more) = &mut or.operator {
        items.append(more);
    }
    Item::from(Operator::Or(items))
}
