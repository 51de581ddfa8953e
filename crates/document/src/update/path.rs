//! Changing what a field path leads to.
use brooklet_task::Rejection;

use super::PathChange;
use super::value::{calculate, check_count, default_of, set_weight};
use crate::field_path::{FieldPath, Step};
use crate::{DataType, Value};

/// What became of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Nothing: whatever was made on the way to it is not kept.
    Unchanged,
    Changed,
    /// It is to be taken out of what holds it.
    Removed,
}

/// The value of the field after the change.
pub(super) fn change_value(
    value: Option<Value>,
    path: &FieldPath,
    change: &PathChange,
) -> Result<Option<Value>, Rejection> {
    let existed = value.is_some();
    if !existed && *change == PathChange::Remove {
        return Ok(None);
    }
    let mut value = value.unwrap_or_else(|| default_of(&path.field_type));
    let fate = edit(&mut value, &path.field_type, &path.steps, change)?;
    Ok(match fate {
        Fate::Removed => None,
        Fate::Unchanged if !existed => None,
        _ => Some(value),
    })
}

fn edit(value: &mut Value, data_type: &DataType, steps: &[Step], change: &PathChange) -> Result<Fate, Rejection> {
    let Some((step, rest)) = steps.split_first() else { return apply(value, change) };
    match (value, data_type, step) {
        (Value::Struct(members), DataType::Struct(of), Step::Member(name)) => {
            let Some(field) = of.field(name) else { return Ok(Fate::Unchanged) };
            edit_entry(members, name, &field.data_type, rest, change)
        }
        (Value::Position { x, y }, _, Step::Member(name)) => {
            let coordinate = if name == "x" { x } else { y };
            let mut number = Value::Int(*coordinate);
            let fate = edit(&mut number, &DataType::Int, rest, change)?;
            if let (Fate::Changed, Value::Int(number)) = (fate, number) {
                *coordinate = number;
            }
            Ok(if fate == Fate::Removed { Fate::Unchanged } else { fate })
        }
        (Value::Map(entries), DataType::Map(_, of), Step::Key(key)) => edit_entry(entries, key, of, rest, change),
        (Value::Map(entries), DataType::Map(_, of), Step::EachKey(_) | Step::Values) => {
            edit_all(entries, |entry| &mut entry.1, of, rest, change)
        }
        (Value::Array(elements), DataType::Array(of), Step::Index(index)) => {
            let Some(element) = elements.get_mut(*index) else { return Ok(Fate::Unchanged) };
            let fate = edit(element, of, rest, change)?;
            if fate == Fate::Removed {
                elements.remove(*index);
            }
            Ok(if fate == Fate::Unchanged { fate } else { Fate::Changed })
        }
        (Value::Array(elements), DataType::Array(of), Step::EachIndex(_) | Step::Elements) => {
            edit_all(elements, |element| element, of, rest, change)
        }
        (Value::WeightedSet(entries), DataType::WeightedSet { remove_if_zero, .. }, step) => {
            edit_weights(entries, *remove_if_zero, step, rest, change)
        }
        _ => Ok(Fate::Unchanged),
    }
}

/// Changes the entry of a key, making it if it is missing and the change sets something.
fn edit_entry<K: PartialEq + Clone>(
    entries: &mut Vec<(K, Value)>,
    key: &K,
    data_type: &DataType,
    rest: &[Step],
    change: &PathChange,
) -> Result<Fate, Rejection> {
    if let Some(place) = entries.iter().position(|(known, _)| known == key) {
        let fate = edit(&mut entries[place].1, data_type, rest, change)?;
        if fate == Fate::Removed {
            entries.remove(place);
        }
        return Ok(if fate == Fate::Unchanged { fate } else { Fate::Changed });
    }
    if *change == PathChange::Remove {
        return Ok(Fate::Unchanged);
    }
    let mut made = default_of(data_type);
    let fate = edit(&mut made, data_type, rest, change)?;
    if fate == Fate::Changed {
        check_count(entries.len() + 1)?;
        entries.push((key.clone(), made));
    }
    Ok(fate)
}

/// Changes every value of a collection.
fn edit_all<E>(
    entries: &mut Vec<E>,
    value_of: impl Fn(&mut E) -> &mut Value,
    data_type: &DataType,
    rest: &[Step],
    change: &PathChange,
) -> Result<Fate, Rejection> {
    let mut all = Fate::Unchanged;
    let mut fates = Vec::with_capacity(entries.len());
    for entry in entries.iter_mut() {
        let fate = edit(value_of(entry), data_type, rest, change)?;
        if fate != Fate::Unchanged {
            all = Fate::Changed;
        }
        fates.push(fate);
    }
    let mut fates = fates.into_iter();
    entries.retain(|_| fates.next() != Some(Fate::Removed));
    Ok(all)
}

/// Changes weights: of one key, which is made if it is missing and the change sets something, or of all.
fn edit_weights(
    entries: &mut Vec<(Value, i32)>,
    remove_if_zero: bool,
    step: &Step,
    rest: &[Step],
    change: &PathChange,
) -> Result<Fate, Rejection> {
    match step {
        Step::Key(key) => {
            let place = entries.iter().position(|(known, _)| known == key);
            if place.is_none() && *change == PathChange::Remove {
                return Ok(Fate::Unchanged);
            }
            let mut weight = Value::Int(place.map_or(0, |place| entries[place].1));
            match edit(&mut weight, &DataType::Int, rest, change)? {
                Fate::Unchanged => return Ok(Fate::Unchanged),
                Fate::Removed => entries.retain(|(known, _)| known != key),
                Fate::Changed => set_weight(entries, key, weight, remove_if_zero),
            }
            check_count(entries.len())?;
            Ok(Fate::Changed)
        }
        Step::EachKey(_) | Step::Values => edit_each_weight(entries, remove_if_zero, rest, change),
        _ => Ok(Fate::Unchanged),
    }
}

fn edit_each_weight(
    entries: &mut Vec<(Value, i32)>,
    remove_if_zero: bool,
    rest: &[Step],
    change: &PathChange,
) -> Result<Fate, Rejection> {
    let mut all = Fate::Unchanged;
    let mut kept = Vec::with_capacity(entries.len());
    for (key, weight) in entries.drain(..) {
        let mut value = Value::Int(weight);
        let fate = edit(&mut value, &DataType::Int, rest, change)?;
        let weight = match value {
            Value::Int(changed) => changed,
            _ => weight,
        };
        if fate != Fate::Unchanged {
            all = Fate::Changed;
        }
        let is_zero = fate == Fate::Changed && weight == 0 && remove_if_zero;
        if fate != Fate::Removed && !is_zero {
            kept.push((key, weight));
        }
    }
    *entries = kept;
    Ok(all)
}

/// The change itself, at the end of the path.
fn apply(value: &mut Value, change: &PathChange) -> Result<Fate, Rejection> {
    match (change, value) {
        (PathChange::Remove, _) => return Ok(Fate::Removed),
        (PathChange::Assign(assigned), value) => *value = assigned.clone(),
        (PathChange::Calculate(calculation, operand), value) => {
            *value = calculate(value.clone(), *calculation, *operand);
        }
        (PathChange::Add(more), Value::Array(elements)) => {
            check_count(elements.len() + more.len())?;
            elements.extend(more.iter().cloned());
        }
        (PathChange::Add(_), _) => return Ok(Fate::Unchanged),
    }
    Ok(Fate::Changed)
}
