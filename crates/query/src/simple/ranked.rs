//! Terms of which any may match, and which of them only rank.
use crate::grammar::Composite;
use crate::simple::collect::{collect, except};
use crate::tree::{Item, Operator};

/// The parts of an any-of grammar while they are collected. What ranks and what matches depends on the order the terms
/// and groups came in, as it does in the reference implementation: a group puts itself before everything seen so far, and
/// everything seen so far then only ranks.
#[derive(Default)]
pub(super) struct Ranked {
    top: Option<Item>,
    marked: bool,
}

impl Ranked {
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
            Operator::Null => Item::from(Operator::Rank(vec![top, item])),
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
            Operator::Rank(items) => {
                items.insert(0, item);
                top
            }
            Operator::Null => Item::from(Operator::Rank(vec![top, item])),
            _ => Item::from(Operator::Rank(vec![item, top])),
        });
    }

    /// Takes the mark out; what is left is `None` if it was all there was.
    fn unmark(self) -> Option<Item> {
        let mut top = self.top?;
        if Self::is_mark(&top) {
            return None;
        }
        if let Operator::Rank(items) = &mut top.operator {
            items.retain(|item| !Self::is_mark(item));
        }
        Some(top)
    }

    pub fn finish(mut self, required: Vec<Item>, excluded: Vec<Item>) -> Option<Item> {
        if !self.marked {
            return self.top;
        }
        let positive = collect(required, Composite::And);
        match (positive, excluded.is_empty()) {
            (None, _) => {
                let rest = self.unmark().and_then(|rest| match rest.operator {
                    Operator::Rank(items) => collect(items, Composite::Or),
                    _ => Some(rest),
                });
                except(rest, excluded)
            }
            (Some(positive), true) => {
                let Some(rest) = self.unmark() else { return Some(positive) };
                let others = match rest.operator {
                    Operator::Rank(items) => items,
                    _ => vec![rest],
                };
                Some(Item::from(Operator::Rank(std::iter::once(positive).chain(others).collect())))
            }
            (positive, false) => {
                let core = except(positive, excluded)?;
                match self.top.as_mut().map(|top| &mut top.operator) {
                    Some(Operator::Rank(items)) => {
                        if let Some(mark) = items.iter_mut().find(|item| Self::is_mark(item)) {
                            *mark = core;
                        }
                        self.top
                    }
                    _ => Some(core),
                }
            }
        }
    }
}
