//! Takes out of a query what is empty: a text that nobody typed asks for nothing, and what stands beside it still asks.
//! What is wrong with an empty part is said where it is parsed; whether anything is left is for who answers to look at.

use std::mem;

use crate::tree::{Item, Operator};

impl Item {
    /// Takes every [`Operator::Null`] out of the operator around it. One that has nothing left is null itself, one that
    /// has a single item is that item, and a `not` that lost what it takes from takes from everything.
    pub fn reduce(&mut self) {
        self.children_mut().into_iter().for_each(Item::reduce);
        let items = match &mut self.operator {
            Operator::And(items) | Operator::Or(items) | Operator::Rank(items) | Operator::Equiv(items) => items,
            Operator::WeakAnd(weak) => &mut weak.items,
            Operator::Labeled(labeled) if labeled.item.is_null() => return self.operator = Operator::Null,
            Operator::AndNot(not) => {
                not.negatives.retain(|item| !item.is_null());
                if not.negatives.is_empty() {
                    *self = mem::replace(&mut *not.positive, Item::from(Operator::Null));
                } else if not.positive.is_null() {
                    *not.positive = Item::from(Operator::True);
                }
                return;
            }
            _ => return,
        };
        let count = items.len();
        items.retain(|item| !item.is_null());
        match items.len() {
            left if left == count => {}
            0 => self.operator = Operator::Null,
            1 => *self = items.swap_remove(0),
            _ => {}
        }
    }

    fn is_null(&self) -> bool {
        self.operator == Operator::Null
    }
}
