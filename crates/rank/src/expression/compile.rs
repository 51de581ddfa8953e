//! Compiles the tree of an expression into nodes: names are resolved, types checked, and what is needed more than once
//! per document gets a memo. References are compiled in `compile_reference.rs`, tensor functions in `compile_tensor.rs`; what is
//! written several times is found in `compile_repeated.rs`.
use std::sync::Arc;

use brooklet_task::Rejection;

use super::FeatureName;
use super::compile_repeated::share;
use super::compiler::{Compiler, Made};
use super::environment::{Environment, FeatureType};
use super::feature_name::text_hash;
use super::syntax_tree::{Expression, Switch, Tree, TreeKind};
use crate::node::{CellFunction, Node, NumberNode, PairFunction, SwitchNode, TensorKind, TensorNode};
use crate::operation::{Binary, Unary};
use crate::tensor::{JoinPlan, mapped_type};

/// What compiling yields.
pub(crate) struct Compiled {
    pub(crate) root: Node,
    /// The nodes that are evaluated at most once per document.
    pub(crate) memos: Vec<Node>,
    /// Number of local variables.
    pub(crate) locals: usize,
    pub(crate) features: Vec<(FeatureName, FeatureType)>,
}

/// Compiles `expression` as `environment` understands it.
pub(crate) fn compile(expression: &Expression, environment: &dyn Environment) -> Result<Compiled, Rejection> {
    let mut compiler = Compiler::new(expression, environment);
    let mut root = compiler.node(&expression.root)?;
    let mut memos = compiler.memos.into_iter().map(|(node, _)| node).collect();
    share(&mut root, &mut memos);
    Ok(Compiled { root, memos, locals: compiler.locals, features: compiler.features })
}

/// `node`, which is a number if there are `numbers`, followed by them.
fn chained(node: Node, numbers: &mut Vec<(Binary, NumberNode)>) -> Node {
    match node {
        Node::Number(first) if !numbers.is_empty() => {
            Node::Number(NumberNode::Chain(Box::new(first), std::mem::take(numbers).into()))
        }
        node => node,
    }
}

/// A function of one number, or of each cell. That of a constant is a constant.
pub(super) fn unary(function: Unary, operand: Node) -> Node {
    match operand {
        Node::Number(NumberNode::Constant(value)) => Node::Number(NumberNode::Constant(function.apply(value))),
        Node::Number(number) => Node::Number(NumberNode::Unary(function, Box::new(number))),
        Node::Tensor(tensor) => map_cells(tensor, CellFunction::Unary(function)),
    }
}

/// A function of each cell.
pub(super) fn map_cells(tensor: TensorNode, function: CellFunction) -> Node {
    let tensor_type = Arc::new(mapped_type(&tensor.tensor_type));
    Node::Tensor(TensorNode::new(tensor_type, TensorKind::Map(Box::new(tensor), function)))
}

/// A function of two numbers.
pub(super) fn apply_pair(function: PairFunction, left: NumberNode, right: NumberNode) -> NumberNode {
    match function {
        PairFunction::Binary(function) => NumberNode::Binary(function, Box::new([left, right])),
        PairFunction::Lambda([first, second], body) => {
            NumberNode::Apply(Box::new([(first, left), (second, right)]), body)
        }
    }
}

impl<'a> Compiler<'a> {
    /// Compiles a tree. Parentheses have given it its structure and are nothing themselves.
    pub(crate) fn node(&mut self, tree: &Tree) -> Made<Node> {
        let tree = tree.bare();
        self.count(1, tree.offset)?;
        self.depth += 1;
        let node = self.nest(0, tree.offset).and_then(|()| self.kind(tree));
        self.depth -= 1;
        node
    }

    pub(crate) fn kind(&mut self, tree: &Tree) -> Made<Node> {
        Ok(match &tree.kind {
            TreeKind::Number(value, _) => Node::Number(NumberNode::Constant(*value)),
            TreeKind::Boolean(truth) => Node::Number(NumberNode::Constant(f64::from(u8::from(*truth)))),
            TreeKind::Text(text) => Node::Number(NumberNode::Constant(text_hash(text))),
            TreeKind::Reference(reference) => self.reference(reference, tree.offset)?,
            TreeKind::Parenthesized(inner) => self.node(inner)?,
            TreeKind::Unary(function, operand) => {
                let operand = self.node(operand)?;
                unary(*function, operand)
            }
            TreeKind::Binary(function, operands) => {
                let (left, right) = (self.node(&operands[0])?, self.node(&operands[1])?);
                self.join(left, right, PairFunction::Binary(*function), tree.offset)?
            }
            TreeKind::Chain(first, rest) => self.chain(first, rest)?,
            TreeKind::In(value, set) => self.membership(value, set)?,
            TreeKind::If(branches, _) => self.condition(branches)?,
            TreeKind::Switch(switch) => self.switch(switch)?,
            TreeKind::Tensor(function) => self.tensor_function(function, tree.offset)?,
        })
    }

    /// A node that must yield a number.
    pub(crate) fn number(&mut self, tree: &Tree, what: &str) -> Made<NumberNode> {
        match self.node(tree)? {
            Node::Number(number) => Ok(number),
            Node::Tensor(tensor) => {
                Err(self.refuse(format!("{what} must be a number, not a {}", tensor.tensor_type), tree.offset))
            }
        }
    }

    /// Operators from left to right: numbers stay one node, each tensor is joined.
    #[inline(never)]
    pub(crate) fn chain(&mut self, first: &Tree, rest: &[(Binary, Tree)]) -> Made<Node> {
        let mut node = self.node(first)?;
        let mut numbers = Vec::new();
        for (joined, (operator, operand)) in rest.iter().enumerate() {
            let right = self.node(operand)?;
            match (node, right) {
                (Node::Number(left), Node::Number(right)) => {
                    numbers.push((*operator, right));
                    node = Node::Number(left);
                }
                (left, right) => {
                    self.nest(joined, operand.offset)?;
                    let left = chained(left, &mut numbers);
                    node = self.join(left, right, PairFunction::Binary(*operator), operand.offset)?;
                }
            }
        }
        Ok(chained(node, &mut numbers))
    }

    /// A function of two numbers, or of the cells of tensors.
    pub(crate) fn join(&mut self, left: Node, right: Node, function: PairFunction, offset: usize) -> Made<Node> {
        let plan = JoinPlan::new(&left.tensor_type(), &right.tensor_type())
            .map_err(|rejection| self.place(rejection, offset))?;
        let tensor_type = plan.result.clone();
        let kind = match (left, right) {
            (Node::Number(left), Node::Number(right)) => return Ok(Node::Number(apply_pair(function, left, right))),
            (Node::Tensor(left), Node::Number(right)) => TensorKind::MapWith(Box::new((left, right)), function, false),
            (Node::Number(left), Node::Tensor(right)) => TensorKind::MapWith(Box::new((right, left)), function, true),
            (Node::Tensor(left), Node::Tensor(right)) => TensorKind::Join(Box::new([left, right]), plan, function),
        };
        Ok(Node::Tensor(TensorNode::new(tensor_type, kind)))
    }

    pub(crate) fn membership(&mut self, value: &Tree, set: &[Tree]) -> Made<Node> {
        let value = self.node(value)?;
        let mut constants = Vec::with_capacity(set.len());
        for element in set {
            let is_written_out =
                matches!(element.kind, TreeKind::Number(..) | TreeKind::Text(_) | TreeKind::Boolean(_));
            match self.node(element)? {
                Node::Number(NumberNode::Constant(constant)) if is_written_out => constants.push(constant),
                _ => return Err(self.refuse("'in' takes constants only", element.offset)),
            }
        }
        let set = constants.into_boxed_slice();
        Ok(match value {
            Node::Number(number) => Node::Number(NumberNode::In(Box::new(number), set)),
            Node::Tensor(tensor) => map_cells(tensor, CellFunction::In(set)),
        })
    }

    #[inline(never)]
    pub(crate) fn condition(&mut self, branches: &[Tree; 3]) -> Made<Node> {
        let condition = self.number(&branches[0], "the condition of 'if'")?;
        let (if_true, if_false) = (self.node(&branches[1])?, self.node(&branches[2])?);
        match (if_true, if_false) {
            (Node::Number(if_true), Node::Number(if_false)) => {
                Ok(Node::Number(NumberNode::If(Box::new([condition, if_true, if_false]))))
            }
            (Node::Tensor(if_true), Node::Tensor(if_false)) if if_true.tensor_type == if_false.tensor_type => {
                let tensor_type = if_true.tensor_type.clone();
                Ok(Node::Tensor(TensorNode::new(tensor_type, TensorKind::If(Box::new((condition, if_true, if_false))))))
            }
            (if_true, if_false) => {
                let (if_true, if_false) = (if_true.tensor_type(), if_false.tensor_type());
                let message = format!("both values of 'if' must have one type: {if_true} and {if_false}");
                Err(self.refuse(message, branches[2].offset))
            }
        }
    }

    pub(crate) fn switch(&mut self, switch: &Switch) -> Made<Node> {
        let value = self.number(&switch.value, "the value of 'switch'")?;
        let mut cases = Vec::with_capacity(switch.cases.len());
        for (case, result) in &switch.cases {
            cases.push((self.number(case, "a case of 'switch'")?, self.number(result, "a result of 'switch'")?));
        }
        let default = self.number(&switch.default, "a result of 'switch'")?;
        Ok(Node::Number(NumberNode::Switch(Box::new(SwitchNode { value, cases: cases.into(), default }))))
    }
}
