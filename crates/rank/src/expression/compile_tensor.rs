//! Compiles tensor functions.
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{CellType, Tensor, TensorType};
use brooklet_kernel::sort;
use brooklet_task::Rejection;

use super::compile::map_cells;
use super::compile_max_sim::max_sim;
use super::compiler::{Binding, Compiler, Made, NO_LOCAL, Scope};
use super::syntax_tree::{Lambda, Slice, SliceLabel, TensorFunction, Tree};
use crate::node::{
    CellFunction, CoordinateNode, Node, NumberNode, PairFunction, ProductNode, SliceNode, SubspacesNode, TensorKind,
    TensorNode,
};
use crate::operation::{Binary, Unary};
use crate::tensor::budget::Budget;
use crate::tensor::{
    Aggregator, ConcatPlan, MergePlan, ReducePlan, RenamePlan, SlicePlan, SubspacesPlan, UnpackPlan, mapped_type,
};

impl Compiler<'_> {
    #[inline(never)]
    pub(super) fn tensor_function(&mut self, function: &TensorFunction, offset: usize) -> Made<Node> {
        use TensorFunction as F;
        match function {
            F::Map(child, lambda) => self.map(child, lambda),
            F::Join(operands, lambda) => {
                let (left, right) = (self.node(&operands[0])?, self.node(&operands[1])?);
                let function = self.pair_function(lambda)?;
                self.join(left, right, function, offset)
            }
            F::Merge(operands, lambda) => self.merge(operands, lambda, offset),
            F::Reduce(child, aggregator, names) => self.reduce(child, *aggregator, names, offset),
            F::MapSubspaces(child, lambda) => self.map_subspaces(child, lambda, offset),
            F::FilterSubspaces(child, lambda) => self.filter_subspaces(child, lambda, offset),
            F::Concat(operands, name) => {
                let (left, right) = (self.node(&operands[0])?, self.node(&operands[1])?);
                let plan = ConcatPlan::new(&left.tensor_type(), &right.tensor_type(), name);
                let plan = plan.map_err(|rejection| self.place(rejection, offset))?;
                Ok(tensor(plan.result.clone(), TensorKind::Concat(Box::new([left, right]), plan)))
            }
            F::Rename(child, from, to) => {
                let child = self.tensor_operand(child, "rename")?;
                let plan =
                    RenamePlan::new(&child.tensor_type, from, to).map_err(|rejection| self.place(rejection, offset))?;
                Ok(tensor(plan.result.clone(), TensorKind::Rename(Box::new(child), plan)))
            }
            F::CellCast(child, cell) => self.cell_cast(child, *cell, offset),
            F::CellOrder(child, is_descending) => Ok(match self.node(child)? {
                Node::Number(_) => Node::Number(NumberNode::Constant(0.0)),
                Node::Tensor(child) => {
                    let tensor_type = Arc::new(mapped_type(&child.tensor_type));
                    tensor(tensor_type, TensorKind::Order(Box::new(child), *is_descending))
                }
            }),
            F::UnpackBits(child, cell, is_big) => {
                let child = self.tensor_operand(child, "unpack_bits")?;
                let plan = UnpackPlan::new(&child.tensor_type, *cell, *is_big);
                let plan = plan.map_err(|rejection| self.place(rejection, offset))?;
                Ok(tensor(plan.result.clone(), TensorKind::Unpack(Box::new(child), plan)))
            }
            F::Generate(tensor_type, lambda) => self.generate(tensor_type, lambda),
            F::Literal(tensor_type, cells) => self.literal(tensor_type, cells),
            F::Slice(child, slice) => self.slice(child, slice, offset),
        }
    }

    /// A node that must yield a tensor.
    fn tensor_operand(&mut self, tree: &Tree, name: &str) -> Made<TensorNode> {
        match self.node(tree)? {
            Node::Tensor(tensor) => Ok(tensor),
            Node::Number(_) => Err(self.refuse(format!("{name} takes a tensor, not a number"), tree.offset)),
        }
    }

    /// Compiles the body of a lambda: its parameters are local variables read by these nodes.
    fn body(&mut self, lambda: &Lambda, locals: Vec<(usize, Node)>, around: Option<usize>) -> Made<Node> {
        let first = locals.first().map_or(NO_LOCAL, |(local, _)| *local);
        let bindings = locals.into_iter().map(|(local, node)| Binding::Local(local, Rc::new(node)));
        self.scopes.push(Scope { names: lambda.parameters.iter().cloned().zip(bindings).collect(), around });
        let scope = std::mem::replace(&mut self.scope, self.scopes.len() - 1);
        let lowest_outside = std::mem::replace(&mut self.lowest_local, NO_LOCAL);
        let body = self.node(&lambda.body);
        self.scope = scope;
        // Its own variables do not leave it.
        let lowest_inside = if self.lowest_local >= first { NO_LOCAL } else { self.lowest_local };
        self.lowest_local = lowest_outside.min(lowest_inside);
        body
    }

    /// The body of a lambda of numbers, which yields a number.
    fn number_body(&mut self, lambda: &Lambda, locals: &[usize]) -> Made<NumberNode> {
        let nodes = locals.iter().map(|local| (*local, Node::Number(NumberNode::Local(*local)))).collect();
        match self.body(lambda, nodes, None)? {
            Node::Number(number) => Ok(number),
            Node::Tensor(_) => Err(self.refuse("a function of cells must yield a number", lambda.body.offset)),
        }
    }

    fn map(&mut self, child: &Tree, lambda: &Lambda) -> Made<Node> {
        let child = self.node(child)?;
        let local = self.local();
        let body = self.number_body(lambda, &[local])?;
        Ok(match child {
            Node::Number(number) => Node::Number(NumberNode::Apply(Box::new([(local, number)]), Box::new(body))),
            Node::Tensor(tensor) => map_cells(tensor, cell_function(local, body)),
        })
    }

    fn pair_function(&mut self, lambda: &Lambda) -> Made<PairFunction> {
        let locals = [self.local(), self.local()];
        let body = self.number_body(lambda, &locals)?;
        Ok(match as_operator(&body, locals) {
            Some(operator) => PairFunction::Binary(operator),
            None => PairFunction::Lambda(locals, Box::new(body)),
        })
    }

    #[inline(never)]
    fn merge(&mut self, operands: &[Tree; 2], lambda: &Lambda, offset: usize) -> Made<Node> {
        let (left, right) = (self.node(&operands[0])?, self.node(&operands[1])?);
        let function = self.pair_function(lambda)?;
        let plan = MergePlan::new(&left.tensor_type(), &right.tensor_type());
        let plan = plan.map_err(|rejection| self.place(rejection, offset))?;
        match (left, right) {
            (Node::Tensor(left), Node::Tensor(right)) => {
                Ok(tensor(plan.result.clone(), TensorKind::Merge(Box::new([left, right]), plan, function)))
            }
            (left, right) => self.join(left, right, function, offset),
        }
    }

    #[inline(never)]
    fn reduce(&mut self, child: &Tree, aggregator: Aggregator, names: &[String], offset: usize) -> Made<Node> {
        let child = self.node(child)?;
        let plan = ReducePlan::new(&child.tensor_type(), aggregator, names);
        let plan = plan.map_err(|rejection| self.place(rejection, offset))?;
        let child = match child {
            Node::Number(_) if aggregator == Aggregator::Count => return Ok(Node::Number(NumberNode::Constant(1.0))),
            Node::Number(number) => return Ok(Node::Number(number)),
            Node::Tensor(child) => child,
        };
        let child = match max_sim(child, &plan, &self.memos) {
            Ok(node) => return Ok(node),
            Err(child) => child,
        };
        if !plan.result.dimensions.is_empty() {
            return Ok(tensor(plan.result.clone(), TensorKind::Reduce(Box::new(child), plan)));
        }
        let is_product = match child.kind.as_ref() {
            TensorKind::Join(operands, _, PairFunction::Binary(Binary::Multiply)) => is_aligned(operands),
            _ => false,
        };
        Ok(Node::Number(match *child.kind {
            TensorKind::Join(operands, ..) if is_product => {
                let [left, right] = *operands;
                let product = ProductNode { left, right, product: child.tensor_type };
                NumberNode::ReduceProduct(aggregator, Box::new(product))
            }
            kind => NumberNode::Reduce(aggregator, Box::new(TensorNode::new(child.tensor_type, kind))),
        }))
    }

    fn cell_cast(&mut self, child: &Tree, cell: CellType, offset: usize) -> Made<Node> {
        match self.node(child)? {
            Node::Number(number) if cell == CellType::Double => Ok(Node::Number(number)),
            Node::Number(_) => Err(self.refuse("a number has double cells and cannot be cast", offset)),
            Node::Tensor(child) => {
                let tensor_type = TensorType { cell, dimensions: child.tensor_type.dimensions.clone() };
                Ok(tensor(Arc::new(tensor_type), TensorKind::Cast(Box::new(child))))
            }
        }
    }

    /// The function of a subspace: the local variable's number, the type of a subspace, and the body.
    fn subspace_body(&mut self, outer: &TensorType, lambda: &Lambda) -> Made<(usize, Arc<TensorType>, Node)> {
        let subspace_type = Arc::new(SubspacesPlan::subspace_type(outer));
        let local = self.local();
        let node = if subspace_type.dimensions.is_empty() {
            Node::Number(NumberNode::Local(local))
        } else {
            tensor(subspace_type.clone(), TensorKind::Local(local))
        };
        let body = self.body(lambda, vec![(local, node)], None)?;
        Ok((local, subspace_type, body))
    }

    #[inline(never)]
    fn map_subspaces(&mut self, child: &Tree, lambda: &Lambda, offset: usize) -> Made<Node> {
        let child = self.node(child)?;
        let (local, subspace_type, body) = self.subspace_body(&child.tensor_type(), lambda)?;
        let plan = SubspacesPlan::new(&child.tensor_type(), &body.tensor_type());
        let plan = plan.map_err(|rejection| self.place(rejection, offset))?;
        match (child, body) {
            (Node::Number(number), Node::Number(body)) => {
                Ok(Node::Number(NumberNode::Apply(Box::new([(local, number)]), Box::new(body))))
            }
            (Node::Number(_), Node::Tensor(_)) => {
                Err(self.refuse("the function of a number must yield a number", offset))
            }
            (Node::Tensor(child), body) => {
                let node = Box::new(SubspacesNode { child, subspace_type, local, body });
                if !plan.result.dimensions.is_empty() {
                    return Ok(tensor(plan.result.clone(), TensorKind::MapSubspaces(node, plan)));
                }
                // One dense subspace reduced to a number: its only cell.
                let child = TensorNode::new(plan.result.clone(), TensorKind::MapSubspaces(node, plan));
                Ok(Node::Number(NumberNode::Reduce(Aggregator::Sum, Box::new(child))))
            }
        }
    }

    fn filter_subspaces(&mut self, child: &Tree, lambda: &Lambda, offset: usize) -> Made<Node> {
        let child = self.tensor_operand(child, "filter_subspaces")?;
        if child.tensor_type.mapped().next().is_none() {
            let message =
                format!("filter_subspaces takes a tensor with a mapped dimension, not a {}", child.tensor_type);
            return Err(self.refuse(message, offset));
        }
        let (local, subspace_type, body) = self.subspace_body(&child.tensor_type, lambda)?;
        let tensor_type = child.tensor_type.clone();
        let node = SubspacesNode { child, subspace_type, local, body };
        Ok(tensor(tensor_type, TensorKind::FilterSubspaces(Box::new(node))))
    }

    #[inline(never)]
    fn generate(&mut self, tensor_type: &TensorType, lambda: &Lambda) -> Made<Node> {
        let locals: Vec<usize> = lambda.parameters.iter().map(|_| self.local()).collect();
        let nodes = locals.iter().map(|local| (*local, Node::Number(NumberNode::Local(*local)))).collect();
        let around = self.scope;
        let body = self.body(lambda, nodes, Some(around))?;
        let Node::Number(body) = body else {
            return Err(self.refuse("a generated cell must be a number", lambda.body.offset));
        };
        if tensor_type.dimensions.is_empty() {
            return Ok(Node::Number(body));
        }
        Ok(tensor(Arc::new(tensor_type.clone()), TensorKind::Generate(locals.into(), Box::new(body))))
    }

    #[inline(never)]
    fn literal(&mut self, tensor_type: &TensorType, cells: &[(Vec<String>, Tree)]) -> Made<Node> {
        let tensor_type = Arc::new(tensor_type.clone());
        let mut addresses: Vec<Vec<String>> =
            cells.iter().map(|(address, _)| mapped_labels(&tensor_type, address)).collect();
        if tensor_type.mapped().next().is_none() {
            addresses.push(Vec::new());
        }
        sort(&mut addresses);
        addresses.dedup();
        let size = tensor_type.dense_size();
        let placed = Budget::default().take(addresses.len(), size);
        placed.map_err(|rejection| self.place(rejection, cells.first().map_or(0, |(_, cell)| cell.offset)))?;
        let empty = vec![0.0; addresses.len() * size];
        let mut literal = Tensor { tensor_type: tensor_type.clone(), addresses, cells: empty };
        let mut computed = Vec::new();
        for (address, cell) in cells {
            let subspace = literal.addresses.binary_search(&mapped_labels(&tensor_type, address)).unwrap_or(0);
            let place = subspace * size + dense_offset(&tensor_type, address);
            match self.number(cell, "a cell")? {
                NumberNode::Constant(value) => literal.cells[place] = tensor_type.cell.round(value),
                number => computed.push((place, number)),
            }
        }
        if tensor_type.dimensions.is_empty() {
            let only = computed.pop().map_or(NumberNode::Constant(literal.cells[0]), |(_, number)| number);
            return Ok(Node::Number(only));
        }
        let literal = Rc::new(literal);
        let kind = if computed.is_empty() {
            TensorKind::Constant(literal)
        } else {
            TensorKind::Literal(literal, computed.into())
        };
        Ok(tensor(tensor_type, kind))
    }

    #[inline(never)]
    fn slice(&mut self, child: &Tree, slice: &Slice, offset: usize) -> Made<Node> {
        let child = self.tensor_operand(child, "a slice")?;
        let only = |is_mapped: bool| {
            let mut matching =
                child.tensor_type.dimensions.iter().filter(|dimension| dimension.is_mapped() == is_mapped);
            matching.next().filter(|_| matching.next().is_none()).map(|dimension| dimension.name.clone())
        };
        let missing = |kind: &str| format!("a {} has not exactly one {kind} dimension to slice", child.tensor_type);
        let (names, places) = match slice {
            Slice::Label(label) => {
                let name = only(true).ok_or_else(|| self.refuse(missing("mapped"), offset))?;
                (vec![name], vec![CoordinateNode::Label(label.clone())])
            }
            Slice::Index(index) => {
                let name = only(false).ok_or_else(|| self.refuse(missing("indexed"), offset))?;
                (vec![name], vec![CoordinateNode::Computed(self.number(index, "an index")?)])
            }
            Slice::Dimensions(labels) => self.places(labels)?,
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let plan = SlicePlan::new(&child.tensor_type, &names).map_err(|rejection| self.place(rejection, offset))?;
        for (position, place) in places.iter().enumerate() {
            if let CoordinateNode::Label(label) = place
                && !plan.accepts(position, label)
            {
                let message = format!("'{}' is no index of '{}'", Rejection::quote(label), names[position]);
                return Err(self.refuse(message, offset));
            }
        }
        let tensor_type = plan.result.clone();
        let node = Box::new(SliceNode { child, plan, places: places.into() });
        Ok(if tensor_type.dimensions.is_empty() {
            Node::Number(NumberNode::Cell(node))
        } else {
            tensor(tensor_type, TensorKind::Slice(node))
        })
    }

    fn places(&mut self, labels: &[(String, SliceLabel)]) -> Made<(Vec<String>, Vec<CoordinateNode>)> {
        let mut places = Vec::with_capacity(labels.len());
        for (_, label) in labels {
            places.push(match label {
                SliceLabel::Verbatim(label) => CoordinateNode::Label(label.clone()),
                SliceLabel::Computed(tree) => CoordinateNode::Computed(self.number(tree, "a label")?),
            });
        }
        Ok((labels.iter().map(|(name, _)| name.clone()).collect(), places))
    }
}

fn tensor(tensor_type: Arc<TensorType>, kind: TensorKind) -> Node {
    Node::Tensor(TensorNode::new(tensor_type, kind))
}

/// A function of a cell, without a lambda if it is one function of the variable or its square.
fn cell_function(local: usize, body: NumberNode) -> CellFunction {
    match body {
        NumberNode::Unary(function, operand) if matches!(*operand, NumberNode::Local(used) if used == local) => {
            CellFunction::Unary(function)
        }
        body if as_operator(&body, [local, local]) == Some(Binary::Multiply) => CellFunction::Unary(Unary::Square),
        body => CellFunction::Lambda(local, Box::new(body)),
    }
}

/// The operator or function, if the body is just that of both variables in order.
fn as_operator(body: &NumberNode, locals: [usize; 2]) -> Option<Binary> {
    let is = |node: &NumberNode, local| matches!(node, NumberNode::Local(used) if *used == local);
    match body {
        NumberNode::Chain(first, rest) => match rest.as_ref() {
            [(operator, second)] if is(first, locals[0]) && is(second, locals[1]) => Some(*operator),
            _ => None,
        },
        NumberNode::Binary(function, operands) if is(&operands[0], locals[0]) && is(&operands[1], locals[1]) => {
            Some(*function)
        }
        _ => None,
    }
}

/// Whether the operands have the same dimensions, all indexed.
fn is_aligned(operands: &[TensorNode; 2]) -> bool {
    let [left, right] = operands;
    left.tensor_type.dimensions == right.tensor_type.dimensions && left.tensor_type.mapped().next().is_none()
}

/// The labels of the mapped dimensions in an address of all dimensions.
fn mapped_labels(tensor_type: &TensorType, address: &[String]) -> Vec<String> {
    let labels = tensor_type.dimensions.iter().zip(address);
    labels.filter(|(dimension, _)| dimension.is_mapped()).map(|(_, label)| label.clone()).collect()
}

/// Where the cell with this address lies in its dense subspace. The parser made sure that indexes fit.
fn dense_offset(tensor_type: &TensorType, address: &[String]) -> usize {
    let indexes =
        tensor_type.dimensions.iter().zip(address).filter_map(|(dimension, label)| Some((dimension.size?, label)));
    indexes.fold(0, |offset, (size, label)| offset * size + label.parse::<usize>().unwrap_or(0).min(size - 1))
}
