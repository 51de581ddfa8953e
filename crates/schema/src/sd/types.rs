//! Types of fields, as written.
use brooklet_document::TensorType;
use brooklet_task::Rejection;

use super::lex::Token;
use super::settings::{Parsed, Parser};
use super::tree::{TypeKind, TypeTree, ValueType};
use crate::place::SourcePlace;

impl Parser<'_> {
    /// `array<string>`, `tensor<float>(x[3])`, `person`.
    pub(super) fn data_type(&mut self) -> Parsed<TypeTree> {
        if let Some((tensor, place)) = self.tensor_type()? {
            return Ok(TypeTree { place, kind: TypeKind::Tensor(tensor) });
        }
        let name = self.word("a type")?;
        let kind = match name.text.as_str() {
            "array" | "weightedset" | "map" | "reference" | "annotationreference" if self.take('<')? => {
                self.enter()?;
                let kind = self.parse_parameters(&name.text, &name.place)?;
                self.expect('>')?;
                self.leave();
                kind
            }
            _ => TypeKind::Named(name.text),
        };
        let tree = TypeTree { place: name.place, kind };
        if self.peek()? != Token::Symbol('[') {
            return Ok(tree);
        }
        self.next()?;
        self.expect(']')?;
        if let TypeKind::Named(of) = &tree.kind {
            let message = format!("Data type syntax '{of}[]' is deprecated, use 'array<{of}>' instead.");
            self.note(&tree.place, message);
        }
        Ok(TypeTree { place: tree.place.clone(), kind: TypeKind::Array(Box::new(tree)) })
    }

    fn parse_parameters(&mut self, name: &str, place: &SourcePlace) -> Parsed<TypeKind> {
        Ok(match name {
            "array" => TypeKind::Array(Box::new(self.data_type()?)),
            "weightedset" => TypeKind::WeightedSet(Box::new(self.data_type()?)),
            "map" => {
                let key = self.data_type()?;
                self.expect(',')?;
                TypeKind::Map(Box::new(key), Box::new(self.data_type()?))
            }
            "reference" => TypeKind::Reference(self.name("a document type")?.text),
            _ => return Err(place.unsupported_here("the type annotationreference")),
        })
    }

    /// A tensor type, if one is next. Its text has no blanks between its three parts.
    pub(super) fn tensor_type(&mut self) -> Parsed<Option<(TensorType, SourcePlace)>> {
        let place = self.place();
        let Some(rest) = self.lexer.rest().strip_prefix("tensor") else { return Ok(None) };
        let mut length = "tensor".len();
        let mut dimensions = rest;
        if rest.starts_with('<') {
            let Some(end) = rest.find('>') else { return Err(place.reject("a tensor type does not end")) };
            dimensions = &rest[end + 1..];
            length += end + 1;
        }
        if !dimensions.starts_with('(') {
            return Ok(None);
        }
        let Some(end) = dimensions.find(')') else { return Err(place.reject("a tensor type does not end")) };
        length += end + 1;
        let text = &self.lexer.rest()[..length];
        let parsed = TensorType::parse(text).map_err(|rejection| {
            place.reject(format!("Illegal tensor type spec '{}': {}", Rejection::quote(text), rejection.message))
        })?;
        self.lexer.seek(self.lexer.offset() + length);
        Ok(Some((parsed, place)))
    }

    /// The type of a query feature or constant called `what`, if one is next.
    pub(super) fn value_type(&mut self, what: &str) -> Parsed<ValueType> {
        if let Some((tensor, _)) = self.tensor_type()? {
            return Ok(if tensor.dimensions.is_empty() { ValueType::Number } else { ValueType::Tensor(tensor) });
        }
        let Token::Word(_) = self.peek()? else { return Ok(ValueType::Number) };
        let name = self.word("a type")?;
        match name.text.as_str() {
            "double" => {}
            "float" | "long" => {
                let message = format!("{what}: '{}' is not possible, treated as 'double'", name.text);
                self.note(&name.place, message);
            }
            "string" => return Ok(ValueType::Text),
            _ => return Err(self.unknown_setting(&name, "type", &["double", "string", "tensor"])),
        }
        Ok(ValueType::Number)
    }
}
