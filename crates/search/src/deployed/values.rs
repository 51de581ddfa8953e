//! Values of a rank profile as programs take them.
use std::rc::Rc;

use brooklet_document::Tensor;
use brooklet_rank::Value;
use brooklet_schema::InputValue;

/// A value of the schema as ranking takes it.
pub(crate) fn value_of(value: &InputValue) -> Value {
    match value {
        InputValue::Number(number) => Value::Number(*number),
        InputValue::Text(text) => Value::Number(brooklet_rank::text_hash(text)),
        InputValue::Tensor(tensor) => tensor_value(Tensor::clone(tensor)),
    }
}

/// A tensor as a value; one without dimensions is a number.
pub(crate) fn tensor_value(tensor: Tensor) -> Value {
    match (&tensor.tensor_type.dimensions[..], &tensor.cells[..]) {
        ([], [cell]) => Value::Number(*cell),
        _ => Value::Tensor(Rc::new(tensor)),
    }
}
