//! The tree of an expression as written, convenience functions of tensors already replaced by what they stand for.
use std::rc::Rc;

use brooklet_document::{CellType, TensorType};

use crate::operation::{Binary, Unary};
use crate::tensor::Aggregator;

/// A parsed ranking expression. [`Expression::to_string`] is its canonical text.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The text it was parsed from, for telling places in it.
    pub(super) text: Rc<str>,
    /// Its root.
    pub(super) root: Tree,
}

impl PartialEq for Expression {
    /// Whether the trees are equal, however they were written.
    fn eq(&self, other: &Expression) -> bool {
        self.root == other.root
    }
}

impl Expression {
    /// The name, if it is nothing but one: that of a feature, function, constant or parameter without arguments.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.root.bare().identifier()
    }

    /// The expressions it is made of, which have a value by themselves. Arguments of features and functions, and what a
    /// lambda or a generated tensor computes, are none of these.
    #[must_use]
    pub fn parts(&self) -> Vec<Expression> {
        let root = self.root.bare();
        let mut parts = Vec::new();
        if !matches!(root.kind, TreeKind::Reference(_) | TreeKind::Tensor(TensorFunction::Generate(..))) {
            root.parts(&mut |part| parts.push(Expression { text: self.text.clone(), root: part.bare().clone() }));
        }
        parts
    }
}

/// A node of the tree.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) kind: TreeKind,
    /// Byte offset in the text.
    pub(super) offset: usize,
}

impl PartialEq for Tree {
    /// Places and parentheses do not matter: the tree has the structure that parentheses gave it.
    fn eq(&self, other: &Tree) -> bool {
        self.bare().kind == other.bare().kind
    }
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TreeKind {
    /// A number and its canonical text.
    Number(f64, String),
    Boolean(bool),
    Text(String),
    Reference(Reference),
    Parenthesized(Box<Tree>),
    Unary(Unary, Box<Tree>),
    /// A function of two numbers that is called by name.
    Binary(Binary, Box<[Tree; 2]>),
    /// Operators of one priority from left to right: one level deep however long. (`^` is right-associative and
    /// always has one operand here.)
    Chain(Box<Tree>, Vec<(Binary, Tree)>),
    In(Box<Tree>, Vec<Tree>),
    /// Condition, value if true, value if false; and how probable true is said to be.
    If(Box<[Tree; 3]>, Option<String>),
    Switch(Box<Switch>),
    Tensor(TensorFunction),
}

/// `switch(value) { case a: b, default: c }`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Switch {
    pub(super) value: Tree,
    pub(super) cases: Vec<(Tree, Tree)>,
    pub(super) default: Tree,
}

/// A feature, function, constant, parameter or variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) arguments: Vec<Argument>,
    pub(super) output: Option<String>,
}

impl Reference {
    pub(super) fn bare(name: &str) -> Reference {
        Reference { name: name.to_owned(), arguments: Vec::new(), output: None }
    }

    /// The name, if there is nothing else.
    pub(super) fn identifier(&self) -> Option<&str> {
        (self.arguments.is_empty() && self.output.is_none()).then_some(self.name.as_str())
    }
}

/// An argument of a feature or function, perhaps with a name: `field: title`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Argument {
    pub(super) name: Option<String>,
    pub(super) value: Tree,
}

/// `f(a,b)(expression)`.
#[derive(Clone, Debug)]
pub(super) struct Lambda {
    pub(super) parameters: Vec<String>,
    pub(super) body: Box<Tree>,
    /// Printed without spaces around its operator, as the reference prints functions that a convenience function made.
    pub(super) is_compact: bool,
}

impl PartialEq for Lambda {
    /// How it is printed does not matter.
    fn eq(&self, other: &Lambda) -> bool {
        self.parameters == other.parameters && self.body == other.body
    }
}

/// A function of tensors.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TensorFunction {
    Map(Box<Tree>, Lambda),
    MapSubspaces(Box<Tree>, Lambda),
    FilterSubspaces(Box<Tree>, Lambda),
    Reduce(Box<Tree>, Aggregator, Vec<String>),
    Join(Box<[Tree; 2]>, Lambda),
    Merge(Box<[Tree; 2]>, Lambda),
    Rename(Box<Tree>, Vec<String>, Vec<String>),
    Concat(Box<[Tree; 2]>, String),
    CellCast(Box<Tree>, CellType),
    /// True: the largest first.
    CellOrder(Box<Tree>, bool),
    /// Cell type of the bits, and whether the most significant bit comes first.
    UnpackBits(Box<Tree>, CellType, bool),
    /// The dimensions' names are the lambda's parameters.
    Generate(TensorType, Lambda),
    /// Each cell's address, in the order of the type's dimensions, and value.
    Literal(TensorType, Vec<(Vec<String>, Tree)>),
    Slice(Box<Tree>, Slice),
}

/// Which part of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Slice {
    /// `{label}`: of the only mapped dimension.
    Label(String),
    /// `[index]`: of the only indexed dimension.
    Index(Box<Tree>),
    /// `{dimension:label, …}`.
    Dimensions(Vec<(String, SliceLabel)>),
}

/// A place along a dimension.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SliceLabel {
    Verbatim(String),
    Computed(Tree),
}

impl Tree {
    /// A node at the start of the text.
    pub(super) fn new(kind: TreeKind, offset: usize) -> Tree {
        Tree { kind, offset }
    }

    /// The tree inside of parentheses.
    pub(super) fn bare(&self) -> &Tree {
        let mut tree = self;
        while let TreeKind::Parenthesized(inner) = &tree.kind {
            tree = inner;
        }
        tree
    }

    /// The name, if it is nothing but one.
    pub(super) fn identifier(&self) -> Option<&str> {
        match &self.kind {
            TreeKind::Reference(reference) => reference.identifier(),
            _ => None,
        }
    }

    /// Visits the parts of this node, not theirs; of lambdas nothing, for they see nothing around them.
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(&'a Tree)) {
        match &self.kind {
            TreeKind::Number(..) | TreeKind::Boolean(_) | TreeKind::Text(_) => {}
            TreeKind::Reference(reference) => reference.arguments.iter().for_each(|argument| visit(&argument.value)),
            TreeKind::Parenthesized(inner) | TreeKind::Unary(_, inner) => visit(inner),
            TreeKind::Binary(_, operands) => operands.iter().for_each(visit),
            TreeKind::If(branches, _) => branches.iter().for_each(visit),
            TreeKind::Chain(first, rest) => {
                visit(first);
                rest.iter().for_each(|(_, operand)| visit(operand));
            }
            TreeKind::In(value, set) => {
                visit(value);
                set.iter().for_each(visit);
            }
            TreeKind::Switch(switch) => {
                visit(&switch.value);
                for (case, result) in &switch.cases {
                    visit(case);
                    visit(result);
                }
                visit(&switch.default);
            }
            TreeKind::Tensor(function) => function.parts(visit),
        }
    }

    /// Number of nodes, lambdas' included.
    pub(super) fn size(&self) -> usize {
        let mut size = 1;
        self.parts(&mut |part| size += part.size());
        if let TreeKind::Tensor(function) = &self.kind
            && let Some(lambda) = function.closed_lambda()
        {
            size += lambda.body.size();
        }
        size
    }
}

impl TensorFunction {
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&'a Tree)) {
        use TensorFunction as F;
        match self {
            F::Map(child, _) | F::MapSubspaces(child, _) | F::FilterSubspaces(child, _) | F::Reduce(child, ..) => {
                visit(child);
            }
            F::Rename(child, ..) | F::CellCast(child, _) | F::CellOrder(child, _) | F::UnpackBits(child, ..) => {
                visit(child);
            }
            F::Join(operands, _) | F::Merge(operands, _) | F::Concat(operands, _) => operands.iter().for_each(visit),
            F::Generate(_, lambda) => visit(&lambda.body),
            F::Literal(_, cells) => cells.iter().for_each(|(_, cell)| visit(cell)),
            F::Slice(child, slice) => {
                visit(child);
                match slice {
                    Slice::Label(_) => {}
                    Slice::Index(index) => visit(index),
                    Slice::Dimensions(labels) => {
                        for (_, label) in labels {
                            if let SliceLabel::Computed(label) = label {
                                visit(label);
                            }
                        }
                    }
                }
            }
        }
    }

    /// The lambda that sees only its parameters.
    pub(super) fn closed_lambda(&self) -> Option<&Lambda> {
        use TensorFunction as F;
        match self {
            F::Map(_, lambda) | F::MapSubspaces(_, lambda) | F::FilterSubspaces(_, lambda) => Some(lambda),
            F::Join(_, lambda) | F::Merge(_, lambda) => Some(lambda),
            _ => None,
        }
    }
}
