//! A YQL expression as the grammar sees it, before names have a meaning.
use crate::tree::Place;

/// One expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub kind: Kind,
    /// Annotations in front of it; of two with one name the later counts.
    pub annotations: Vec<(String, Node)>,
    pub place: Place,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
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
    pub fn new(kind: Kind, place: Place) -> Node {
        Node { kind, annotations: Vec::new(), place }
    }

    /// The node's own annotation of this name.
    pub fn own_annotation(&self, name: &str) -> Option<&Node> {
        self.annotations.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// What the node is called in messages.
    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::And(_) => "AND",
            Kind::Or(_) => "OR",
            Kind::Not(_) => "NOT",
            Kind::AndNot(_) => "AND_NOT",
            Kind::Negate(_) => "NEGATE",
            Kind::Compare(Comparison::Equal, ..) => "EQ",
            Kind::Compare(Comparison::Less, ..) => "LT",
            Kind::Compare(Comparison::Greater, ..) => "GT",
            Kind::Compare(Comparison::LessOrEqual, ..) => "LTEQ",
            Kind::Compare(Comparison::GreaterOrEqual, ..) => "GTEQ",
            Kind::Compare(Comparison::Contains, ..) => "CONTAINS",
            Kind::Compare(Comparison::Matches, ..) => "MATCHES",
            Kind::In(..) => "IN",
            Kind::Call(..) => "CALL",
            Kind::Field(_) => "READ_FIELD",
            Kind::Index(..) => "INDEX",
            Kind::Parameter(_) => "VARREF",
            Kind::Text(_) | Kind::Integer(_) | Kind::Float(_) | Kind::Boolean(_) | Kind::Null => "LITERAL",
            Kind::Map(_) => "MAP",
            Kind::Array(_) => "ARRAY",
        }
    }

    /// What kind of value a literal is, in messages.
    pub fn value_name(&self) -> &'static str {
        match &self.kind {
            Kind::Text(_) => "a string",
            Kind::Integer(_) => "an integer",
            Kind::Float(_) => "a floating point number",
            Kind::Boolean(_) => "a boolean",
            Kind::Null => "null",
            Kind::Map(_) => "a map",
            Kind::Array(_) => "an array",
            Kind::Parameter(_) => "a parameter",
            _ => "an expression",
        }
    }
}
