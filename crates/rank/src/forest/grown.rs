//! Trees while they are read: nested as in the files, checked against limits.
use brooklet_document::json::Lexer;
use brooklet_task::{Code, Rejection, limits};

/// Which inputs count as missing; they go the way that the node says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// None: NaN is 0.
    None,
    /// NaN, and what is nearly 0.
    Zero,
    /// NaN.
    NaN,
}

/// A tree, or a part of one.
#[derive(Debug)]
pub(super) enum Grown {
    Leaf(f64),
    Split(Box<Split>),
}

/// An inner node.
#[derive(Debug)]
pub(super) struct Split {
    pub(super) input: u32,
    pub(super) missing: Missing,
    pub(super) missing_goes_first: bool,
    pub(super) test: Test,
    pub(super) first: Grown,
    pub(super) second: Grown,
}

/// What decides which way a row goes; see the flat [`Test`](super::trees::Test).
#[derive(Debug)]
pub(super) enum Test {
    NotAbove(f64),
    Below(f64),
    OneOf(Vec<f64>),
}

/// Counts nodes, trees and inputs against their limits.
#[derive(Default)]
pub(super) struct Room {
    nodes: usize,
    trees: usize,
}

impl Room {
    /// Accounts for a node.
    pub(super) fn node(&mut self, json: &Lexer<'_>) -> Result<(), Rejection> {
        self.nodes += 1;
        if self.nodes <= limits::MODEL_NODES {
            return Ok(());
        }
        Err(too_large(json, &format!("a model may have {} nodes", limits::MODEL_NODES)))
    }

    /// Accounts for a tree.
    pub(super) fn tree(&mut self, json: &Lexer<'_>) -> Result<(), Rejection> {
        self.trees += 1;
        if self.trees <= limits::MODEL_TREES {
            return Ok(());
        }
        Err(too_large(json, &format!("a model may have {} trees", limits::MODEL_TREES)))
    }
}

/// Checks the number of inputs.
pub(super) fn check_inputs(count: usize, json: &Lexer<'_>) -> Result<(), Rejection> {
    if count <= limits::MODEL_INPUTS {
        return Ok(());
    }
    Err(too_large(json, &format!("a model may have {} features", limits::MODEL_INPUTS)))
}

fn too_large(json: &Lexer<'_>, message: &str) -> Rejection {
    Rejection { code: Code::TooLarge, ..json.error_at(json.offset(), message) }
}

/// Begins to read a model.
pub(super) fn open(text: &[u8]) -> Result<Lexer<'_>, Rejection> {
    if text.len() > limits::MODEL_BYTES {
        let message = format!("a model may have {} bytes", limits::MODEL_BYTES);
        return Err(Rejection::new(Code::TooLarge, message));
    }
    Lexer::from_bytes(text, Code::InvalidApplication)
}
