//! Which of what was found counts for ranking: a term, or another operator that leaves something to rank, counts in the
//! documents that every operator around it matches. In `a or (b and c)` a document with a and b has no b for ranking.
//!
//! An `or` around it needs no look: it matches where anything in it does. So does an operator that every match needs. Of
//! queries without others nothing is made.
use std::rc::Rc;

use brooklet_kernel::Bitmap;

use super::found::Counted;
use super::tree::{MatchedView, evaluate};
use crate::plan::SchemaPlan;
use crate::plan::condition::Node;

impl Counted {
    /// Whether parts of a plan may count in fewer documents than it matches.
    pub(crate) fn is_needed(plan: &SchemaPlan) -> bool {
        may_fail(&plan.root, plan, true)
    }

    /// Where the parts of a plan count in a view; all its operators are resolved.
    pub(crate) fn new(plan: &SchemaPlan, known: &MatchedView<'_>) -> Counted {
        let mut counted = Counted {
            leaves: vec![None; plan.leaves.len()],
            nearest: vec![None; plan.nearest.len()],
            labeled: vec![None; plan.labeled.len()],
        };
        Marking { plan, known, counted: &mut counted }.mark(&plan.root, true, None);
        counted
    }
}

/// Whether an operator in a tree can fail in a document that the query matches. `holds`: whether the tree itself cannot.
fn may_fail(node: &Node, plan: &SchemaPlan, holds: bool) -> bool {
    match node {
        Node::And(nodes) => !holds || nodes.iter().any(|node| may_fail(node, plan, true)),
        Node::Or(nodes) => nodes.iter().any(|node| may_fail(node, plan, false)),
        Node::AndNot(positive, _) => !holds || may_fail(positive, plan, true),
        Node::Rank(first, rest) => {
            !holds || may_fail(first, plan, true) || rest.iter().any(|node| may_fail(node, plan, false))
        }
        Node::Labeled(index) => may_fail(&plan.labeled[*index].node, plan, holds),
        _ => false,
    }
}

struct Marking<'a> {
    plan: &'a SchemaPlan,
    known: &'a MatchedView<'a>,
    counted: &'a mut Counted,
}

impl Marking<'_> {
    /// Notes where the parts of a tree count. `holds`: whether the tree matches wherever it is looked at; `within`: where
    /// the operators around it match, everywhere if there is nothing.
    fn mark(&mut self, node: &Node, holds: bool, within: Option<&Rc<Bitmap>>) {
        match node {
            Node::And(nodes) => {
                let inside = self.inside(node, holds, within);
                nodes.iter().for_each(|node| self.mark(node, true, inside.as_ref()));
            }
            Node::Or(nodes) => nodes.iter().for_each(|node| self.mark(node, false, within)),
            Node::AndNot(positive, _) => {
                let inside = self.inside(node, holds, within);
                self.mark(positive, true, inside.as_ref());
            }
            Node::Rank(first, rest) => {
                let inside = self.inside(first, holds, within);
                self.mark(first, true, inside.as_ref());
                rest.iter().for_each(|node| self.mark(node, false, inside.as_ref()));
            }
            Node::Labeled(index) => {
                self.counted.labeled[*index] = within.cloned();
                self.mark(&self.plan.labeled[*index].node, holds, within);
            }
            Node::Nearest(index) => self.counted.nearest[*index] = within.cloned(),
            Node::Leaf(leaf) => self.counted.leaves[*leaf] = within.cloned(),
            // Of what stands inside of these only that is left which took part in a match.
            Node::Near(_) | Node::SameElement(_) => {
                super::composite::inner_leaves(node, self.plan, &mut |leaf| {
                    self.counted.leaves[leaf] = within.cloned();
                });
            }
            Node::True | Node::False => {}
        }
    }

    /// Where a tree and the operators around it match.
    fn inside(&self, node: &Node, holds: bool, within: Option<&Rc<Bitmap>>) -> Option<Rc<Bitmap>> {
        if holds {
            return within.cloned();
        }
        let mut documents = evaluate(node, self.plan, self.known);
        within.iter().for_each(|within| documents.and(within));
        Some(Rc::new(documents))
    }
}
