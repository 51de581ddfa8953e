//! Recognises max-sim among typed nodes: `reduce(reduce(a * b, sum, x), max, rows)`, however it was written.
use brooklet_document::{CellType, Dimension, TensorType};

use crate::node::{MaxSimNode, Node, NumberNode, PairFunction, TensorKind, TensorNode};
use crate::operation::Binary;
use crate::tensor::{Aggregator, ReducePlan};

/// The node for `child` reduced by `plan`, if that is max-sim; else the child again.
pub(super) fn max_sim(child: TensorNode, plan: &ReducePlan) -> Result<Node, TensorNode> {
    let Some((is_left_kept, size)) = shape(&child, plan) else { return Err(child) };
    let (result, extreme) = (plan.result.clone(), extreme_of(plan.aggregator()));
    let TensorKind::Reduce(products, sums) = *child.kind else { return Err(child) };
    let joined = *products;
    let TensorKind::Join(operands, ..) = *joined.kind else {
        let products = Box::new(joined);
        return Err(TensorNode { tensor_type: child.tensor_type, kind: Box::new(TensorKind::Reduce(products, sums)) });
    };
    let [left, right] = *operands;
    let (kept, reduced) = if is_left_kept { (left, right) } else { (right, left) };
    let is_double = joined.tensor_type.cell == CellType::Double;
    let node = Box::new(MaxSimNode { kept, reduced, size, is_double, extreme });
    Ok(if result.dimensions.is_empty() {
        Node::Number(NumberNode::MaxSim(node))
    } else {
        Node::Tensor(TensorNode::new(result, TensorKind::MaxSim(node)))
    })
}

fn extreme_of(aggregator: Aggregator) -> Binary {
    if aggregator == Aggregator::Min { Binary::Min } else { Binary::Max }
}

/// If it is max-sim: whether the left operand's rows stay, and how many cells a row has.
fn shape(child: &TensorNode, plan: &ReducePlan) -> Option<(bool, usize)> {
    if !matches!(plan.aggregator(), Aggregator::Max | Aggregator::Min) {
        return None;
    }
    let TensorKind::Reduce(products, sums) = child.kind.as_ref() else { return None };
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
    if plan.result.dimensions == left {
        Some((true, size))
    } else if plan.result.dimensions == right {
        Some((false, size))
    } else {
        None
    }
}

/// The other dimensions of an operand whose rows lie along this one; nothing if its rows do not.
fn rest(operand: &TensorType, along: &Dimension) -> Option<Vec<Dimension>> {
    let is_row = operand.indexed().last() == Some(along);
    is_row.then(|| operand.dimensions.iter().filter(|dimension| *dimension != along).cloned().collect())
}
