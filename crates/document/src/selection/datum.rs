//! The values a selection computes with, and what comparing them gives.
use std::borrow::Cow;
use std::cmp::Ordering;

use brooklet_task::{Code, Rejection};

use super::Outcome;
use super::bindings::{Binding, Bindings, PatternWork};
use super::glob::matches_glob;
use super::hash::first_of_md5;
use super::parse::compile;
use super::tree::{Arithmetic, Function, Operator};
use crate::Value;
use crate::encode::encode_value;
use crate::field_path::Step;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Datum<'a> {
    /// No value, and no null either: what a field of another document type is.
    Invalid,
    Null,
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// The bucket of a document: 58 bits.
    Bucket(u64),
    /// A struct, or what only is there or not: tensors and bytes.
    Opaque(&'a Value),
    /// The elements of a collection, or what a path with variables leads to.
    Many(Vec<(Bindings, Datum<'a>)>),
}

impl<'a> Datum<'a> {
    /// A stored value; of maps and weighted sets it is the keys that are compared.
    pub(super) fn from_value(value: &'a Value) -> Datum<'a> {
        let many = |values: Vec<Datum<'a>>| match values.is_empty() {
            true => Datum::Null,
            false => Datum::Many(values.into_iter().map(|value| (Bindings::new(), value)).collect()),
        };
        match value {
            Value::String(text) => Datum::Text(Cow::Borrowed(text)),
            Value::Int(number) => Datum::Int(i64::from(*number)),
            Value::Long(number) => Datum::Int(*number),
            Value::Byte(number) => Datum::Int(i64::from(*number)),
            Value::Bool(flag) => Datum::Int(i64::from(*flag)),
            Value::Float(number) => Datum::Float(f64::from(*number)),
            Value::Double(number) => Datum::Float(*number),
            // Of a struct without members there is nothing to compare.
            Value::Array(elements) => many(elements.iter().map(Datum::from_value).filter(Datum::is_there).collect()),
            Value::WeightedSet(entries) => many(entries.iter().map(|(key, _)| Datum::from_value(key)).collect()),
            Value::Map(entries) => many(entries.iter().map(|(key, _)| Datum::from_value(key)).collect()),
            Value::Struct(members) if members.is_empty() => Datum::Null,
            Value::Struct(_) | Value::Raw(_) | Value::Position { .. } | Value::Tensor(_) => Datum::Opaque(value),
        }
    }

    fn is_there(&self) -> bool {
        !matches!(self, Datum::Null)
    }

    /// What a path leads to: nothing is null, one value is itself, and several come with what their variables stand for.
    pub(super) fn at(value: &'a Value, steps: &[Step]) -> Datum<'a> {
        let mut found = Vec::new();
        walk(value, steps, &Bindings::new(), &mut found);
        let several = steps.iter().any(|step| !matches!(step, Step::Member(_) | Step::Index(_) | Step::Key(_)));
        match (several, found.len()) {
            (_, 0) => Datum::Null,
            (false, _) => found.swap_remove(0).1,
            (true, _) => Datum::Many(found),
        }
    }
}

fn walk<'a>(value: &'a Value, steps: &[Step], bindings: &Bindings, found: &mut Vec<(Bindings, Datum<'a>)>) {
    let Some((step, rest)) = steps.split_first() else {
        found.extend(Some(Datum::from_value(value)).filter(Datum::is_there).map(|value| (bindings.clone(), value)));
        return;
    };
    let bind = |name: &str, binding: Binding| {
        if bindings.get(name).is_some_and(|bound| *bound != binding) {
            return None;
        }
        let mut with = bindings.clone();
        with.insert(name.to_owned(), binding);
        Some(with)
    };
    match (value, step) {
        (Value::Struct(members), Step::Member(name)) => {
            if let Some((_, member)) = members.iter().find(|(member, _)| member == name) {
                walk(member, rest, bindings, found);
            }
        }
        (Value::Position { x, y }, Step::Member(name)) => {
            found.push((bindings.clone(), Datum::Int(i64::from(if name == "x" { *x } else { *y }))));
        }
        (Value::Array(elements), Step::Index(index)) => {
            elements.get(*index).into_iter().for_each(|element| walk(element, rest, bindings, found));
        }
        (Value::Array(elements), Step::EachIndex(name)) => {
            for (index, element) in elements.iter().enumerate() {
                if let Some(with) = bind(name, Binding::Index(index)) {
                    walk(element, rest, &with, found);
                }
            }
        }
        (Value::Array(elements), Step::Elements) => {
            elements.iter().for_each(|element| walk(element, rest, bindings, found));
        }
        (Value::Map(entries), Step::Key(key)) => {
            entries.iter().filter(|(found, _)| found == key).for_each(|(_, value)| walk(value, rest, bindings, found));
        }
        (Value::Map(entries), Step::EachKey(name)) => {
            for (key, value) in entries {
                if let Some(with) = bind(name, Binding::Key(key_bytes(key))) {
                    walk(value, rest, &with, found);
                }
            }
        }
        (Value::Map(entries), Step::Keys) => entries.iter().for_each(|(key, _)| walk(key, rest, bindings, found)),
        (Value::Map(entries), Step::Values) => {
            entries.iter().for_each(|(_, value)| walk(value, rest, bindings, found));
        }
        (Value::WeightedSet(entries), step) => weights(entries, step, &bind, bindings, found),
        _ => {}
    }
}

/// Weights and keys of a weighted set, which have no parts.
fn weights<'a>(
    entries: &'a [(Value, i32)],
    step: &Step,
    bind: &dyn Fn(&str, Binding) -> Option<Bindings>,
    bindings: &Bindings,
    found: &mut Vec<(Bindings, Datum<'a>)>,
) {
    for (key, weight) in entries {
        let weight = Datum::Int(i64::from(*weight));
        match step {
            Step::Key(wanted) if wanted == key => found.push((bindings.clone(), weight)),
            Step::EachKey(name) => {
                found.extend(bind(name, Binding::Key(key_bytes(key))).map(|with| (with, weight)));
            }
            Step::Keys => found.push((bindings.clone(), Datum::from_value(key))),
            Step::Values => found.push((bindings.clone(), weight)),
            _ => {}
        }
    }
}

fn key_bytes(key: &Value) -> Vec<u8> {
    let mut writer = brooklet_task::bytes::Writer::new();
    encode_value(key, &mut writer);
    writer.finish()
}

/// What comparing two single values gives.
pub(super) fn compare(operator: Operator, left: &Datum, right: &Datum, work: &PatternWork) -> Outcome {
    let of = |holds: bool| if holds { Outcome::True } else { Outcome::False };
    match (operator, left, right) {
        (_, Datum::Invalid, _) | (_, _, Datum::Invalid) => Outcome::Invalid,
        (Operator::NotEqual, ..) => match compare(Operator::Equal, left, right, work) {
            Outcome::True => Outcome::False,
            Outcome::False => Outcome::True,
            Outcome::Invalid => Outcome::Invalid,
        },
        (Operator::Glob, Datum::Text(text), Datum::Text(pattern)) => of(matches_glob(pattern, text)),
        (Operator::Regex, Datum::Text(text), Datum::Text(pattern)) => match compile(pattern) {
            Ok(pattern) => of(work.is_in(&pattern, text)),
            Err(_) => Outcome::Invalid,
        },
        (Operator::Regex, Datum::Null, _) | (Operator::Regex, _, Datum::Null) => Outcome::Invalid,
        (Operator::Glob | Operator::Regex, _, Datum::Text(_)) => Outcome::Invalid,
        (Operator::Equal | Operator::Glob | Operator::Regex, ..) => equal(left, right),
        (_, Datum::Bucket(_), _) | (_, _, Datum::Bucket(_)) => Outcome::Invalid,
        _ => match ordering(left, right) {
            None => Outcome::Invalid,
            Some(ordering) => of(match operator {
                Operator::Less => ordering == Some(Ordering::Less),
                Operator::LessOrEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
                Operator::Greater => ordering == Some(Ordering::Greater),
                _ => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
            }),
        },
    }
}

fn equal(left: &Datum, right: &Datum) -> Outcome {
    let of = |holds: bool| if holds { Outcome::True } else { Outcome::False };
    match (left, right) {
        (Datum::Null, Datum::Null) => Outcome::True,
        (Datum::Null, _) | (_, Datum::Null) => Outcome::False,
        (Datum::Opaque(Value::Struct(left)), Datum::Opaque(Value::Struct(right))) => of(left == right),
        (Datum::Opaque(left @ Value::Position { .. }), Datum::Opaque(right)) => of(*left == *right),
        (Datum::Bucket(bucket), Datum::Int(id)) | (Datum::Int(id), Datum::Bucket(bucket)) => {
            of(super::hash::bucket_contains(*id as u64, *bucket))
        }
        _ => match ordering(left, right) {
            None => Outcome::Invalid,
            Some(ordering) => of(ordering == Some(Ordering::Equal)),
        },
    }
}

/// How two values are ordered; nothing if they are of different kinds, and no order between a number and NaN.
#[expect(clippy::option_option, reason = "values without an order are not values of different kinds")]
fn ordering(left: &Datum, right: &Datum) -> Option<Option<Ordering>> {
    Some(match (left, right) {
        (Datum::Int(left), Datum::Int(right)) => Some(left.cmp(right)),
        (Datum::Int(left), Datum::Float(right)) => (*left as f64).partial_cmp(right),
        (Datum::Float(left), Datum::Int(right)) => left.partial_cmp(&(*right as f64)),
        (Datum::Float(left), Datum::Float(right)) => left.partial_cmp(right),
        (Datum::Text(left), Datum::Text(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        _ => return None,
    })
}

/// `left operator right`: whole numbers stay whole, texts are joined, everything else is invalid.
pub(super) fn calculate<'a>(operator: Arithmetic, left: Datum<'a>, right: Datum<'a>) -> Result<Datum<'a>, Rejection> {
    let zero = || Rejection::new(Code::InvalidDocument, "A selection divides by zero");
    let (left, right) = match (operator, left, right) {
        (Arithmetic::Add, Datum::Text(left), Datum::Text(right)) => {
            if left.len() + right.len() > brooklet_task::limits::JSON_STRING {
                return Ok(Datum::Invalid);
            }
            return Ok(Datum::Text(Cow::Owned(left.into_owned() + &right)));
        }
        (_, Datum::Int(left), Datum::Int(right)) => {
            return Ok(Datum::Int(match operator {
                Arithmetic::Add => left.wrapping_add(right),
                Arithmetic::Subtract => left.wrapping_sub(right),
                Arithmetic::Multiply => left.wrapping_mul(right),
                Arithmetic::Divide | Arithmetic::Remainder if right == 0 => return Err(zero()),
                Arithmetic::Divide => left.wrapping_div(right),
                Arithmetic::Remainder => left.wrapping_rem(right),
            }));
        }
        (_, Datum::Int(left), Datum::Float(right)) => (left as f64, right),
        (_, Datum::Float(left), Datum::Int(right)) => (left, right as f64),
        (_, Datum::Float(left), Datum::Float(right)) => (left, right),
        _ => return Ok(Datum::Invalid),
    };
    Ok(Datum::Float(match operator {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide if right == 0.0 => return Err(zero()),
        Arithmetic::Divide => left / right,
        Arithmetic::Remainder => return Ok(Datum::Invalid),
    }))
}

/// The value of a function.
pub(super) fn call<'a>(function: Function, argument: Datum<'a>) -> Datum<'a> {
    match (function, argument) {
        (Function::Lowercase, Datum::Text(text)) => Datum::Text(Cow::Owned(text.chars().map(lowercase).collect())),
        (Function::Uppercase, Datum::Text(text)) => Datum::Text(Cow::Owned(text.chars().map(uppercase).collect())),
        (Function::Hash, Datum::Text(text)) => Datum::Int(first_of_md5(text.as_bytes())),
        (Function::Hash, Datum::Int(number)) => Datum::Int(first_of_md5(&number.to_le_bytes())),
        (Function::Hash, Datum::Float(number)) => Datum::Int(first_of_md5(&number.to_bits().to_le_bytes())),
        (Function::Abs, Datum::Int(number)) => Datum::Int(number.wrapping_abs()),
        (Function::Abs, Datum::Float(number)) => Datum::Float(number.abs()),
        _ => Datum::Invalid,
    }
}

/// The simple lower case: one character for one.
fn lowercase(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// The simple upper case: a character whose upper case is several stays as it is.
fn uppercase(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}
