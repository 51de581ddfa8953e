//! What an update changes, its types checked.
use super::tensor::TensorModify;
use crate::field_path::FieldPath;
use crate::{DataType, Value};

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
    /// The index of an element of an array.
    Index(usize),
    /// The key of a weighted set.
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
    /// `divide`: by zero leaves the number alone (by a path; else it is refused before).
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

    pub(crate) fn apply(self, value: f64, operand: f64) -> Option<f64> {
        Some(match self {
            Calculation::Increment => value + operand,
            Calculation::Decrement => value - operand,
            Calculation::Multiply => value * operand,
            Calculation::Divide if operand == 0.0 => return None,
            Calculation::Divide => value / operand,
        })
    }
}
