//! What an update changes, and changing a document by it.
//!
//! Operations on whole fields come before those on paths, whatever their order in the JSON (document-ids-and-feed §4).
//! A document is changed wholly or not at all: what does not fit is refused before anything is written.
use brooklet_task::limits::FIELDS;
use brooklet_task::{Code, Rejection};

use crate::field_path::{FieldPath, Step};
use crate::{DataType, Document, Value};
use value::{calculate, check_count, default_of, set_weight};

mod among;
mod change;
mod path;
mod tensor;
#[cfg(test)]
mod tests;
mod value;

use among::{Among, merge_weights};

pub use crate::tensor::GivenCell;
pub use change::{Calculation, ElementChange, FieldChange, FieldUpdate, MatchElement, PathChange, PathUpdate, Update};
pub use tensor::{TensorModify, TensorOperation};

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
                let value =
                    path::change_value(held, &update.path, change).map_err(|error| within(&update.text, error))?;
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
                Some(calculate(value.unwrap_or_else(|| default_of(data_type)), *calculation, *operand))
            }
            FieldChange::Match(element, change) => {
                let mut value = value.unwrap_or_else(|| default_of(data_type));
                matched(&mut value, data_type, element, change);
                Some(value)
            }
        })
    }
}

#[inline(never)]
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
        (Some(Value::Tensor(tensor)), Value::Tensor(more)) => tensor::merge(&tensor, more).map(Value::Tensor),
        (_, added) => Ok(added.clone()),
    }
}

fn without(value: Value, removed: &[Value]) -> Value {
    let removed = Among::new(removed);
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
        ElementChange::Calculate(calculation, operand) => *element = calculate(element.clone(), *calculation, *operand),
        ElementChange::Match(inner) => matched(element, data_type, &inner.0, &inner.1),
        // The collection it is in does that.
        ElementChange::Remove => {}
    }
}

/// Whether a path can be changed: keys cannot.
pub(crate) fn is_changeable(path: &FieldPath) -> bool {
    !path.steps.iter().any(|step| matches!(step, Step::Keys))
}
