//! What compiling an expression keeps: names in scope, functions and features seen, memos, and how much there is of all.
use std::collections::BTreeMap;
use std::rc::Rc;

use brooklet_task::{Code, Rejection, limits};

use super::FeatureName;
use super::environment::{Environment, FeatureType, Function};
use super::syntax_tree::{Expression, Tree};
use crate::node::Node;

/// No local variable was used.
pub(crate) const NO_LOCAL: usize = usize::MAX;

/// Names that are bound in a part of the expression, and the scope around it that it sees too.
pub(crate) struct Scope {
    pub(crate) names: Vec<(String, Binding)>,
    pub(crate) around: Option<usize>,
}

pub(crate) struct Compiler<'a> {
    pub(crate) environment: &'a dyn Environment,
    /// The text being compiled, for telling places.
    pub(crate) text: Rc<str>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) scope: usize,
    pub(crate) thunks: Vec<Thunk>,
    pub(crate) functions: BTreeMap<String, Option<Rc<KnownFunction>>>,
    /// Names of the functions being compiled, innermost last.
    pub(crate) calling: Vec<String>,
    /// Functions compiled before, by name and arguments.
    pub(crate) known: BTreeMap<String, Node>,
    /// Nodes with a memo, and how deep they nest.
    pub(crate) memos: Vec<(Node, usize)>,
    pub(crate) features: Vec<(FeatureName, FeatureType)>,
    pub(crate) feature_numbers: BTreeMap<String, usize>,
    pub(crate) locals: usize,
    /// The lowest local variable used since this was last reset. They are numbered from the outside in: a value is one
    /// per document only if none from outside it was used.
    pub(crate) lowest_local: usize,
    pub(crate) depth: usize,
    /// The deepest nesting since this was last reset.
    pub(crate) deepest: usize,
    pub(crate) nodes: usize,
}

pub(crate) type Made<T> = Result<T, Rejection>;

impl<'a> Compiler<'a> {
    pub(crate) fn new(expression: &Expression, environment: &'a dyn Environment) -> Compiler<'a> {
        Compiler {
            environment,
            text: expression.text.clone(),
            scopes: vec![Scope { names: Vec::new(), around: None }],
            scope: 0,
            thunks: Vec::new(),
            functions: BTreeMap::new(),
            calling: Vec::new(),
            known: BTreeMap::new(),
            memos: Vec::new(),
            features: Vec::new(),
            feature_numbers: BTreeMap::new(),
            locals: 0,
            lowest_local: NO_LOCAL,
            depth: 0,
            deepest: 0,
            nodes: 0,
        }
    }

    /// A rejection at a place of the text being compiled.
    pub(crate) fn refuse(&self, message: impl Into<String>, offset: usize) -> Rejection {
        Rejection::at(Code::InvalidApplication, message, &self.text, offset)
    }

    /// A rejection that has no place yet, at this one.
    pub(crate) fn place(&self, rejection: Rejection, offset: usize) -> Rejection {
        match rejection.span {
            Some(_) => rejection,
            None => Rejection::at(rejection.code, rejection.message, &self.text, offset),
        }
    }

    /// Accounts for nesting `levels` deeper than here.
    pub(crate) fn nest(&mut self, levels: usize, offset: usize) -> Made<()> {
        self.deepest = self.deepest.max(self.depth + levels);
        if self.deepest > limits::PROGRAM_DEPTH {
            let message =
                format!("with the functions it calls an expression may nest {} levels", limits::PROGRAM_DEPTH);
            return Err(Rejection::at(Code::TooLarge, message, &self.text, offset));
        }
        Ok(())
    }

    /// Accounts for nodes.
    pub(crate) fn count(&mut self, nodes: usize, offset: usize) -> Made<()> {
        self.nodes += nodes;
        if self.nodes > limits::PROGRAM_NODES {
            let message = format!("with the functions it calls an expression may have {} nodes", limits::PROGRAM_NODES);
            return Err(Rejection::at(Code::TooLarge, message, &self.text, offset));
        }
        Ok(())
    }

    /// A new local variable.
    pub(crate) fn local(&mut self) -> usize {
        self.locals += 1;
        self.locals - 1
    }
}

/// What a name is bound to.
#[derive(Clone)]
pub(crate) enum Binding {
    /// A local variable: its number, and the node that reads it.
    Local(usize, Rc<Node>),
    /// An argument of a function, by its number among the thunks.
    Argument(usize),
}

/// An argument: compiled when it is first needed, where it was given.
pub(crate) struct Thunk {
    pub(crate) tree: Rc<Tree>,
    pub(crate) text: Rc<str>,
    pub(crate) scope: usize,
    /// The number of functions that were being compiled.
    pub(crate) calling: usize,
    /// Its canonical text, if it is the same wherever it stands; it can be part of a feature's name then.
    pub(crate) name: Option<String>,
    pub(crate) made: Option<Thunked>,
}

#[derive(Clone)]
pub(crate) struct Thunked {
    pub(crate) node: Node,
    pub(crate) lowest_local: usize,
    pub(crate) nodes: usize,
    pub(crate) height: usize,
}

/// A function of the profile, parsed.
pub(crate) struct KnownFunction {
    pub(crate) function: Function,
    pub(crate) expression: Expression,
}
