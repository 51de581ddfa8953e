//! Changes of large collections, against what compares each entry with each.
use std::sync::Arc;

use proptest::prelude::*;

use super::among::{Among, merge_weights};
use super::{FieldChange, FieldUpdate, Update, tensor};
use crate::{DataType, Document, Tensor, TensorType, Value};

/// Few of each kind, so that some are equal; floats that are zero or no number among them.
fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[ab]{0,2}".prop_map(Value::String),
        (-2..3i32).prop_map(Value::Int),
        (-2..3i64).prop_map(Value::Long),
        (-2..3i8).prop_map(Value::Byte),
        any::<bool>().prop_map(Value::Bool),
        prop_oneof![Just(0.0), Just(-0.0), Just(f64::NAN), Just(1.5)].prop_map(Value::Double),
        prop::collection::vec((-1..2i32).prop_map(Value::Int), 0..3).prop_map(Value::Array),
    ]
}

/// Each key once, as collections have them.
fn weighted() -> impl Strategy<Value = Vec<(Value, i32)>> {
    prop::collection::vec((values(), -3..4i32), 0..12).prop_map(|entries| {
        let mut once: Vec<(Value, i32)> = Vec::new();
        for (key, weight) in entries {
            if once.iter().all(|(known, _)| *known != key) {
                once.push((key, weight));
            }
        }
        once
    })
}

proptest! {
    #[test]
    fn values_are_found_among_others(some in prop::collection::vec(values(), 0..12), value in values()) {
        prop_assert_eq!(Among::new(&some).has(&value), some.contains(&value));
    }

    #[test]
    fn weights_are_merged_as_one_by_one(entries in weighted(), more in weighted()) {
        let mut expected = entries.clone();
        for (key, weight) in &more {
            match expected.iter_mut().find(|(known, _)| known == key) {
                Some((_, found)) => *found = *weight,
                None => expected.push((key.clone(), *weight)),
            }
        }
        let mut merged = entries;
        merge_weights(&mut merged, &more);
        // As texts, since what is no number is not equal to itself.
        prop_assert_eq!(format!("{merged:?}"), format!("{expected:?}"));
    }

    #[test]
    fn subspaces_are_removed_as_one_by_one(
        labels in prop::collection::btree_set(("[abc]", "[xy]"), 0..6),
        addresses in prop::collection::vec((prop::option::of("[abc]"), prop::option::of("[xy]")), 0..5),
    ) {
        let tensor_type = Arc::new(TensorType::parse("tensor(k{},l{})").unwrap());
        let all: Vec<Vec<String>> = labels.into_iter().map(|(k, l)| vec![k, l]).collect();
        let cells = (0..all.len()).map(|number| number as f64).collect();
        let tensor = Tensor { tensor_type, addresses: all, cells };
        let addresses: Vec<Vec<Option<String>>> = addresses.into_iter().map(|(k, l)| vec![k, l]).collect();
        let matches = |labels: &Vec<String>| {
            addresses.iter().any(|address| {
                labels.iter().zip(address).all(|(label, wanted)| wanted.as_ref().is_none_or(|wanted| wanted == label))
            })
        };
        let expected: Vec<_> = tensor.addresses.iter().filter(|labels| !matches(labels)).cloned().collect();
        prop_assert_eq!(tensor::without(&tensor, &addresses).addresses, expected);
    }
}

/// Would take hours if each entry was compared with each.
#[test]
fn the_largest_collections_are_changed() {
    let keys = |from: usize| (from..from + 50_000).map(|number| Value::String(format!("key {number}")));
    let weighted = |from: usize, weight: i32| Value::WeightedSet(keys(from).map(|key| (key, weight)).collect());
    let element = Arc::new(DataType::String);
    let data_type = DataType::WeightedSet { element, create_if_nonexistent: false, remove_if_zero: false };
    let mut document = Document { id: "id:n:t::1".to_owned(), fields: vec![("w".to_owned(), weighted(0, 1))] };
    let changes = vec![FieldChange::Add(weighted(25_000, 2)), FieldChange::Remove(keys(10_000).collect())];
    let update = Update { fields: vec![FieldUpdate { field: "w".to_owned(), data_type, changes }], paths: Vec::new() };
    update.apply(&mut document).unwrap();
    let Some((_, Value::WeightedSet(entries))) = document.fields.first() else { panic!("{document:?}") };
    assert_eq!(entries.len(), 25_000);
    assert_eq!(entries[0], (Value::String("key 0".to_owned()), 1));
    assert_eq!(entries[10_000], (Value::String("key 60000".to_owned()), 2));
}
