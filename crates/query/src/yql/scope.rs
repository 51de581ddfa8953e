//! Annotations, and from where they are inherited: an annotation in front of `and`, `or` or any other expression counts for
//! everything below it that has no such annotation of its own.
use super::syntax::{Node, NodeKind};
use crate::annotations::{Annotations, Connectivity, DocumentFrequency, Origin};
use crate::tree::TextRange;

/// Why a statement cannot be a query, and where.
#[derive(Debug)]
pub(crate) struct Fault {
    pub message: String,
    pub place: Option<TextRange>,
}

pub(crate) type Built<T> = Result<T, Fault>;

impl From<String> for Fault {
    fn from(message: String) -> Fault {
        Fault { message, place: None }
    }
}

impl Fault {
    /// The fault with a place, unless a narrower one is known.
    pub fn at(mut self, place: TextRange) -> Fault {
        self.place.get_or_insert(place);
        self
    }
}

/// A fault at a node.
pub(crate) fn fault(node: &Node, message: impl Into<String>) -> Fault {
    Fault { message: message.into(), place: Some(node.place) }
}

/// A node with the expressions around it.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub node: &'a Node,
    outer: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    pub fn root(node: &'a Node) -> Scope<'a> {
        Scope { node, outer: None }
    }

    /// The scope of an expression or operand below this one.
    pub fn below(&'a self, node: &'a Node) -> Scope<'a> {
        Scope { node, outer: Some(self) }
    }

    /// The scope of an argument whose function does not pass its annotations on.
    pub fn beside(&self, node: &'a Node) -> Scope<'a> {
        Scope { node, outer: self.outer }
    }

    fn find(&self, name: &str) -> Option<&'a Node> {
        let mut scope = *self;
        loop {
            if let Some(value) = scope.node.own_annotation(name) {
                return Some(value);
            }
            scope = *scope.outer?;
        }
    }

    pub fn boolean(&self, name: &str) -> Built<Option<bool>> {
        self.find(name).map(|value| as_boolean(name, value)).transpose()
    }

    pub fn text(&self, name: &str) -> Built<Option<&'a str>> {
        self.find(name).map(|value| as_text(name, value)).transpose()
    }

    pub fn integer(&self, name: &str) -> Built<Option<i32>> {
        self.find(name).map(|value| as_integer(name, value)).transpose()
    }

    pub fn number(&self, name: &str) -> Built<Option<f64>> {
        self.find(name).map(|value| as_number(name, value)).transpose()
    }

    /// A count: an integer that is not negative.
    pub fn count(&self, name: &str) -> Built<Option<u32>> {
        let Some(value) = self.integer(name)? else { return Ok(None) };
        u32::try_from(value).map(Some).map_err(|_| fault(self.node, format!("Can not use negative {name} {value}")))
    }

    /// A list of integers, or a single one.
    pub fn integers(&self, name: &str) -> Built<Vec<&'a Node>> {
        Ok(match self.find(name) {
            None => Vec::new(),
            Some(Node { kind: NodeKind::Array(elements), .. }) => elements.iter().collect(),
            Some(single) => vec![single],
        })
    }

    fn map(&self, name: &str) -> Built<Option<&'a [(String, Node)]>> {
        match self.find(name) {
            None => Ok(None),
            Some(Node { kind: NodeKind::Map(entries), .. }) => Ok(Some(entries)),
            Some(other) => Err(unexpected_value("a map", name, other)),
        }
    }

    /// Whether the node says itself where it was cut from.
    pub fn has_own_origin(&self) -> bool {
        self.node.own_annotation("origin").is_some()
    }

    pub fn origin(&self) -> Built<Option<Origin>> {
        let Some(entries) = self.map("origin")? else { return Ok(None) };
        let original = as_text("original", entry("origin", entries, "original", self.node)?)?.to_owned();
        let mut numbers = [0u32; 2];
        for (number, key) in numbers.iter_mut().zip(["offset", "length"]) {
            let value = as_integer(key, entry("origin", entries, key, self.node)?)?;
            *number =
                u32::try_from(value).map_err(|_| fault(self.node, format!("Can not use negative {key} {value}")))?;
        }
        let [offset, length] = numbers;
        let units = original.encode_utf16().count() as u64;
        if u64::from(offset) + u64::from(length) > units {
            return Err(fault(self.node, "The origin of a term must be inside its original text."));
        }
        Ok(Some(Origin { original, offset, length }))
    }

    /// The annotations every leaf has: those of a term, without what is done to its text.
    pub fn leaf_annotations(&self) -> Built<Annotations> {
        let mut annotations = Annotations {
            weight: self.integer("weight")?.unwrap_or(100),
            ranked: self.boolean("ranked")?.unwrap_or(true),
            filter: self.boolean("filter")?.unwrap_or(false),
            label: self.text("label")?.map(str::to_owned),
            significance: self.number("significance")?,
            language: self.text("language")?.map(str::to_owned),
            ..Annotations::default()
        };
        if let Some(id) = self.node.own_annotation("id") {
            annotations.id = Some(as_integer("id", id)?.into());
        }
        if let Some(entries) = self.map("connectivity")? {
            annotations.connectivity = Some(Connectivity {
                id: as_integer("id", entry("connectivity", entries, "id", self.node)?)?.into(),
                weight: as_number("weight", entry("connectivity", entries, "weight", self.node)?)?,
            });
        }
        if let Some(entries) = self.map("documentFrequency")? {
            let count = |key| as_count(key, entry("documentFrequency", entries, key, self.node)?);
            annotations.document_frequency =
                Some(DocumentFrequency { frequency: count("frequency")?, count: count("count")? });
        }
        Ok(annotations)
    }

    /// The annotations of a word: those of a leaf and what may be done to its text.
    pub fn word_annotations(&self) -> Built<Annotations> {
        Ok(Annotations {
            stem: self.boolean("stem")?.unwrap_or(true),
            normalize_case: self.boolean("normalizeCase")?.unwrap_or(true),
            accent_drop: self.boolean("accentDrop")?.unwrap_or(true),
            implicit_transforms: self.boolean("implicitTransforms")?.unwrap_or(true),
            use_position_data: self.boolean("usePositionData")?.unwrap_or(true),
            origin: self.origin()?,
            ..self.leaf_annotations()?
        })
    }
}

fn entry<'a>(map: &str, entries: &'a [(String, Node)], key: &str, node: &Node) -> Built<&'a Node> {
    let found = entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value);
    found.ok_or_else(|| fault(node, format!("Map annotation '{map}' must contain an entry with key '{key}'.")))
}

fn unexpected_value(expected: &str, name: &str, value: &Node) -> Fault {
    fault(value, format!("Expected {expected} for annotation '{name}', got {}.", value.value_name()))
}

fn as_boolean(name: &str, value: &Node) -> Built<bool> {
    match value.kind {
        NodeKind::Boolean(value) => Ok(value),
        _ => Err(unexpected_value("a boolean", name, value)),
    }
}

fn as_text<'a>(name: &str, value: &'a Node) -> Built<&'a str> {
    match &value.kind {
        NodeKind::Text(text) => Ok(text),
        _ => Err(unexpected_value("a string", name, value)),
    }
}

fn as_integer(name: &str, value: &Node) -> Built<i32> {
    match value.kind {
        NodeKind::Integer(number) => i32::try_from(number)
            .map_err(|_| fault(value, format!("The annotation '{name}' must fit 32 bits, got {number}."))),
        _ => Err(unexpected_value("an integer", name, value)),
    }
}

fn as_count(name: &str, value: &Node) -> Built<u64> {
    match value.kind {
        NodeKind::Integer(number) => {
            u64::try_from(number).map_err(|_| fault(value, format!("Can not use negative {name} {number}")))
        }
        _ => Err(unexpected_value("an integer", name, value)),
    }
}

fn as_number(name: &str, value: &Node) -> Built<f64> {
    match value.kind {
        NodeKind::Integer(number) => Ok(number as f64),
        NodeKind::Float(number) => Ok(number),
        _ => Err(unexpected_value("a number", name, value)),
    }
}
