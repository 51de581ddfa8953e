//! Dear functions of the same numbers, written several times, are evaluated once per document: they get a memo, as a function of the
//! profile has one. People write `pow(words, 2) / (pow(words, 2) + 9)`.
use crate::node::{Node, NumberNode};
use crate::operation::{Binary, Unary};

/// Different dear functions that are looked for in an expression: what comes after them is evaluated as often as it is written.
const FUNCTIONS: usize = 32;

/// Gives a memo to what is dear and repeated.
pub(super) fn share(root: &mut Node, memos: &mut Vec<Node>) {
    let repeated = repeated_nodes(memos.iter().chain([&*root]));
    let first = memos.len();
    for node in memos.iter_mut().chain([root]) {
        if let Node::Number(number) = node {
            replace(number, &repeated, first);
        }
    }
    memos.extend(repeated.iter().cloned().map(|mut node| {
        // One may be within another.
        node.for_each_part_mut(&mut |part| replace(part, &repeated, first));
        Node::Number(node)
    }));
}

/// What is dear and stands at several places.
fn repeated_nodes<'n>(nodes: impl Iterator<Item = &'n Node>) -> Vec<NumberNode> {
    let mut found: Vec<(&NumberNode, usize)> = Vec::new();
    let number = |node: &'n Node| if let Node::Number(number) = node { Some(number) } else { None };
    let mut open: Vec<&NumberNode> = nodes.filter_map(number).collect();
    while let Some(node) = open.pop() {
        // A node that is of other kinds is not even the same as itself.
        if is_dear(node) && is_same(node, node) {
            match found.iter().position(|(known, _)| is_same(known, node)) {
                Some(known) => found[known].1 += 1,
                None if found.len() < FUNCTIONS => found.push((node, 1)),
                None => {}
            }
        }
        node.for_each_part(&mut |part| open.push(part));
    }
    found.into_iter().filter(|(_, times)| *times > 1).map(|(node, _)| node.clone()).collect()
}

fn replace(node: &mut NumberNode, repeated: &[NumberNode], first: usize) {
    match repeated.iter().position(|known| is_same(known, node)) {
        Some(number) => *node = NumberNode::Memo(first + number),
        None => node.for_each_part_mut(&mut |part| replace(part, repeated, first)),
    }
}

/// Whether evaluating it takes longer than a memo does.
fn is_dear(node: &NumberNode) -> bool {
    let of_two = |function: &Binary| matches!(function, Binary::Power | Binary::Pow | Binary::Atan2);
    match node {
        NumberNode::Binary(function, _) => of_two(function),
        NumberNode::Chain(_, rest) => rest.iter().any(|(operator, _)| of_two(operator)),
        NumberNode::Unary(function, _) => matches!(
            function,
            Unary::Acos
                | Unary::Asin
                | Unary::Atan
                | Unary::Cos
                | Unary::Cosh
                | Unary::Elu
                | Unary::Erf
                | Unary::Exp
                | Unary::Log
                | Unary::Log10
                | Unary::Sigmoid
                | Unary::Sin
                | Unary::Sinh
                | Unary::Tan
                | Unary::Tanh
        ),
        _ => false,
    }
}

/// Whether two nodes yield one number in every document: operations of constants, features and memos alone. What depends on a local
/// variable is another number at every place.
fn is_same(left: &NumberNode, right: &NumberNode) -> bool {
    use NumberNode as N;
    match (left, right) {
        (N::Constant(left), N::Constant(right)) => left.to_bits() == right.to_bits(),
        (N::Feature(left), N::Feature(right)) | (N::Memo(left), N::Memo(right)) => left == right,
        (N::Unary(function, left), N::Unary(other, right)) => function == other && is_same(left, right),
        (N::Binary(function, left), N::Binary(other, right)) => {
            function == other && left.iter().zip(right.iter()).all(|(left, right)| is_same(left, right))
        }
        (N::Chain(left, rest), N::Chain(right, others)) => {
            let pairs = || rest.iter().zip(others.iter());
            let are_same = rest.len() == others.len() && pairs().all(|((left, _), (right, _))| left == right);
            are_same && is_same(left, right) && pairs().all(|((_, left), (_, right))| is_same(left, right))
        }
        _ => false,
    }
}
