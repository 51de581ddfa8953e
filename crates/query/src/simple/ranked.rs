//! Terms of which any may match, and which of them only rank.
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
}

impl Ranked {
    pub fn new(any: bool) -> Ranked {
        Ranked { any, top: None, before: Vec::new(), marked: false }
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
            _ if both_or => Item::from(Operator::Or(vec![top, item])),
            Operator::Rank(items) if !self.any && matches!(item.operator, Operator::Or(_)) => {
                items.reverse();
                items.append(&mut self.before);
                into_or(std::mem::take(items), item)
            }
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
        if let Operator::Rank(items) | Operator::Or(items) = &mut top.operator {
            items.retain(|item| !Self::is_mark(item));
        }
        Some(top)
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
                if let Some(Operator::Or(items)) = self.top.as_mut().map(|top| &mut top.operator) {
                    replace_mark(items, positive);
                    return self.top;
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
                Some(Item::from(Operator::Rank(std::iter::once(positive).chain(others).collect())))
            }
            (positive, false) => {
                let core = except(positive, excluded)?;
                match self.top.as_mut().map(|top| &mut top.operator) {
                    Some(Operator::Rank(items) | Operator::Or(items)) => {
                        replace_mark(items, core);
                        self.top
                    }
                    _ => Some(core),
                }
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

fn replace_mark(items: &mut [Item], item: Item) {
    if let Some(mark) = items.iter_mut().find(|item| Ranked::is_mark(item)) {
        *mark = item;
    }
}

/// An or of items, and of what is in another.
fn into_or(mut items: Vec<Item>, mut or: Item) -> Item {
    if let Operator::Or(more) = &mut or.operator {
        items.append(more);
    }
    Item::from(Operator::Or(items))
}
