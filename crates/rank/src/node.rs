//! The compiled form of an expression: nodes that yield numbers and nodes that yield tensors, types checked, names
//! resolved to numbers of features, local variables and memos.
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType};

use crate::forest::Forest;
use crate::model_output::ModelOutput;
use crate::operation::{Binary, Unary};
use crate::tensor::{
    Aggregator, ConcatPlan, JoinPlan, MergePlan, ReducePlan, RenamePlan, SlicePlan, SubspacesPlan, UnpackPlan,
};

/// A node of either kind.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Number(NumberNode),
    Tensor(TensorNode),
}

impl Node {
    /// The type of its value; that of a number has no dimensions.
    pub(crate) fn tensor_type(&self) -> Arc<TensorType> {
        match self {
            Node::Number(_) => Arc::new(TensorType::scalar()),
            Node::Tensor(tensor) => tensor.tensor_type.clone(),
        }
    }

    /// Whether evaluating it again costs nothing.
    pub(crate) fn is_trivial(&self) -> bool {
        use NumberNode as N;
        match self {
            Node::Number(N::Constant(_) | N::Feature(_) | N::Local(_) | N::Memo(_)) => true,
            Node::Number(_) => false,
            Node::Tensor(tensor) => {
                use TensorKind as T;
                matches!(*tensor.kind, T::Constant(_) | T::Feature(_) | T::Local(_) | T::Memo(_))
            }
        }
    }
}

/// Yields a number.
#[derive(Clone, Debug)]
pub(crate) enum NumberNode {
    Constant(f64),
    Feature(usize),
    Local(usize),
    /// Evaluated once per document.
    Memo(usize),
    Unary(Unary, Box<NumberNode>),
    Binary(Binary, Box<[NumberNode; 2]>),
    /// Operators from left to right.
    Chain(Box<NumberNode>, Box<[(Binary, NumberNode)]>),
    In(Box<NumberNode>, Box<[f64]>),
    If(Box<[NumberNode; 3]>),
    Switch(Box<SwitchNode>),
    /// A function applied to numbers: their local variables, and its body.
    Apply(Box<[(usize, NumberNode)]>, Box<NumberNode>),
    /// All cells of a tensor.
    Reduce(Aggregator, Box<TensorNode>),
    /// All cells of the product of two tensors of the same dense layout: `reduce(a * b, aggregator)` without the product.
    ReduceProduct(Aggregator, Box<ProductNode>),
    /// Max-sim of a single row.
    MaxSim(Box<MaxSimNode>),
    /// One cell.
    Cell(Box<SliceNode>),
    /// The sum of decision trees.
    Forest(Box<ForestNode>),
    /// An output of an ONNX model that has no dimensions.
    ModelOutput(Box<ModelNode>),
}

/// Nodes that take as long as a cell of a tensor.
const NODES_OF_A_CELL: usize = 4;

impl NumberNode {
    /// How long evaluating it takes, in cells of tensors; what it makes of tensors is not counted.
    pub(crate) fn weight(&self) -> usize {
        let mut nodes = 0;
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            nodes += 1;
            node.for_each_part(&mut |part| open.push(part));
        }
        nodes / NODES_OF_A_CELL
    }

    /// Calls `each` with the numbers it is made of.
    pub(crate) fn for_each_part<'n>(&'n self, each: &mut dyn FnMut(&'n NumberNode)) {
        use NumberNode as N;
        match self {
            N::Constant(_) | N::Feature(_) | N::Local(_) | N::Memo(_) => {}
            N::Unary(_, operand) | N::In(operand, _) => each(operand),
            N::Binary(_, operands) => operands.iter().for_each(each),
            N::Chain(first, rest) => {
                each(first);
                rest.iter().for_each(|(_, operand)| each(operand));
            }
            N::If(branches) => branches.iter().for_each(each),
            N::Switch(switch) => {
                each(&switch.value);
                switch.cases.iter().flat_map(|(case, result)| [case, result]).for_each(&mut *each);
                each(&switch.default);
            }
            N::Apply(arguments, body) => {
                arguments.iter().for_each(|(_, argument)| each(argument));
                each(body);
            }
            N::Forest(forest) => forest.inputs.iter().for_each(each),
            N::Reduce(..) | N::ReduceProduct(..) | N::MaxSim(_) | N::Cell(_) | N::ModelOutput(_) => {}
        }
    }

    /// The same, to be changed.
    pub(crate) fn for_each_part_mut(&mut self, each: &mut dyn FnMut(&mut NumberNode)) {
        use NumberNode as N;
        match self {
            N::Constant(_) | N::Feature(_) | N::Local(_) | N::Memo(_) => {}
            N::Unary(_, operand) | N::In(operand, _) => each(operand),
            N::Binary(_, operands) => operands.iter_mut().for_each(each),
            N::Chain(first, rest) => {
                each(first);
                rest.iter_mut().for_each(|(_, operand)| each(operand));
            }
            N::If(branches) => branches.iter_mut().for_each(each),
            N::Switch(switch) => {
                each(&mut switch.value);
                switch.cases.iter_mut().flat_map(|(case, result)| [case, result]).for_each(&mut *each);
                each(&mut switch.default);
            }
            N::Apply(arguments, body) => {
                arguments.iter_mut().for_each(|(_, argument)| each(argument));
                each(body);
            }
            N::Forest(forest) => forest.inputs.iter_mut().for_each(each),
            N::Reduce(..) | N::ReduceProduct(..) | N::MaxSim(_) | N::Cell(_) | N::ModelOutput(_) => {}
        }
    }
}

/// The first case that equals the value decides.
#[derive(Clone, Debug)]
pub(crate) struct SwitchNode {
    pub(crate) value: NumberNode,
    pub(crate) cases: Box<[(NumberNode, NumberNode)]>,
    pub(crate) default: NumberNode,
}

/// Decision trees over numbers.
#[derive(Clone, Debug)]
pub(crate) struct ForestNode {
    pub(crate) forest: Rc<Forest>,
    pub(crate) inputs: Box<[NumberNode]>,
}

/// An output of an ONNX model, and what the model is given.
#[derive(Clone, Debug)]
pub(crate) struct ModelNode {
    pub(crate) output: Arc<ModelOutput>,
    pub(crate) inputs: Box<[Node]>,
}

/// A sequence over the tokens of several texts: a start token, then each text and a separator.
#[derive(Clone, Debug)]
pub(crate) struct TokensNode {
    pub(crate) sequence: TokenSequence,
    /// Token ids, with zeros after the last.
    pub(crate) texts: Vec<TensorNode>,
}

/// The tokens of a sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TokenSequence {
    /// The tokens.
    Ids { start: f64, separator: f64 },
    /// 0 up to the first separator, 1 in what comes after it.
    Types,
    /// 1.
    Mask,
}

/// Two tensors whose cells are multiplied one by one.
#[derive(Clone, Debug)]
pub(crate) struct ProductNode {
    pub(crate) left: TensorNode,
    pub(crate) right: TensorNode,
    /// The type of the product: its cell type rounds.
    pub(crate) product: Arc<TensorType>,
}

/// For each row of one tensor the largest, or smallest, sum of its products with the rows of another.
#[derive(Clone, Debug)]
pub(crate) struct MaxSimNode {
    /// The tensor whose rows stay: what is left is a cell for each.
    pub(crate) kept: TensorNode,
    /// The tensor of whose rows the best counts.
    pub(crate) reduced: TensorNode,
    /// Cells of a row.
    pub(crate) size: usize,
    /// Whether products are doubles.
    pub(crate) is_double: bool,
    /// The aggregator of the sums: the one of them that counts.
    pub(crate) extreme: Binary,
    /// Nothing if one of all rows counts; else one of the rows of each label.
    pub(crate) labels: Option<LabelsPlan>,
}

/// Max-sim for each label that stays of the tensor of whose rows the best counts.
#[derive(Clone, Debug)]
pub(crate) struct LabelsPlan {
    /// Positions of the mapped dimensions that stay, among those of the tensor.
    pub(crate) stay: Vec<usize>,
    /// Rows of one address of the tensor.
    pub(crate) rows: usize,
    /// For each mapped dimension of the result: whether it is one that stays, and its place among these or among the
    /// dimensions of the other tensor.
    pub(crate) address: Vec<(bool, usize)>,
}

/// Yields a tensor with at least one dimension.
#[derive(Clone, Debug)]
pub(crate) struct TensorNode {
    pub(crate) tensor_type: Arc<TensorType>,
    /// Apart, because plans are large and nodes are moved while they are compiled.
    pub(crate) kind: Box<TensorKind>,
}

impl TensorNode {
    pub(crate) fn new(tensor_type: Arc<TensorType>, kind: TensorKind) -> TensorNode {
        TensorNode { tensor_type, kind: Box::new(kind) }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum TensorKind {
    Constant(Rc<Tensor>),
    Feature(usize),
    Local(usize),
    /// Evaluated once per document.
    Memo(usize),
    If(Box<(NumberNode, TensorNode, TensorNode)>),
    Map(Box<TensorNode>, CellFunction),
    /// A function of each cell and one number, which comes first if so told.
    MapWith(Box<(TensorNode, NumberNode)>, PairFunction, bool),
    Join(Box<[TensorNode; 2]>, JoinPlan, PairFunction),
    Merge(Box<[TensorNode; 2]>, MergePlan, PairFunction),
    Reduce(Box<TensorNode>, ReducePlan),
    /// A cell for each row that stays.
    MaxSim(Box<MaxSimNode>),
    Rename(Box<TensorNode>, RenamePlan),
    Concat(Box<[Node; 2]>, ConcatPlan),
    Slice(Box<SliceNode>),
    /// Rounds cells to another cell type.
    Cast(Box<TensorNode>),
    Order(Box<TensorNode>, bool),
    Unpack(Box<TensorNode>, UnpackPlan),
    MapSubspaces(Box<SubspacesNode>, SubspacesPlan),
    FilterSubspaces(Box<SubspacesNode>),
    /// Local variables of the dimensions, and the cell.
    Generate(Box<[usize]>, Box<NumberNode>),
    /// An output of an ONNX model.
    ModelOutput(Box<ModelNode>),
    Tokens(Box<TokensNode>),
    /// The cells that are set, by their place in `empty`.
    Literal(Rc<Tensor>, Box<[(usize, NumberNode)]>),
}

/// A function of a cell.
#[derive(Clone, Debug)]
pub(crate) enum CellFunction {
    Unary(Unary),
    In(Box<[f64]>),
    /// A lambda of the local variable.
    Lambda(usize, Box<NumberNode>),
}

/// A function of two cells.
#[derive(Clone, Debug)]
pub(crate) enum PairFunction {
    Binary(Binary),
    /// A lambda of two local variables.
    Lambda([usize; 2], Box<NumberNode>),
}

impl PairFunction {
    /// How long a function that is written out takes for a pair of cells: [`NumberNode::weight`].
    pub(crate) fn weight(&self) -> usize {
        match self {
            PairFunction::Binary(_) => 0,
            PairFunction::Lambda(_, body) => body.weight(),
        }
    }
}

/// A part of a tensor.
#[derive(Clone, Debug)]
pub(crate) struct SliceNode {
    pub(crate) child: TensorNode,
    pub(crate) plan: SlicePlan,
    pub(crate) places: Box<[CoordinateNode]>,
}

/// A coordinate along a dimension.
#[derive(Clone, Debug)]
pub(crate) enum CoordinateNode {
    Label(String),
    Computed(NumberNode),
}

/// A function of each dense subspace.
#[derive(Clone, Debug)]
pub(crate) struct SubspacesNode {
    pub(crate) child: TensorNode,
    /// The type of a subspace: a number if it has no dimensions.
    pub(crate) subspace_type: Arc<TensorType>,
    /// The local variable that holds it.
    pub(crate) local: usize,
    pub(crate) body: Node,
}
