//! Recognises max-sim among typed nodes: `reduce(reduce(a * b, sum, x), max, rows)`, however it was written; of all rows
//! of `b`, or for each label of some of its dimensions.
use brooklet_document::{CellType, Dimension, TensorType};

use crate::node::{LabelsPlan, MaxSimNode, Node, NumberNode, PairFunction, TensorKind, TensorNode};
use crate::operation::Binary;
use crate::tensor::{Aggregator, ReducePlan};

/// The node for `child` reduced by `plan`, if that is max-sim; else the child again. The products may be made by a
/// function, which is one of `memos`.
pub(super) fn max_sim(child: TensorNode, plan: &ReducePlan, memos: &[(Node, usize)]) -> Result<Node, TensorNode> {
    let Some(seen) = seen_through(&child, memos) else { return Err(child) };
    let Some(shape) = shape(seen, plan, memos) else { return Err(child) };
    let TensorKind::Reduce(products, _) = seen.kind.as_ref() else { return Err(child) };
    let Some(joined) = seen_through(products, memos) else { return Err(child) };
    let TensorKind::Join(operands, ..) = joined.kind.as_ref() else { return Err(child) };
    let (result, extreme) = (plan.result.clone(), extreme_of(plan.aggregator()));
    let [left, right] = operands.as_ref().clone();
    let (kept, reduced) = if shape.is_left_kept { (left, right) } else { (right, left) };
    let is_double = joined.tensor_type.cell == CellType::Double;
    let node = Box::new(MaxSimNode { kept, reduced, size: shape.size, is_double, extreme, labels: shape.labels });
    Ok(if result.dimensions.is_empty() {
        Node::Number(NumberNode::MaxSim(node))
    } else {
        Node::Tensor(TensorNode::new(result, TensorKind::MaxSim(node)))
    })
}

/// The node itself, or what makes it where it is remembered.
fn seen_through<'n>(node: &'n TensorNode, memos: &'n [(Node, usize)]) -> Option<&'n TensorNode> {
    let TensorKind::Memo(slot) = node.kind.as_ref() else { return Some(node) };
    match memos.get(*slot)? {
        (Node::Tensor(node), _) => seen_through(node, memos),
        (Node::Number(_), _) => None,
    }
}

fn extreme_of(aggregator: Aggregator) -> Binary {
    if aggregator == Aggregator::Min { Binary::Min } else { Binary::Max }
}

/// What max-sim is made of.
struct Shape {
    /// Whether the left operand's rows stay.
    is_left_kept: bool,
    /// Cells of a row.
    size: usize,
    labels: Option<LabelsPlan>,
}

/// How the reduced sums of products are max-sim; nothing if they are not.
fn shape(child: &TensorNode, plan: &ReducePlan, memos: &[(Node, usize)]) -> Option<Shape> {
    if !matches!(plan.aggregator(), Aggregator::Max | Aggregator::Min) {
        return None;
    }
    let TensorKind::Reduce(products, sums) = child.kind.as_ref() else { return None };
    let products = seen_through(products, memos)?;
    let TensorKind::Join(operands, _, PairFunction::Binary(Binary::Multiply)) = products.kind.as_ref() else {
        return None;
    };
    if sums.aggregator() != Aggregator::Sum {
        return None;
    }
    let summed = |dimension: &&Dimension| !child.tensor_type.dimensions.contains(dimension);
    let mut along = products.tensor_type.dimensions.iter().filter(summed);
    let (along, None) = (along.next()?, along.next()) else { return None };
    let [left, right] = [rest(&operands[0].tensor_type, along)?, rest(&operands[1].tensor_type, along)?];
    if left.iter().any(|dimension| right.contains(dimension)) {
        return None;
    }
    let size = along.size.filter(|size| *size > 0)?;
    let result = &plan.result;
    let types = [&operands[0].tensor_type, &operands[1].tensor_type];
    if result.dimensions == left {
        Some(Shape { is_left_kept: true, size, labels: None })
    } else if result.dimensions == right {
        Some(Shape { is_left_kept: false, size, labels: None })
    } else if let Some(labels) = labels(result, &left, &right, types[1].dense_size() / size) {
        Some(Shape { is_left_kept: true, size, labels: Some(labels) })
    } else {
        let labels = labels(result, &right, &left, types[0].dense_size() / size)?;
        Some(Shape { is_left_kept: false, size, labels: Some(labels) })
    }
}

/// How the result is for each label of mapped dimensions of `reduced`, beside all that is `kept`; nothing if it is not.
fn labels(result: &TensorType, kept: &[Dimension], reduced: &[Dimension], rows: usize) -> Option<LabelsPlan> {
    let stays = |dimension: &Dimension| result.dimensions.contains(dimension);
    let fits = kept.iter().all(stays)
        && !reduced.iter().all(stays)
        && reduced.iter().filter(|dimension| stays(dimension)).all(|dimension| dimension.size.is_none());
    if !fits {
        return None;
    }
    let mapped = |of: &[Dimension]| of.iter().filter(|dimension| dimension.size.is_none()).cloned().collect::<Vec<_>>();
    let (kept, reduced) = (mapped(kept), mapped(reduced));
    let stay: Vec<usize> = (0..reduced.len()).filter(|at| stays(&reduced[*at])).collect();
    let place = |dimension: &Dimension| match stay.iter().position(|at| reduced[*at] == *dimension) {
        Some(place) => Some((true, place)),
        None => kept.iter().position(|other| other == dimension).map(|place| (false, place)),
    };
    let address = result.mapped().map(place).collect::<Option<Vec<_>>>()?;
    (!stay.is_empty()).then_some(LabelsPlan { stay, rows, address })
}

/// The other dimensions of an operand whose rows lie along this one; nothing if its rows do not.
fn rest(operand: &TensorType, along: &Dimension) -> Option<Vec<Dimension>> {
    let is_row = operand.indexed().last() == Some(along);
    is_row.then(|| operand.dimensions.iter().filter(|dimension| *dimension != along).cloned().collect())
}
