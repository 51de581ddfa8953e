//! Where the documents that a selection can select are.
use std::collections::BTreeSet;

use super::tree::{Comparison, IdPart, Literal, Node, Operator};
use crate::{DocumentId, DocumentTypes, Location};

/// The groups and document types that a selection can select documents of. Each is exact or larger, never smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The locations; nothing means any.
    pub locations: Option<BTreeSet<Location>>,
    /// The document types; nothing means any.
    pub types: Option<BTreeSet<String>>,
}

impl Scope {
    const ALL: Scope = Scope { locations: None, types: None };

    fn nothing() -> Scope {
        Scope { locations: Some(BTreeSet::new()), types: Some(BTreeSet::new()) }
    }

    fn of_types(types: BTreeSet<String>) -> Scope {
        Scope { locations: None, types: Some(types) }
    }

    fn of_location(location: Location) -> Scope {
        Scope { locations: Some(BTreeSet::from([location])), types: None }
    }

    fn is_nothing(&self) -> bool {
        let empty = |set: bool| set;
        empty(self.locations.as_ref().is_some_and(BTreeSet::is_empty))
            || empty(self.types.as_ref().is_some_and(BTreeSet::is_empty))
    }

    fn or(self, other: Scope) -> Scope {
        if self.is_nothing() {
            return other;
        }
        if other.is_nothing() {
            return self;
        }
        Scope { locations: union(self.locations, other.locations), types: union(self.types, other.types) }
    }

    fn and(self, other: Scope) -> Scope {
        let both = Scope {
            locations: intersection(self.locations, other.locations),
            types: intersection(self.types, other.types),
        };
        if both.is_nothing() { Scope::nothing() } else { both }
    }
}

fn union<T: Ord>(left: Option<BTreeSet<T>>, right: Option<BTreeSet<T>>) -> Option<BTreeSet<T>> {
    let (mut left, right) = (left?, right?);
    left.extend(right);
    Some(left)
}

fn intersection<T: Ord>(left: Option<BTreeSet<T>>, right: Option<BTreeSet<T>>) -> Option<BTreeSet<T>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.into_iter().filter(|item| right.contains(item)).collect()),
        (left, right) => left.or(right),
    }
}

/// The scope of what makes `root` true.
pub(super) fn analyse(root: &Node, types: &dyn DocumentTypes) -> Scope {
    scope(root, true, types)
}

/// The scope of what gives `node` the outcome `wanted`.
fn scope(node: &Node, wanted: bool, types: &dyn DocumentTypes) -> Scope {
    match node {
        Node::Any(parts) | Node::All(parts) => {
            let every = matches!(node, Node::All(_)) == wanted;
            let mut scopes = parts.iter().map(|part| scope(part, wanted, types));
            let first = scopes.next().unwrap_or(Scope::ALL);
            scopes.fold(first, |one, other| if every { one.and(other) } else { one.or(other) })
        }
        Node::Not(inner) => scope(inner, !wanted, types),
        Node::Type(name) => {
            let of_type = |candidate: &&str| (*candidate == name.as_str()) == wanted;
            Scope::of_types(types.names().into_iter().filter(of_type).map(str::to_owned).collect())
        }
        Node::Literal(literal) => {
            // A number holds if it is not zero, as where selections are evaluated; the pattern 0.0 is -0.0 too.
            let fails = matches!(literal, Literal::Null | Literal::Bool(false) | Literal::Int(0) | Literal::Float(0.0));
            if fails != wanted { Scope::ALL } else { Scope::nothing() }
        }
        Node::Compare(comparison) => of_fields(node).and(of_comparison(comparison, wanted)),
        value => of_fields(value),
    }
}

/// The types whose documents have all the fields of a value: of others it is invalid.
fn of_fields(value: &Node) -> Scope {
    let mut scope = Scope::ALL;
    value.visit_leaves(&mut |leaf| {
        let Node::Field(reference) = leaf else { return };
        let types = Scope::of_types(reference.types.clone());
        scope = std::mem::replace(&mut scope, Scope::ALL).and(types);
    });
    scope
}

/// What comparing a part of the id with a literal tells.
fn of_comparison(comparison: &Comparison, wanted: bool) -> Scope {
    let (part, literal) = match (&comparison.left, &comparison.right) {
        (Node::Id(part), Node::Literal(literal)) | (Node::Literal(literal), Node::Id(part)) => (*part, literal),
        _ => return Scope::ALL,
    };
    let equal = match comparison.operator {
        Operator::Equal => wanted,
        Operator::NotEqual => !wanted,
        Operator::Glob => {
            let plain = matches!(literal, Literal::Text(text) if !text.contains(['*', '?']))
                || !matches!(literal, Literal::Text(_));
            wanted && plain && matches!(comparison.left, Node::Id(_))
        }
        _ => false,
    };
    match (part, literal) {
        (_, Literal::Null) if equal => Scope::nothing(),
        (IdPart::Group, Literal::Text(group)) if equal => Scope::of_location(Location::Group(group.clone())),
        (IdPart::User, Literal::Int(number)) if equal => Scope::of_location(Location::Number(*number)),
        (IdPart::Type, Literal::Text(name)) if equal => Scope::of_types(BTreeSet::from([name.clone()])),
        (IdPart::Whole, Literal::Text(text)) if equal => match DocumentId::parse(text) {
            Ok(id) => Scope {
                locations: Some(BTreeSet::from([id.location().clone()])),
                types: Some(BTreeSet::from([id.document_type().to_owned()])),
            },
            Err(_) => Scope::nothing(),
        },
        _ => Scope::ALL,
    }
}
