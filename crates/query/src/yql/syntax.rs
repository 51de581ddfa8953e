//! A YQL expression as the grammar sees it, before names have a meaning.
use crate::tree::TextRange;

/// One expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub kind: NodeKind,
    /// Annotations in front of it; of two with one name the later counts.
    pub annotations: Vec<(String, Node)>,
    pub place: TextRange,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeKind {
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    /// The first without the others.
    AndNot(Vec<Node>),
    Negate(Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    In(Box<Node>, Vec<Node>),
    Call(String, Vec<Node>),
    Field(String),
    Index(Box<Node>, Box<Node>),
    Parameter(String),
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Null,
    Map(Vec<(String, Node)>),
    Array(Vec<Node>),
}

/// Comparing operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    Contains,
    Matches,
}

impl Node {
    pub fn new(kind: NodeKind, place: TextRange) -> Node {
        Node { kind, annotations: Vec::new(), place }
    }

    /// The node's own annotation of this name.
    pub fn own_annotation(&self, name: &str) -> Option<&Node> {
        self.annotations.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// What the node is called in messages.
    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            NodeKind::And(_) => "AND",
            NodeKind::Or(_) => "OR",
            NodeKind::Not(_) => "NOT",
            NodeKind::AndNot(_) => "AND_NOT",
            NodeKind::Negate(_) => "NEGATE",
            NodeKind::Compare(Comparison::Equal, ..) => "EQ",
            NodeKind::Compare(Comparison::Less, ..) => "LT",
            NodeKind::Compare(Comparison::Greater, ..) => "GT",
            NodeKind::Compare(Comparison::LessOrEqual, ..) => "LTEQ",
            NodeKind::Compare(Comparison::GreaterOrEqual, ..) => "GTEQ",
            NodeKind::Compare(Comparison::Contains, ..) => "CONTAINS",
            NodeKind::Compare(Comparison::Matches, ..) => "MATCHES",
            NodeKind::In(..) => "IN",
            NodeKind::Call(..) => "CALL",
            NodeKind::Field(_) => "READ_FIELD",
            NodeKind::Index(..) => "INDEX",
            NodeKind::Parameter(_) => "VARREF",
            NodeKind::Text(_) | NodeKind::Integer(_) | NodeKind::Float(_) | NodeKind::Boolean(_) | NodeKind::Null => {
                "LITERAL"
            }
            NodeKind::Map(_) => "MAP",
            NodeKind::Array(_) => "ARRAY",
        }
    }

    /// What kind of value a literal is, in messages.
    pub fn value_name(&self) -> &'static str {
        match &self.kind {
            NodeKind::Text(_) => "a string",
            NodeKind::Integer(_) => "an integer",
            NodeKind::Float(_) => "a floating point number",
            NodeKind::Boolean(_) => "a boolean",
            NodeKind::Null => "null",
            NodeKind::Map(_) => "a map",
            NodeKind::Array(_) => "an array",
            NodeKind::Parameter(_) => "a parameter",
            _ => "an expression",
        }
    }
}
