//! Values of declared query features and of constants.
use std::sync::Arc;

use brooklet_document::parse_literal;
use brooklet_task::{Code, Rejection};

use super::outcome::Resolved;
use crate::place::{SourcePlace, SourceText};
use crate::rank_profile::{Constant, Input, InputType, InputValue};
use crate::sd::tree::{ConstantTree, InputTree, ValueType};

/// A declared query feature.
pub(super) fn input(tree: &InputTree) -> Resolved<Input> {
    let input_type = match &tree.value_type {
        ValueType::Number => InputType::Number,
        ValueType::Text => InputType::Text,
        ValueType::Tensor(tensor) => InputType::Tensor(Arc::new(tensor.clone())),
    };
    let default = match &tree.default {
        Some(source) => Some(value(source, &tree.value_type, &tree.name.place)?),
        None => None,
    };
    Ok(Input { name: tree.name.text.clone(), input_type, default })
}

/// A constant.
pub(super) fn constant(tree: &ConstantTree) -> Resolved<Constant> {
    if let Some(tensor) = &tree.tensor {
        return Ok(Constant { name: tree.name.text.clone(), value: InputValue::Tensor(tensor.clone()) });
    }
    Ok(Constant { name: tree.name.text.clone(), value: value(&tree.value, &tree.value_type, &tree.name.place)? })
}

fn value(source: &SourceText, value_type: &ValueType, name: &SourcePlace) -> Resolved<InputValue> {
    let place = source.place.as_ref().unwrap_or(name);
    let text = without_comments(&source.text);
    match value_type {
        ValueType::Text => Ok(InputValue::Text(text.trim_matches(['"', '\'']).to_owned())),
        ValueType::Number => {
            // A whole number may be said to be a long one.
            let whole = text.strip_suffix('L').filter(|text| text.parse::<i64>().is_ok());
            let number = whole.unwrap_or(&text).parse::<f64>().ok();
            let number = number.filter(|_| text.starts_with(|c: char| c.is_ascii_digit() || "-.".contains(c)));
            let refused = || place.reject(format!("'{}' is not a number", Rejection::quote(&text)));
            number.map(InputValue::Number).ok_or_else(refused)
        }
        ValueType::Tensor(tensor) => {
            if !text.starts_with(['[', '{']) {
                return Err(place.reject(format!("A tensor of type {tensor} cannot be a number")));
            }
            let parsed = parse_literal(&text, Some(&Arc::new(tensor.clone())), Code::InvalidApplication);
            parsed
                .map(|tensor| InputValue::Tensor(Arc::new(tensor)))
                .map_err(|rejection| place.reject(rejection.message))
        }
    }
}

/// The text without `# …` at the ends of its lines; quoted texts have no line ends in them.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut quote, mut comment) = (None, false);
    for c in text.chars() {
        match quote {
            Some(end) if c == end || c == '\n' => quote = None,
            None if c == '\n' => comment = false,
            None if !comment && matches!(c, '"' | '\'') => quote = Some(c),
            None if c == '#' => comment = true,
            _ => {}
        }
        if !comment {
            out.push(c);
        }
    }
    out.trim().to_owned()
}
