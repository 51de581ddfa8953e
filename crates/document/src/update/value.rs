//! Values as changes leave them: what a type has before it is set, arithmetic, weights, how many entries there may be.
use brooklet_task::limits::ELEMENTS;
use brooklet_task::{Code, Rejection};

use super::change::Calculation;
use crate::{DataType, Value};

pub(crate) fn check_count(count: usize) -> Result<(), Rejection> {
    if count <= ELEMENTS {
        return Ok(());
    }
    Err(Rejection::new(Code::InvalidDocument, format!("More entries than the limit of {ELEMENTS}")))
}

/// The value of a type that has none yet.
pub(crate) fn default_of(data_type: &DataType) -> Value {
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
pub(crate) fn calculate(value: Value, calculation: Calculation, operand: f64) -> Value {
    let whole = |number: f64| calculation.apply(number, operand).map(|result| result as i64);
    match value {
        Value::Int(number) => Value::Int(whole(f64::from(number)).map_or(number, |result| result as i32)),
        Value::Long(number) => Value::Long(whole(number as f64).unwrap_or(number)),
        Value::Byte(number) => Value::Byte(whole(f64::from(number)).map_or(number, |result| result as i8)),
        Value::Float(number) => {
            Value::Float(calculation.apply(f64::from(number), operand).map_or(number, |result| result as f32))
        }
        Value::Double(number) => Value::Double(calculation.apply(number, operand).unwrap_or(number)),
        other => other,
    }
}

/// Sets the weight of a key, or removes the key if its weight is zero and it is to go then.
pub(crate) fn set_weight(entries: &mut Vec<(Value, i32)>, key: &Value, weight: Value, remove_if_zero: bool) {
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
