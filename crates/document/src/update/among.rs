//! Which values are among others, without comparing each with each: both may be as many as a collection has entries.
use std::collections::{BTreeMap, BTreeSet};

use crate::Value;

/// A value that can be ordered. Floats are not, as they may be no number, nor is what is made of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scalar<'a> {
    Text(&'a str),
    Int(i32),
    Long(i64),
    Byte(i8),
    Bool(bool),
}

impl Scalar<'_> {
    fn from_value(value: &Value) -> Option<Scalar<'_>> {
        Some(match value {
            Value::String(text) => Scalar::Text(text),
            Value::Int(number) => Scalar::Int(*number),
            Value::Long(number) => Scalar::Long(*number),
            Value::Byte(number) => Scalar::Byte(*number),
            Value::Bool(flag) => Scalar::Bool(*flag),
            _ => return None,
        })
    }
}

/// Some values, to be looked up.
pub(super) struct Among<'a> {
    scalars: BTreeSet<Scalar<'a>>,
    others: Vec<&'a Value>,
}

impl<'a> Among<'a> {
    pub(super) fn new(values: &'a [Value]) -> Among<'a> {
        let mut scalars = BTreeSet::new();
        scalars.extend(values.iter().filter_map(Scalar::from_value));
        Among { scalars, others: values.iter().filter(|value| Scalar::from_value(value).is_none()).collect() }
    }

    pub(super) fn has(&self, value: &Value) -> bool {
        match Scalar::from_value(value) {
            Some(scalar) => self.scalars.contains(&scalar),
            None => self.others.contains(&value),
        }
    }
}

/// Gives keys their new weights; those that are not there come at the end, in their order.
pub(super) fn merge_weights(entries: &mut Vec<(Value, i32)>, more: &[(Value, i32)]) {
    let places = places_of(entries, more);
    for ((key, weight), place) in more.iter().zip(places) {
        match place {
            Some(place) => entries[place].1 = *weight,
            None => entries.push((key.clone(), *weight)),
        }
    }
}

/// For each of the keys its place among the entries.
fn places_of(entries: &[(Value, i32)], keys: &[(Value, i32)]) -> Vec<Option<usize>> {
    let scalars = keys.iter().enumerate().filter_map(|(number, (key, _))| Some((Scalar::from_value(key)?, number)));
    let mut numbers: BTreeMap<Scalar, usize> = BTreeMap::new();
    numbers.extend(scalars);
    let others = keys.iter().map(|(key, _)| match Scalar::from_value(key) {
        Some(_) => None,
        None => entries.iter().position(|(known, _)| known == key),
    });
    let mut places: Vec<Option<usize>> = others.collect();
    for (place, (known, _)) in entries.iter().enumerate() {
        if let Some(number) = Scalar::from_value(known).and_then(|scalar| numbers.get(&scalar)) {
            places[*number] = Some(place);
        }
    }
    places
}
