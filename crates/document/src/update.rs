//! What an update changes, and changing a document by it.
//!
//! Operations on whole fields come before those on paths, whatever their order in the JSON (document-ids-and-feed §4).
//! A document is changed wholly or not at all: what does not fit is refused before anything is written.
use brooklet_task::limits::{ELEMENTS, FIELDS};
use brooklet_task::{Code, Rejection};

use crate::field_path::{FieldPath, Step};
use crate::{DataType, Document, Value};

mod among;
mod path;
mod tensor;
#[cfg(test)]
mod tests;

use among::{Among, merge_weights};

pub use tensor::{GivenCell, TensorModify, TensorOperation};

/// An update, its types checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Changes of whole fields, in their order.
    pub fields: Vec<FieldUpdate>,
    /// Changes of parts of fields, in their order.
    pub paths: Vec<PathUpdate>,
}

/// The changes of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldUpdate {
    /// The field.
    pub field: String,
    /// Its type.
    pub data_type: DataType,
    /// The changes, in their order.
    pub changes: Vec<FieldChange>,
}

/// A change of a whole field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldChange {
    /// Sets the field; nothing clears it.
    Assign(Option<Value>),
    /// Appends to an array, inserts into a weighted set, merges into a tensor.
    Add(Value),
    /// Removes all equal elements of an array, or these keys of a weighted set.
    Remove(Vec<Value>),
    /// Removes the subspaces of a tensor whose labels are these; a label that is not given matches all.
    RemoveCells(Vec<Vec<Option<String>>>),
    /// Computes with the cells of a tensor.
    Modify(TensorModify),
    /// Computes with a number; a field without a value counts as 0.
    Calculate(Calculation, f64),
    /// Changes one element of an array or the weight of one key of a weighted set.
    Match(MatchElement, ElementChange),
}

/// Which element a match changes.
#[derive(Clone, Debug, PartialEq)]
pub enum MatchElement {
    /// Of an array.
    Index(usize),
    /// Of a weighted set.
    Key(Value),
}

/// What becomes of a matched element.
#[derive(Clone, Debug, PartialEq)]
pub enum ElementChange {
    /// It is set.
    Assign(Value),
    /// It is taken out.
    Remove,
    /// It is computed with.
    Calculate(Calculation, f64),
    /// It is a collection, one of whose elements changes.
    Match(Box<(MatchElement, ElementChange)>),
}

/// Changes of what a path leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct PathUpdate {
    /// The path as written, for messages.
    pub text: String,
    /// The path.
    pub path: FieldPath,
    /// The changes, in their order.
    pub changes: Vec<PathChange>,
}

/// A change of what a path leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum PathChange {
    /// It is set; what is missing on the way to it is made, except elements of arrays.
    Assign(Value),
    /// Elements are appended to the array.
    Add(Vec<Value>),
    /// It goes.
    Remove,
    /// It is computed with; a missing number counts as 0.
    Calculate(Calculation, f64),
}

/// A kind of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calculation {
    /// `increment`
    Increment,
    /// `decrement`
    Decrement,
    /// `multiply`
    Multiply,
    /// `divide`: by zero leaves the number alone.
    Divide,
}

impl Calculation {
    /// The operation of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Calculation> {
        Some(match name {
            "increment" => Calculation::Increment,
            "decrement" => Calculation::Decrement,
            "multiply" => Calculation::Multiply,
            "divide" => Calculation::Divide,
            _ => return None,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Calculation::Increment => "increment",
            Calculation::Decrement => "decrement",
            Calculation::Multiply => "multiply",
            Calculation::Divide => "divide",
        }
    }

    fn of(self, value: f64, operand: f64) -> Option<f64> {
        Some(match self {
            Calculation::Increment => value + operand,
            Calculation::Decrement => value - operand,
            Calculation::Multiply => value * operand,
            Calculation::Divide if operand == 0.0 => return None,
            Calculation::Divide => value / operand,
        })
    }
}

impl Update {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.paths.is_empty()
    }

    /// Changes a document.
    ///
    /// # Errors
    /// If a collection or the document would grow beyond a limit; the document is then to be thrown away.
    pub fn apply(&self, document: &mut Document) -> Result<(), Rejection> {
        for update in &self.fields {
            let mut value = take(document, &update.field);
            for change in &update.changes {
                value = change.apply(value, &update.data_type).map_err(|error| within(&update.field, error))?;
            }
            put_back(document, &update.field, value);
        }
        for update in &self.paths {
            for change in &update.changes {
                let place = document.fields.iter().position(|(name, _)| *name == update.path.field);
                let held = place.map(|place| take_value(&mut document.fields[place].1));
                let value = path::changed(held, &update.path, change).map_err(|error| within(&update.text, error))?;
                put_back(document, &update.path.field, value);
            }
        }
        if document.fields.len() > FIELDS {
            let message = format!("A document has more fields than the limit of {FIELDS}");
            return Err(Rejection::new(Code::InvalidDocument, message));
        }
        Ok(())
    }
}

pub(crate) fn within(name: &str, error: Rejection) -> Rejection {
    if error.span.is_some() { error } else { error.within(&format!("Error in '{}'", Rejection::quote(name))) }
}

/// Takes the value of a field, which [`put_back`] gives another.
fn take(document: &mut Document, field: &str) -> Option<Value> {
    document.fields.iter_mut().find(|(name, _)| name == field).map(|(_, value)| take_value(value))
}

fn take_value(value: &mut Value) -> Value {
    std::mem::replace(value, Value::Bool(false))
}

/// Sets a field at its old place or at the end; no value and an empty collection unset it.
fn put_back(document: &mut Document, field: &str, value: Option<Value>) {
    let place = document.fields.iter().position(|(name, _)| name == field);
    match (value.filter(|value| !value.is_empty_collection()), place) {
        (Some(value), Some(place)) => document.fields[place].1 = value,
        (Some(value), None) => document.fields.push((field.to_owned(), value)),
        (None, Some(place)) => drop(document.fields.remove(place)),
        (None, None) => {}
    }
}

impl FieldChange {
    fn apply(&self, value: Option<Value>, data_type: &DataType) -> Result<Option<Value>, Rejection> {
        Ok(match self {
            FieldChange::Assign(assigned) => assigned.clone(),
            FieldChange::Add(added) => Some(add(value, added)?),
            FieldChange::Remove(removed) => value.map(|value| without(value, removed)),
            FieldChange::RemoveCells(addresses) => value.map(|value| match value {
                Value::Tensor(tensor) => Value::Tensor(tensor::without(&tensor, addresses)),
                other => other,
            }),
            FieldChange::Modify(modify) => match (value, data_type) {
                (Some(Value::Tensor(tensor)), _) => Some(Value::Tensor(modify.apply(tensor)?)),
                (None, DataType::Tensor(of)) if modify.create => {
                    Some(Value::Tensor(modify.apply(crate::Tensor::empty(of.clone()))?))
                }
                (value, _) => value,
            },
            FieldChange::Calculate(calculation, operand) => {
                Some(calculated(value.unwrap_or_else(|| default_of(data_type)), *calculation, *operand))
            }
            FieldChange::Match(element, change) => {
                let mut value = value.unwrap_or_else(|| default_of(data_type));
                matched(&mut value, data_type, element, change);
                Some(value)
            }
        })
    }
}

fn add(value: Option<Value>, added: &Value) -> Result<Value, Rejection> {
    match (value, added) {
        (Some(Value::Array(mut elements)), Value::Array(more)) => {
            check_count(elements.len() + more.len())?;
            elements.extend(more.iter().cloned());
            Ok(Value::Array(elements))
        }
        (Some(Value::WeightedSet(mut entries)), Value::WeightedSet(more)) => {
            merge_weights(&mut entries, more);
            check_count(entries.len())?;
            Ok(Value::WeightedSet(entries))
        }
        (Some(Value::Tensor(tensor)), Value::Tensor(more)) => tensor::merged(&tensor, more).map(Value::Tensor),
        (_, added) => Ok(added.clone()),
    }
}

fn check_count(count: usize) -> Result<(), Rejection> {
    if count <= ELEMENTS {
        return Ok(());
    }
    Err(Rejection::new(Code::InvalidDocument, format!("More entries than the limit of {ELEMENTS}")))
}

fn without(value: Value, removed: &[Value]) -> Value {
    let removed = Among::of(removed);
    match value {
        Value::Array(mut elements) => {
            elements.retain(|element| !removed.has(element));
            Value::Array(elements)
        }
        Value::WeightedSet(mut entries) => {
            entries.retain(|(key, _)| !removed.has(key));
            Value::WeightedSet(entries)
        }
        other => other,
    }
}

/// The value of a type that has none yet.
fn default_of(data_type: &DataType) -> Value {
    match data_type {
        DataType::Int => Value::Int(0),
        DataType::Long => Value::Long(0),
        DataType::Byte => Value::Byte(0),
        DataType::Bool => Value::Bool(false),
        DataType::Float | DataType::Float16 => Value::Float(0.0),
        DataType::Double => Value::Double(0.0),
        DataType::Raw => Value::Raw(Vec::new()),
        DataType::Position => Value::Position { x: 0, y: 0 },
        DataType::Array(_) => Value::Array(Vec::new()),
        DataType::WeightedSet { .. } => Value::WeightedSet(Vec::new()),
        DataType::Map(..) => Value::Map(Vec::new()),
        DataType::Struct(_) => Value::Struct(Vec::new()),
        DataType::Tensor(of) => Value::Tensor(crate::Tensor::empty(of.clone())),
        DataType::String | DataType::Uri | DataType::Predicate | DataType::Reference(_) => Value::String(String::new()),
    }
}

/// Computed as float64; a whole number is cut toward zero, then to its width.
fn calculated(value: Value, calculation: Calculation, operand: f64) -> Value {
    let whole = |number: f64| calculation.of(number, operand).map(|result| result as i64);
    match value {
        Value::Int(number) => Value::Int(whole(f64::from(number)).map_or(number, |result| result as i32)),
        Value::Long(number) => Value::Long(whole(number as f64).unwrap_or(number)),
        Value::Byte(number) => Value::Byte(whole(f64::from(number)).map_or(number, |result| result as i8)),
        Value::Float(number) => {
            Value::Float(calculation.of(f64::from(number), operand).map_or(number, |result| result as f32))
        }
        Value::Double(number) => Value::Double(calculation.of(number, operand).unwrap_or(number)),
        other => other,
    }
}

/// Changes one element; one that is not there is left alone, unless the weighted set makes missing keys.
fn matched(value: &mut Value, data_type: &DataType, element: &MatchElement, change: &ElementChange) {
    match (value, data_type, element) {
        (Value::Array(elements), DataType::Array(of), MatchElement::Index(index)) => {
            let Some(element) = elements.get_mut(*index) else { return };
            match change {
                ElementChange::Remove => drop(elements.remove(*index)),
                change => change_element(element, of, change),
            }
        }
        (
            Value::WeightedSet(entries),
            DataType::WeightedSet { create_if_nonexistent, remove_if_zero, .. },
            MatchElement::Key(key),
        ) => {
            if *change == ElementChange::Remove {
                entries.retain(|(known, _)| known != key);
                return;
            }
            let place = entries.iter().position(|(known, _)| known == key);
            let weight = match place {
                Some(place) => entries[place].1,
                None if *create_if_nonexistent => 0,
                None => return,
            };
            let mut changed = Value::Int(weight);
            change_element(&mut changed, &DataType::Int, change);
            set_weight(entries, key, changed, *remove_if_zero);
        }
        _ => {}
    }
}

fn change_element(element: &mut Value, data_type: &DataType, change: &ElementChange) {
    match change {
        ElementChange::Assign(value) => *element = value.clone(),
        ElementChange::Calculate(calculation, operand) => {
            *element = calculated(element.clone(), *calculation, *operand)
        }
        ElementChange::Match(inner) => matched(element, data_type, &inner.0, &inner.1),
        // The collection it is in does that.
        ElementChange::Remove => {}
    }
}

/// Sets the weight of a key, or removes the key if its weight is zero and it is to go then.
fn set_weight(entries: &mut Vec<(Value, i32)>, key: &Value, weight: Value, remove_if_zero: bool) {
    let Value::Int(weight) = weight else { return };
    if weight == 0 && remove_if_zero {
        entries.retain(|(known, _)| known != key);
        return;
    }
    match entries.iter_mut().find(|(known, _)| known == key) {
        Some((_, found)) => *found = weight,
        None => entries.push((key.clone(), weight)),
    }
}

/// Whether a path can be changed: keys cannot.
pub(crate) fn is_changeable(path: &FieldPath) -> bool {
    !path.steps.iter().any(|step| matches!(step, Step::Keys))
}
