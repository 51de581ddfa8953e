//! The tree of a plan over bitmaps: what it matches, and where its neighbour operators stand.
use std::collections::VecDeque;
use std::rc::Rc;

use brooklet_kernel::Bitmap;

use super::found::ViewMatch;
use crate::nearest::Resolved;
use crate::plan::SchemaPlan;
use crate::plan::condition::Node;

/// What is known of a view.
pub(crate) struct MatchedView<'a> {
    pub(crate) matches: &'a ViewMatch,
    /// Nearest-neighbour operators of which nothing is known: they hold for every document.
    pub(crate) unresolved: &'a VecDeque<usize>,
    pub(crate) resolved: &'a [Resolved],
    pub(crate) view: usize,
    pub(crate) alive: &'a Rc<Bitmap>,
}

/// The documents a tree matches.
pub(crate) fn evaluate(node: &Node, plan: &SchemaPlan, known: &MatchedView<'_>) -> Bitmap {
    let all = |nodes: &[Node]| nodes.iter().map(|node| evaluate(node, plan, known)).collect::<Vec<_>>();
    match node {
        Node::True => (**known.alive).clone(),
        Node::False => Bitmap::none(known.alive.len()),
        Node::Leaf(index) => known.matches.leaves[*index].documents.clone(),
        Node::Nearest(index) if known.unresolved.contains(index) => (**known.alive).clone(),
        Node::Nearest(index) => known.resolved[*index].documents(known.view, known.alive.len()),
        Node::Near(index) => known.matches.settled.near[*index].clone(),
        Node::SameElement(index) => known.matches.settled.same_elements[*index].clone(),
        Node::Labeled(index) => evaluate(&plan.labeled[*index].node, plan, known),
        Node::And(nodes) => {
            let mut result = (**known.alive).clone();
            all(nodes).iter().for_each(|documents| result.and(documents));
            result
        }
        Node::Or(nodes) => {
            let mut result = Bitmap::none(known.alive.len());
            all(nodes).iter().for_each(|documents| result.or(documents));
            result
        }
        Node::AndNot(positive, negatives) => {
            let mut result = evaluate(positive, plan, known);
            all(negatives).iter().for_each(|documents| result.and_not(documents));
            result
        }
        Node::Rank(first, _) => evaluate(first, plan, known),
    }
}

/// Whether a neighbour operator stands among what is taken away.
pub(crate) fn is_below_not(node: &Node, plan: &SchemaPlan, index: usize) -> bool {
    let contains = |node: &Node| holds(node, plan, index);
    let below = |node: &Node| is_below_not(node, plan, index);
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(below),
        Node::AndNot(positive, negatives) => below(positive) || negatives.iter().any(contains),
        Node::Rank(first, rest) => below(first) || rest.iter().any(below),
        Node::Labeled(labeled) => below(&plan.labeled[*labeled].node),
        _ => false,
    }
}

fn holds(node: &Node, plan: &SchemaPlan, index: usize) -> bool {
    let holds = |node: &Node| holds(node, plan, index);
    match node {
        Node::Nearest(nearest) => *nearest == index,
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(holds),
        Node::AndNot(first, rest) | Node::Rank(first, rest) => holds(first) || rest.iter().any(holds),
        Node::Labeled(labeled) => holds(&plan.labeled[*labeled].node),
        _ => false,
    }
}
