//! What a selection says, checked against the document types.
use std::collections::BTreeSet;

use brooklet_text::Pattern;

use crate::field_path::FieldPath;

/// A selection or a part of one. Chains of one operator are kept flat, so that depth comes from parentheses alone.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// `a or b or c`
    Any(Vec<Node>),
    /// `a and b and c`
    All(Vec<Node>),
    Not(Box<Node>),
    Compare(Box<Comparison>),
    /// Documents of exactly this type.
    Type(String),
    /// `a + b - c`: operators of one rank, from left to right.
    Chain(Box<Node>, Vec<(Arithmetic, Node)>),
    /// `a.lowercase().hash()`
    Call(Box<Node>, Vec<Function>),
    Literal(Literal),
    Id(IdPart),
    Field(FieldReference),
    /// `type.version()`: 0 for documents of the types, as no type has another version.
    Version(BTreeSet<String>),
    /// `now()`
    Now,
}

#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) operator: Operator,
    pub(super) left: Node,
    pub(super) right: Node,
    /// The right side compiled, if it is a pattern that is known beforehand.
    pub(super) pattern: Option<Pattern>,
}

/// A field of documents of some types.
#[derive(Clone, Debug)]
pub(super) struct FieldReference {
    /// The type that was named and those that inherit it.
    pub(super) types: BTreeSet<String>,
    pub(super) path: FieldPath,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Glob,
    Regex,
}

impl Operator {
    pub(super) fn from_sign(sign: &str) -> Option<Operator> {
        Some(match sign {
            "==" => Operator::Equal,
            "!=" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            "=" => Operator::Glob,
            "=~" => Operator::Regex,
            _ => return None,
        })
    }

    /// Whether it is defined on values that are only there or not: tensors, bytes, structs.
    pub(super) fn is_equality(self) -> bool {
        matches!(self, Operator::Equal | Operator::NotEqual)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Lowercase,
    Uppercase,
    Hash,
    Abs,
}

impl Function {
    pub(super) fn from_name(name: &str) -> Option<Function> {
        Some(match name {
            "lowercase" => Function::Lowercase,
            "uppercase" => Function::Uppercase,
            "hash" => Function::Hash,
            "abs" => Function::Abs,
            _ => return None,
        })
    }
}

/// A part of the document id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdPart {
    Whole,
    Scheme,
    Namespace,
    Type,
    Specific,
    User,
    Group,
    Bucket,
    Gid,
}

impl IdPart {
    pub(super) fn from_name(name: &str) -> Option<IdPart> {
        Some(match name.to_ascii_lowercase().as_str() {
            "scheme" => IdPart::Scheme,
            "namespace" => IdPart::Namespace,
            "type" => IdPart::Type,
            "specific" => IdPart::Specific,
            "user" => IdPart::User,
            "group" => IdPart::Group,
            "bucket" => IdPart::Bucket,
            "gid" => IdPart::Gid,
            _ => return None,
        })
    }
}

impl Node {
    /// Whether nothing in it looks at more of a document than its group and type.
    pub(super) fn is_of_groups_and_types(&self) -> bool {
        match self {
            Node::Any(parts) | Node::All(parts) => parts.iter().all(Node::is_of_groups_and_types),
            Node::Not(inner) | Node::Call(inner, _) => inner.is_of_groups_and_types(),
            Node::Compare(comparison) => {
                comparison.left.is_of_groups_and_types() && comparison.right.is_of_groups_and_types()
            }
            Node::Chain(first, rest) => {
                first.is_of_groups_and_types() && rest.iter().all(|(_, operand)| operand.is_of_groups_and_types())
            }
            Node::Id(part) => matches!(part, IdPart::Scheme | IdPart::Type | IdPart::User | IdPart::Group),
            Node::Type(_) | Node::Literal(_) | Node::Version(_) | Node::Now => true,
            Node::Field(_) => false,
        }
    }

    /// Calls `visit` with every node that has no other in it.
    pub(super) fn visit_leaves(&self, visit: &mut dyn FnMut(&Node)) {
        match self {
            Node::Any(parts) | Node::All(parts) => parts.iter().for_each(|part| part.visit_leaves(visit)),
            Node::Not(inner) | Node::Call(inner, _) => inner.visit_leaves(visit),
            Node::Compare(comparison) => {
                comparison.left.visit_leaves(visit);
                comparison.right.visit_leaves(visit);
            }
            Node::Chain(first, rest) => {
                first.visit_leaves(visit);
                rest.iter().for_each(|(_, operand)| operand.visit_leaves(visit));
            }
            Node::Field(_) | Node::Type(_) | Node::Literal(_) | Node::Id(_) | Node::Version(_) | Node::Now => {
                visit(self)
            }
        }
    }
}
