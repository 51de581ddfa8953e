//! Reads updates: `{"fields":{"year":{"increment":1},"props{color}":{"assign":"red"}},"condition":"…","create":true}`.
use brooklet_task::limits::{ELEMENTS, FIELDS};
use brooklet_task::{Rejection, nearest_name};

use super::members::{read_members, start};
use super::number::parse_int;
use super::options::ReadOptions;
use super::refusal::{broken_json, check_key, refusal};
use super::tensor::{read_addresses, read_given_cells};
use super::value::{ValueReader, read_weight, value_from_text};
use crate::document_types::FieldTypes;
use crate::field_path::{FieldPath, WrittenStep};
use crate::json::number::parse_double;
use crate::json::{JsonKind, Lexer, TensorSource, UniqueNames, read_tensor};
use crate::update::{
    Calculation, ElementChange, FieldChange, FieldUpdate, MatchElement, PathChange, PathUpdate, TensorModify,
    TensorOperation, Update, is_changeable, within,
};
use crate::{DataType, DocumentId, Value};

type Reads<T> = Result<T, Rejection>;

/// The body of an update.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateBody {
    /// What changes.
    pub update: Update,
    /// The selection that must hold.
    pub condition: Option<String>,
    /// What `create` says, if it is there.
    pub create: Option<bool>,
    /// Undefined fields that were passed over.
    pub ignored: Vec<String>,
}

/// Reads the body of an update of the document `id`. Members it does not know are passed over.
///
/// # Errors
/// If the body is no JSON object with `fields`, or a change does not fit its field.
pub fn read_update(types: &dyn FieldTypes, id: &DocumentId, body: &[u8], options: ReadOptions) -> Reads<UpdateBody> {
    let mut reader = UpdateReader::new(types, id, options);
    let mut json = start(body)?;
    let members = read_members(&mut json, &mut |json| reader.fields(json)).and_then(|members| {
        json.end()?;
        Ok(members)
    });
    let members = members.map_err(broken_json)?;
    if !members.has_fields {
        return Err(refusal("document is missing the required \"fields\" field"));
    }
    let ignored = reader.values.ignored;
    Ok(UpdateBody { update: reader.update, condition: members.condition, create: members.create, ignored })
}

/// Reads the value of `fields` of an update alone.
pub(crate) fn read_update_fields(
    types: &dyn FieldTypes,
    id: &DocumentId,
    json: &mut Lexer,
    options: ReadOptions,
) -> Reads<Update> {
    let mut reader = UpdateReader::new(types, id, options);
    reader.fields(json).map_err(broken_json)?;
    Ok(reader.update)
}

struct UpdateReader<'a> {
    types: &'a dyn FieldTypes,
    id: &'a DocumentId,
    values: ValueReader,
    update: Update,
}

impl<'a> UpdateReader<'a> {
    fn new(types: &'a dyn FieldTypes, id: &'a DocumentId, options: ReadOptions) -> UpdateReader<'a> {
        UpdateReader { types, id, values: ValueReader::new(options), update: Update::default() }
    }

    fn fields(&mut self, json: &mut Lexer) -> Reads<()> {
        json.begin_object()?;
        let mut seen = UniqueNames::default();
        while let Some(name) = json.next_key()? {
            check_key(&mut seen, &name)?;
            if seen.count() > FIELDS {
                return Err(refusal(&format!("An update has more fields than the limit of {FIELDS}")));
            }
            let kind = json.kind()?;
            if kind != JsonKind::Object {
                return Err(within(
                    &name,
                    refusal(&format!(
                        "Expected start of JSON object, got {}: expected an operation such as {{\"assign\":…}}",
                        kind.noun()
                    )),
                ));
            }
            if name.contains(['.', '[', '{']) {
                let update = self.path(&name, json).map_err(|error| within(&name, error))?;
                self.update.paths.push(update);
                continue;
            }
            match self.types.data_type(&name) {
                Some(data_type) => {
                    let changes = self.changes(&name, data_type, json).map_err(|error| within(&name, error))?;
                    let (field, data_type) = (name.into_owned(), data_type.clone());
                    self.update.fields.push(FieldUpdate { field, data_type, changes });
                }
                None if self.values.options.ignore_undefined_fields => {
                    self.values.ignored.push(name.into_owned());
                    json.skip_value()?;
                }
                None => {
                    let of = self.id.document_type();
                    let hint = nearest_name(&name, self.types.names())
                        .map_or_else(String::new, |nearest| format!(". Did you mean '{nearest}'?"));
                    let message = format!("No field named '{}' in document type '{of}'{hint}", Rejection::quote(&name));
                    return Err(within(&name, refusal(&message)));
                }
            }
        }
        Ok(())
    }

    fn changes(&mut self, field: &str, data_type: &DataType, json: &mut Lexer) -> Reads<Vec<FieldChange>> {
        let mut changes = Vec::new();
        let mut seen = UniqueNames::default();
        json.begin_object()?;
        while let Some(name) = json.next_key()? {
            check_key(&mut seen, &name)?;
            changes.push(match &*name {
                "assign" if json.kind()? == JsonKind::Null => {
                    json.null()?;
                    FieldChange::Assign(None)
                }
                "assign" => FieldChange::Assign(Some(self.values.bare(field, data_type, json)?)),
                "add" => FieldChange::Add(self.read_add(field, data_type, json)?),
                "remove" => self.read_remove(field, data_type, json)?,
                "match" => {
                    let (element, change) = self.read_match(field, data_type, json)?;
                    FieldChange::Match(element, change)
                }
                "modify" => FieldChange::Modify(read_modify(field, data_type, json)?),
                other => match Calculation::from_name(other) {
                    Some(calculation) => {
                        check_numeric(data_type)?;
                        FieldChange::Calculate(calculation, divisor(field, calculation, operand(json)?)?)
                    }
                    None => return Err(refusal(&format!("Operation '{}' not implemented.", Rejection::quote(other)))),
                },
            });
        }
        Ok(changes)
    }

    fn read_add(&mut self, field: &str, data_type: &DataType, json: &mut Lexer) -> Reads<Value> {
        match data_type {
            DataType::Array(_) | DataType::WeightedSet { .. } => self.values.bare(field, data_type, json),
            DataType::Tensor(of) => {
                demand_mapped("An add", data_type)?;
                let kind = json.kind()?;
                if kind != JsonKind::Object {
                    return Err(refusal(&format!("Expected start of JSON object, got {}", kind.noun())));
                }
                let tensor = read_tensor(of, json, TensorSource::Document)?;
                if tensor.addresses.is_empty() {
                    return Err(refusal(&format!("Add update for field '{field}' does not contain tensor cells")));
                }
                Ok(Value::Tensor(tensor))
            }
            other => Err(no_collection(other)),
        }
    }

    fn read_remove(&mut self, field: &str, data_type: &DataType, json: &mut Lexer) -> Reads<FieldChange> {
        match data_type {
            DataType::Array(_) => match self.values.bare(field, data_type, json)? {
                Value::Array(elements) => Ok(FieldChange::Remove(elements)),
                _ => Err(no_collection(data_type)),
            },
            DataType::WeightedSet { element, .. } => {
                let kind = json.kind()?;
                if kind != JsonKind::Object {
                    return Err(refusal(&format!("Expected an object of keys, got {}", kind.noun())));
                }
                let mut keys = Vec::new();
                json.begin_object()?;
                while let Some(key) = json.next_key()? {
                    if keys.len() == ELEMENTS {
                        return Err(refusal(&format!("More entries than the limit of {ELEMENTS}")));
                    }
                    keys.push(value_from_text(element, &key)?);
                    // It does not matter which, but what is none was meant otherwise.
                    read_weight(json)?;
                }
                Ok(FieldChange::Remove(keys))
            }
            DataType::Tensor(of) => {
                demand_mapped("A remove", data_type)?;
                let addresses = read_addresses(of, json)?;
                if addresses.is_empty() {
                    let message = format!("Remove update for field '{field}' does not contain tensor addresses");
                    return Err(refusal(&message));
                }
                Ok(FieldChange::RemoveCells(addresses))
            }
            other => Err(no_collection(other)),
        }
    }

    /// `{"element":…,"increment":…}`, in any order.
    fn read_match(
        &mut self,
        field: &str,
        data_type: &DataType,
        json: &mut Lexer,
    ) -> Reads<(MatchElement, ElementChange)> {
        let kind = json.kind()?;
        if kind != JsonKind::Object {
            return Err(refusal(&format!("Expected start of JSON object, got {}", kind.noun())));
        }
        let inner = match data_type {
            DataType::Array(of) => (**of).clone(),
            DataType::WeightedSet { .. } => DataType::Int,
            other => return Err(refusal(&format!("Container type {other} not supported for match update."))),
        };
        let (mut element, mut change) = (None, None);
        let mut seen = UniqueNames::default();
        json.begin_object()?;
        while let Some(name) = json.next_key()? {
            check_key(&mut seen, &name)?;
            if &*name == "element" {
                element = Some(match_element(data_type, &json.scalar_text()?)?);
                continue;
            }
            let found = match &*name {
                "assign" if json.kind()? == JsonKind::Null => {
                    json.skip_value()?;
                    ElementChange::Remove
                }
                "assign" => ElementChange::Assign(self.values.bare(field, &inner, json)?),
                "match" => ElementChange::Match(Box::new(self.read_match(field, &inner, json)?)),
                other => match Calculation::from_name(other) {
                    Some(calculation) => {
                        check_numeric(&inner)?;
                        ElementChange::Calculate(calculation, divisor(field, calculation, operand(json)?)?)
                    }
                    None => return Err(refusal(&format!("Operation '{}' not implemented.", Rejection::quote(other)))),
                },
            };
            if change.replace(found).is_some() {
                return Err(refusal("A match update has more than one operation"));
            }
        }
        let element = element.ok_or_else(|| refusal("Expected match element, got END_OBJECT"))?;
        let change = change.ok_or_else(|| refusal("Expected match action, got END_OBJECT"))?;
        Ok((element, change))
    }

    #[inline(never)]
    fn path(&mut self, text: &str, json: &mut Lexer) -> Reads<PathUpdate> {
        let (field, steps) = parse_path(text)?;
        let of = self.id.document_type();
        let path = FieldPath::resolve(&field, &steps, self.types, of, brooklet_task::Code::InvalidDocument)?;
        if !is_changeable(&path) {
            return Err(refusal("Keys cannot be changed; remove the entry and add another"));
        }
        let mut changes = Vec::new();
        let mut seen = UniqueNames::default();
        json.begin_object()?;
        while let Some(name) = json.next_key()? {
            check_key(&mut seen, &name)?;
            let name = name.to_ascii_lowercase();
            changes.push(match name.as_str() {
                "assign" => PathChange::Assign(self.values.bare(text, &path.data_type, json)?),
                "add" => match &path.data_type {
                    DataType::Array(_) => match self.values.bare(text, &path.data_type, json)? {
                        Value::Array(elements) => PathChange::Add(elements),
                        _ => return Err(no_collection(&path.data_type)),
                    },
                    other => return Err(no_collection(other)),
                },
                "remove" => {
                    let kind = json.kind()?;
                    if !kind.is_scalar() {
                        return Err(refusal(&format!("Expected to be scalar value, got {}", kind.noun())));
                    }
                    json.skip_value()?;
                    PathChange::Remove
                }
                other => match Calculation::from_name(other) {
                    Some(calculation) => {
                        check_numeric(&path.data_type)?;
                        PathChange::Calculate(calculation, operand(json)?)
                    }
                    None => {
                        let message = format!("Field path update type '{}' not supported.", Rejection::quote(other));
                        return Err(refusal(&message));
                    }
                },
            });
        }
        Ok(PathUpdate { text: text.to_owned(), path, changes })
    }
}

/// An operand that can be computed with: nothing is divided by zero, but by a path, which then leaves the number alone.
fn divisor(field: &str, calculation: Calculation, operand: f64) -> Reads<f64> {
    if calculation == Calculation::Divide && operand == 0.0 {
        let update = "Could not execute update 'arithmetic divide 0.0'";
        return Err(refusal(&format!("{update} to field '{field}': Division by zero")));
    }
    Ok(operand)
}

/// `{"operation":"add","create":true,"cells":[…]}`
#[inline(never)]
fn read_modify(field: &str, data_type: &DataType, json: &mut Lexer) -> Reads<TensorModify> {
    let DataType::Tensor(of) = data_type else {
        return Err(refusal(&format!("A modify update can only be applied to tensor fields, not to type {data_type}")));
    };
    let kind = json.kind()?;
    if kind != JsonKind::Object {
        return Err(refusal(&format!("Expected start of JSON object, got {}", kind.noun())));
    }
    let (mut operation, mut create, mut cells) = (None, false, None);
    let mut seen = UniqueNames::default();
    json.begin_object()?;
    while let Some(name) = json.next_key()? {
        check_key(&mut seen, &name)?;
        match &*name {
            "operation" => {
                let text = json.scalar_text()?;
                let unknown = || {
                    refusal(&format!(
                        "Unknown operation '{}' in modify update for field '{field}'",
                        Rejection::quote(&text)
                    ))
                };
                operation = Some(TensorOperation::from_name(&text).ok_or_else(unknown)?);
            }
            "create" => create = json.boolean()?,
            "cells" | "addresses" | "blocks" => {
                if cells.is_some() {
                    return Err(refusal("A modify update has only one of 'cells', 'addresses' and 'blocks'"));
                }
                cells = Some(read_given_cells(of, &name, json)?);
            }
            other => {
                let other = Rejection::quote(other);
                return Err(refusal(&format!("Unknown JSON string '{other}' in modify update for field '{field}'")));
            }
        }
    }
    let missing = |what: &str| refusal(&format!("Modify update for field '{field}' does not contain {what}"));
    let operation = operation.ok_or_else(|| missing("an operation"))?;
    // Cells that are given and none at all are as good as others: the update changes nothing.
    let cells = cells.ok_or_else(|| missing("tensor cells"))?;
    Ok(TensorModify { operation, create, cells })
}

fn demand_mapped(what: &str, data_type: &DataType) -> Reads<()> {
    match data_type {
        DataType::Tensor(of) if of.mapped().next().is_none() => {
            let message = "update can only be applied to tensors with at least one sparse dimension";
            Err(refusal(&format!("{what} {message}. Got type {data_type}")))
        }
        _ => Ok(()),
    }
}

fn no_collection(data_type: &DataType) -> Rejection {
    let message = "Trying to add or remove from a field of a type the reader does not know how to handle";
    refusal(&format!("{message}: {data_type}"))
}

fn check_numeric(data_type: &DataType) -> Reads<()> {
    if data_type.is_numeric() { Ok(()) } else { Err(refusal(&format!("Expected numeric type, got {data_type}."))) }
}

fn match_element(data_type: &DataType, text: &str) -> Reads<MatchElement> {
    match data_type {
        DataType::WeightedSet { element, .. } => value_from_text(element, text).map(MatchElement::Key),
        _ => {
            let index = parse_int(text)?;
            let negative = |_| refusal(&format!("{index} is no index of an array"));
            usize::try_from(index).map(MatchElement::Index).map_err(negative)
        }
    }
}

/// A number, or a string with one.
fn operand(json: &mut Lexer) -> Reads<f64> {
    let text = json.scalar_text()?;
    let number = parse_double(&text).filter(|number| number.is_finite());
    number.ok_or_else(|| refusal(&format!("For input string: \"{}\"", Rejection::quote(&text))))
}

/// `people[0].name`, `props{a b}`, `props{"a}b"}`: the field and the steps.
#[inline(never)]
fn parse_path(text: &str) -> Reads<(String, Vec<WrittenStep>)> {
    let end = text.find(['.', '[', '{']).unwrap_or(text.len());
    let (field, mut rest) = text.split_at(end);
    let mut steps = Vec::new();
    while let Some(first) = rest.chars().next() {
        // Only looked at behind a sign, which is one byte.
        let after = rest.get(1..).unwrap_or_default();
        let (step, length) = match first {
            '.' => {
                let length = after.find(['.', '[', '{']).unwrap_or(after.len());
                if length == 0 {
                    return Err(refusal("A field path has a '.' without a name"));
                }
                (WrittenStep::Name(after[..length].to_owned()), length)
            }
            '[' => {
                let Some(length) = after.find(']') else {
                    return Err(refusal(&format!(
                        "Array subscript '{}' is incomplete. No matching ']'",
                        Rejection::quote(rest)
                    )));
                };
                let index = &after[..length];
                let step = match index.strip_prefix('$') {
                    Some(variable) => WrittenStep::IndexVariable(variable.to_owned()),
                    None => {
                        let no_number = |_| refusal(&format!("For input string: \"{}\"", Rejection::quote(index)));
                        WrittenStep::Index(index.parse().map_err(no_number)?)
                    }
                };
                (step, length + 1)
            }
            '{' => key_step(rest)?,
            _ => return Err(refusal(&format!("Unexpected '{}' in a field path", Rejection::quote(rest)))),
        };
        steps.push(step);
        rest = &after[length..];
    }
    Ok((field.to_owned(), steps))
}

/// The key in braces that `text` begins with, and the length of what follows the opening one.
fn key_step(text: &str) -> Reads<(WrittenStep, usize)> {
    let incomplete = || refusal(&format!("Key '{}' is incomplete. No matching '}}'", Rejection::quote(text)));
    let after = &text[1..];
    // Spaces before a key are no part of it, nor are those around its quotes.
    let written = after.trim_start_matches(' ');
    let Some(quoted) = written.strip_prefix('"') else {
        let length = written.find('}').ok_or_else(incomplete)?;
        let step = match after.strip_prefix('$') {
            Some(_) => WrittenStep::KeyVariable(written[1..length].to_owned()),
            None => WrittenStep::Key(written[..length].to_owned()),
        };
        return Ok((step, after.len() - written.len() + length + 1));
    };
    let mut key = String::new();
    let mut chars = quoted.char_indices();
    while let Some((offset, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, '"')) => key.push('"'),
                _ => return Err(refusal("Escape '\\' of a quoted key is only for '\"'")),
            },
            '"' => {
                let rest = quoted[offset + 1..].trim_start_matches(' ').strip_prefix('}').ok_or_else(incomplete)?;
                return Ok((WrittenStep::Key(key), after.len() - rest.len()));
            }
            c => key.push(c),
        }
    }
    Err(incomplete())
}
