//! The columns a name of a query means: a field, a field set, a part of a field, or an element of one by its place
//! (`list[2]`, `structs[0].name`) or key (`map{"key"}`, `map{"key"}.name`).
use brooklet_document::DataType;
use brooklet_rank::match_data::FieldId;
use brooklet_schema::{Field, Normalizing, Schema};
use brooklet_segment::layout::{ColumnKind, ColumnSpec};
use brooklet_task::{Code, Rejection};

use super::binder::Binder;
use super::number::{number_kind, number_of_text};
use crate::plan::condition::{KeyTest, Within};

/// A field that is searched.
#[derive(Clone)]
pub(super) struct Searched<'a> {
    pub(super) id: FieldId,
    pub(super) field: &'a Field,
    pub(super) within: Option<Within>,
}

/// A name taken apart.
#[derive(Debug, PartialEq)]
struct Path<'a> {
    /// The field or part, by its dotted path.
    field: String,
    /// Name of the array or map an element is chosen of, and which.
    chosen: Option<(&'a str, Choice)>,
}

#[derive(Debug, PartialEq)]
enum Choice {
    Element(u32),
    Key(String),
}

impl<'a> Binder<'a> {
    /// The fields a name means; none (with an issue) if they cannot be searched.
    pub(super) fn fields(&mut self, name: &str) -> Result<Vec<Searched<'a>>, Rejection> {
        let schema = self.schema;
        let name = match &self.scope {
            Some(scope) if name.is_empty() => scope.clone(),
            Some(scope) => format!("{scope}.{name}"),
            None => brooklet_query::tree::index_of(name).to_owned(),
        };
        let names = match schema.query_field_set(&name) {
            Some(set) => &set.fields[..],
            None => std::slice::from_ref(&name),
        };
        let mut searched = Vec::new();
        for name in names {
            let path = Path::parse(name)?;
            let Some(field) = schema.query_field(&path.field) else { continue };
            if let (DataType::Tensor(_), [_]) = (&field.data_type, names) {
                let message = format!("Cannot search for terms in '{name}': It is a tensor field");
                return Err(Rejection::new(Code::BadRequest, message));
            }
            let within = match &path.chosen {
                None => None,
                Some((_, Choice::Element(number))) => Some(Within::Element(*number)),
                Some((_, Choice::Key(key))) => match self.key_of(top_of(&field.name), key) {
                    Some(within) => Some(within),
                    None => continue,
                },
            };
            for field in searched_parts(schema, field) {
                let Some(id) = self.deployed.field_id(&field.name) else { continue };
                searched.push(Searched { id, field, within: within.clone() });
            }
        }
        if searched.is_empty() {
            self.report_unsearchable(&name);
        }
        Ok(searched)
    }

    /// Whether a name may mean fields of n-grams.
    pub(super) fn has_grams(&self, name: &str) -> bool {
        let name = brooklet_query::tree::index_of(name);
        let is_of_grams =
            |field: &str| self.schema.query_field(field).is_some_and(|field| self.analysis.gram_size(field).is_some());
        self.schema
            .query_field_set(name)
            .map_or_else(|| is_of_grams(name), |set| set.fields.iter().any(|of| is_of_grams(of)))
    }

    /// Another of several schemas may have the field: then this one just has no matches.
    pub(super) fn report_unsearchable(&mut self, name: &str) {
        if self.sole || self.schema.query_field(name).is_some() {
            self.issues.report(Code::ErrorInReply, format!("No valid indexes registered for index '{name}'"));
        }
    }

    /// How the entry of a map is found by its key.
    fn key_of(&self, map: &str, key: &str) -> Option<Within> {
        let of_key = |kind: fn(&ColumnKind) -> bool| self.deployed.column(&format!("{map}.key"), kind).cloned();
        if let Some(spec) = of_key(|kind| matches!(kind, ColumnKind::Strings { .. })) {
            return Some(Within::Key(spec, KeyTest::Text(key.to_owned())));
        }
        let spec = of_key(|kind| matches!(kind, ColumnKind::Numbers { .. }))?;
        let test = number_of_text(key, number_kind(&spec))?;
        Some(Within::Key(spec, KeyTest::Number(test)))
    }

    /// How texts for a set of fields are normalised: as the strictest common way.
    pub(super) fn normalizing(fields: &[Searched]) -> Normalizing {
        let mut kinds = fields.iter().map(|searched| searched.field.normalizing());
        match kinds.next() {
            Some(first) if kinds.all(|kind| kind == first) => first,
            _ => Normalizing::LowercaseAndFold,
        }
    }

    pub(super) fn text_column(&self, field: &Field) -> Option<ColumnSpec> {
        self.deployed.column(&field.name, |kind| matches!(kind, ColumnKind::Text { .. })).cloned()
    }

    pub(super) fn number_column(&self, field: &Field) -> Option<ColumnSpec> {
        self.deployed.column(&field.name, |kind| matches!(kind, ColumnKind::Numbers { .. })).cloned()
    }

    pub(super) fn position_column(&self, field: &Field) -> Option<ColumnSpec> {
        self.deployed.column(&field.name, |kind| matches!(kind, ColumnKind::Positions { .. })).cloned()
    }
}

/// What a field is searched in: itself, or of a struct or map all parts below it, as of a field set.
fn searched_parts<'f>(schema: &'f Schema, field: &'f Field) -> Vec<&'f Field> {
    let begins = format!("{}.", field.name);
    let parts = schema.all_fields().filter(|part| part.name.starts_with(&begins));
    let parts: Vec<&Field> = parts.collect();
    let has_parts = |of: &Field| {
        parts.iter().any(|part| part.name.strip_prefix(&of.name).is_some_and(|rest| rest.starts_with('.')))
    };
    let all =
        if parts.is_empty() { vec![field] } else { parts.iter().copied().filter(|part| !has_parts(part)).collect() };
    all.into_iter().filter(|field| field.indexing.searchable()).collect()
}

/// The field that a dotted path begins with.
fn top_of(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

impl<'a> Path<'a> {
    fn parse(name: &'a str) -> Result<Path<'a>, Rejection> {
        let Some(at) = name.find(['{', '[']) else { return Ok(Path { field: name.to_owned(), chosen: None }) };
        let wrong = |what: &str| {
            let message = format!("The field '{}' {what}", Rejection::quote(name));
            Rejection::new(Code::InvalidQueryParameter, message)
        };
        let (of, chosen) = name.split_at(at);
        let (choice, rest, value) = if let Some(index) = chosen.strip_prefix('[') {
            let (number, rest) = index.split_once(']').ok_or_else(|| wrong("has no closing ]"))?;
            let number = number.trim().parse().map_err(|_| wrong("names no element by its number"))?;
            (Choice::Element(number), rest, "")
        } else {
            let (key, rest) = key_and_rest(&chosen[1..]).ok_or_else(|| wrong("has no closing }"))?;
            (Choice::Key(key), rest, ".value")
        };
        if rest.contains(['{', '[']) || of.contains('.') {
            return Err(wrong("chooses elements of a part: only those of a whole field can be chosen"));
        }
        if !rest.is_empty() && !rest.starts_with('.') {
            return Err(wrong("goes on after its element without a dot"));
        }
        Ok(Path { field: format!("{of}{value}{rest}"), chosen: Some((of, choice)) })
    }
}

/// The key before a closing brace, in quotes with escapes or without, and what follows the brace.
fn key_and_rest(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (key, rest) = text.split_once('}')?;
        return Some((key.to_owned(), rest));
    };
    let mut key = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => key.push(characters.next()?.1),
            '"' => return Some((key, quoted[at + 1..].strip_prefix('}')?)),
            _ => key.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_elements() {
        let path = |name: &'static str| Path::parse(name).map(|path| (path.field, path.chosen));
        assert_eq!(path("a.b").unwrap(), ("a.b".to_owned(), None));
        assert_eq!(path("a[2]").unwrap(), ("a".to_owned(), Some(("a", Choice::Element(2)))));
        assert_eq!(path("a[2].b").unwrap(), ("a.b".to_owned(), Some(("a", Choice::Element(2)))));
        let key = |key: &str| Some(("m", Choice::Key(key.to_owned())));
        assert_eq!(path("m{\"k}\\\"\"}").unwrap(), ("m.value".to_owned(), key("k}\"")));
        assert_eq!(path("m{k}.x").unwrap(), ("m.value.x".to_owned(), key("k")));
        for wrong in ["a[", "a[x]", "m{", "m{\"k}", "m{\"k\"x}", "m{k}x", "a[1][2]", "a.b[1]"] {
            assert!(Path::parse(wrong).is_err(), "{wrong}");
        }
    }
}
