//! Random partial updates of one document against a naive twin, a tree of JSON: arithmetic with results beyond the type,
//! lists, weighted sets that make and drop keys, maps, structs, what lies within others by field paths, and tensors.
//! `PROPTEST_CASES` says how many documents are tried.
use std::sync::Arc;

use brooklet_document::json::{FieldTypes, JsonWriter, ReadOptions, Render, TensorFormat, read_update, render_fields};
use brooklet_document::{DataType, Document, DocumentId, StructField, StructType};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value as Json, json};

/// What a value is, as far as changes of it differ.
#[derive(Clone, Debug)]
enum Kind {
    Int,
    Long,
    Byte,
    Float,
    Double,
    Text,
    List(Box<Kind>),
    Map(Box<Kind>),
    /// Whether a key that is missing is made by `match`, and one that comes to zero goes.
    Weights(bool, bool),
    Person,
    Cells,
    Blocks,
}

const FIELDS: [&str; 17] = [
    "i",
    "l",
    "b",
    "f",
    "d",
    "texts",
    "ints",
    "w",
    "wz",
    "texts_of",
    "ints_of",
    "lists_of",
    "maps_of",
    "person",
    "people",
    "people_of",
    "cells",
];

fn kind_of(field: &str) -> Kind {
    let of = |kind| Box::new(kind);
    match field {
        "i" | "age" => Kind::Int,
        "l" | "size" => Kind::Long,
        "b" => Kind::Byte,
        "f" => Kind::Float,
        "d" => Kind::Double,
        "texts" => Kind::List(of(Kind::Text)),
        "ints" => Kind::List(of(Kind::Int)),
        "w" => Kind::Weights(false, false),
        "wz" => Kind::Weights(true, true),
        "texts_of" => Kind::Map(of(Kind::Text)),
        "ints_of" => Kind::Map(of(Kind::Int)),
        "lists_of" => Kind::Map(of(Kind::List(of(Kind::Text)))),
        "maps_of" => Kind::Map(of(Kind::Map(of(Kind::Long)))),
        "person" => Kind::Person,
        "people" => Kind::List(of(Kind::Person)),
        "people_of" => Kind::Map(of(Kind::Person)),
        "cells" => Kind::Cells,
        "blocks" => Kind::Blocks,
        _ => Kind::Text,
    }
}

/// The same type as the crate has it.
fn type_of(kind: &Kind) -> DataType {
    match kind {
        Kind::Int => DataType::Int,
        Kind::Long => DataType::Long,
        Kind::Byte => DataType::Byte,
        Kind::Float => DataType::Float,
        Kind::Double => DataType::Double,
        Kind::Text => DataType::String,
        Kind::List(of) => DataType::Array(Arc::new(type_of(of))),
        Kind::Map(of) => DataType::Map(Arc::new(DataType::String), Arc::new(type_of(of))),
        Kind::Weights(makes, drops) => DataType::WeightedSet {
            element: Arc::new(DataType::String),
            create_if_nonexistent: *makes,
            remove_if_zero: *drops,
        },
        Kind::Person => {
            let field = |name: &str| StructField { name: name.to_owned(), data_type: type_of(&kind_of(name)) };
            let fields = ["name", "age", "size", "texts"].map(field).to_vec();
            DataType::Struct(Arc::new(StructType { name: "person".to_owned(), fields }))
        }
        Kind::Cells => DataType::Tensor(Arc::new("tensor(k{})".parse().unwrap())),
        Kind::Blocks => DataType::Tensor(Arc::new("tensor(k{},x[2])".parse().unwrap())),
    }
}

struct Types(Vec<(&'static str, DataType)>);

impl FieldTypes for Types {
    fn data_type(&self, field: &str) -> Option<&DataType> {
        self.0.iter().find(|(name, _)| *name == field).map(|(_, data_type)| data_type)
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Member(&'static str),
    Key(&'static str),
    Index(usize),
}

#[derive(Clone, Debug)]
enum Action {
    Assign(Json),
    Add(Json),
    Remove(Json),
    Calculate(&'static str, f64),
    /// One element, by its index or key.
    Match(Json, Box<Action>),
    /// Of a tensor: the operation, whether cells are made, the label, the place within a block, the value.
    Modify(&'static str, bool, &'static str, usize, f64),
    RemoveLabel(&'static str),
}

/// A change: its field, the way from there, what is done.
type Change = (&'static str, Vec<Step>, Action);

const KEYS: [&str; 5] = ["a", "b", "c d", "e}f", "q\"r"];
const TEXTS: [&str; 4] = ["x", "y", "å", ""];
const WHOLE: [i64; 6] = [0, 1, -7, 2_147_483_647, -2_147_483_648, 100];
const CALCULATIONS: [&str; 4] = ["increment", "decrement", "multiply", "divide"];

fn calculation() -> impl Strategy<Value = Action> {
    let operands = [1.0, -1.0, 0.5, 2.0, -2.75, 127.0, 1e10, 1e300];
    (select(&CALCULATIONS[..]), select(operands.to_vec())).prop_map(|(name, by)| Action::Calculate(name, by))
}

fn key() -> impl Strategy<Value = &'static str> {
    select(&KEYS[..])
}

fn text() -> impl Strategy<Value = Json> {
    select(&TEXTS[..]).prop_map(Json::from)
}

fn whole() -> impl Strategy<Value = Json> {
    select(&WHOLE[..]).prop_map(Json::from)
}

fn weights() -> impl Strategy<Value = Json> {
    prop::collection::btree_map(key(), select(vec![1, -3, 9]), 1..3).prop_map(|of| json!(of))
}

/// Changes of whole fields.
fn of_field() -> impl Strategy<Value = Change> {
    let plain = |field, action| (field, Vec::new(), action);
    let element = (0..4usize, calculation()).prop_map(|(index, action)| Action::Match(json!(index), Box::new(action)));
    let text_element =
        (0..4usize, text()).prop_map(|(index, text)| Action::Match(json!(index), Box::new(Action::Assign(text))));
    let weight = (key(), calculation()).prop_map(|(key, action)| Action::Match(json!(key), Box::new(action)));
    let labels = select(&["a", "b", "c"][..]);
    let modify = (select(&["replace", "add", "multiply"][..]), any::<bool>(), labels.clone(), 0..2usize, -4..5i32);
    let modify = modify.prop_map(|(operation, create, label, place, value)| {
        Action::Modify(operation, create, label, place, f64::from(value) / 2.0)
    });
    let tensors = select(&["cells", "blocks"][..]);
    prop_oneof![
        3 => (select(&FIELDS[..5]), calculation()).prop_map(move |(field, action)| plain(field, action)),
        1 => prop::collection::vec(text(), 1..3).prop_map(move |of| plain("texts", Action::Add(json!(of)))),
        1 => prop::collection::vec(whole(), 1..3).prop_map(move |of| plain("ints", Action::Add(json!(of)))),
        1 => prop::collection::vec(text(), 1..3).prop_map(move |of| plain("texts", Action::Remove(json!(of)))),
        1 => prop::collection::vec(whole(), 1..3).prop_map(move |of| plain("ints", Action::Remove(json!(of)))),
        2 => (select(&["w", "wz"][..]), weights()).prop_map(move |(field, of)| plain(field, Action::Add(of))),
        1 => (select(&["w", "wz"][..]), weights()).prop_map(move |(field, of)| plain(field, Action::Remove(of))),
        2 => (select(&["w", "wz"][..]), weight).prop_map(move |(field, action)| plain(field, action)),
        1 => element.prop_map(move |action| plain("ints", action)),
        1 => text_element.prop_map(move |action| plain("texts", action)),
        1 => text().prop_map(move |name| plain("people", Action::Add(json!([{ "name": name }])))),
        1 => select(&FIELDS[..]).prop_map(move |field| plain(field, Action::Assign(Json::Null))),
        1 => (tensors.clone(), labels.clone()).prop_map(move |(field, label)| plain(field, Action::RemoveLabel(label))),
        1 => (labels.clone(), -4..5i32).prop_map(move |(label, value)| {
            plain("cells", Action::Add(json!({ "cells": { label: f64::from(value) } })))
        }),
        1 => (labels, -4..5i32).prop_map(move |(label, value)| {
            plain("blocks", Action::Add(json!({ "blocks": { label: [f64::from(value), 7.0] } })))
        }),
        3 => (tensors, modify).prop_map(move |(field, action)| plain(field, action)),
    ]
}

/// Changes of what paths lead to.
fn of_path() -> impl Strategy<Value = Change> {
    let numbers = prop_oneof![
        key().prop_map(|key| ("ints_of", vec![Step::Key(key)])),
        (key(), key()).prop_map(|(key, inner)| ("maps_of", vec![Step::Key(key), Step::Key(inner)])),
        (select(&["w", "wz"][..]), key()).prop_map(|(field, key)| (field, vec![Step::Key(key)])),
        (0..3usize).prop_map(|index| ("ints", vec![Step::Index(index)])),
        select(&["age", "size"][..]).prop_map(|name| ("person", vec![Step::Member(name)])),
        (0..3usize).prop_map(|index| ("people", vec![Step::Index(index), Step::Member("age")])),
        key().prop_map(|key| ("people_of", vec![Step::Key(key), Step::Member("size")])),
    ];
    let texts = prop_oneof![
        key().prop_map(|key| ("texts_of", vec![Step::Key(key)])),
        (0..3usize).prop_map(|index| ("texts", vec![Step::Index(index)])),
        (key(), 0..3usize).prop_map(|(key, index)| ("lists_of", vec![Step::Key(key), Step::Index(index)])),
        Just(("person", vec![Step::Member("name")])),
        (0..3usize).prop_map(|index| ("people", vec![Step::Index(index), Step::Member("name")])),
        key().prop_map(|key| ("people_of", vec![Step::Key(key), Step::Member("name")])),
    ];
    let lists = prop_oneof![
        key().prop_map(|key| ("lists_of", vec![Step::Key(key)])),
        Just(("person", vec![Step::Member("texts")])),
        key().prop_map(|key| ("people_of", vec![Step::Key(key), Step::Member("texts")])),
    ];
    let texts = || texts.clone();
    let added = prop::collection::vec(text(), 1..3).prop_map(|of| Action::Add(json!(of)));
    let ways = prop_oneof![numbers.clone(), texts(), lists.clone()];
    let entries = select(&["maps_of", "people_of"][..]);
    let entries = (entries, key()).prop_map(|(field, key)| (field, vec![Step::Key(key)]));
    prop_oneof![
        3 => (numbers, calculation()),
        2 => (texts(), text().prop_map(Action::Assign)),
        1 => (lists, added),
        2 => (prop_oneof![ways, entries], Just(Action::Remove(json!(0)))),
    ]
    .prop_map(|((field, way), action)| (field, way, action))
}

/// The change as an update has it.
fn written((field, way, action): &Change) -> (String, String, Json) {
    let mut path = (*field).to_owned();
    for step in way {
        match step {
            Step::Member(name) => path.push_str(&format!(".{name}")),
            Step::Key(key) => path.push_str(&format!("{{\"{}\"}}", key.replace('"', "\\\""))),
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    let (name, operand) = operation(action, field);
    (path, name, operand)
}

fn operation(action: &Action, field: &str) -> (String, Json) {
    match action {
        Action::Assign(value) => ("assign".to_owned(), value.clone()),
        Action::Add(value) => ("add".to_owned(), value.clone()),
        Action::Remove(value) => ("remove".to_owned(), value.clone()),
        Action::Calculate(name, by) => ((*name).to_owned(), json!(by)),
        Action::Match(element, action) => {
            let (name, operand) = operation(action, field);
            ("match".to_owned(), json!({ "element": element, name: operand }))
        }
        Action::RemoveLabel(label) => ("remove".to_owned(), json!({ "addresses": [{ "k": label }] })),
        Action::Modify(operation, create, label, place, value) => {
            let address = match field {
                "blocks" => json!({ "k": label, "x": place.to_string() }),
                _ => json!({ "k": label }),
            };
            let cells = json!([{ "address": address, "value": value }]);
            ("modify".to_owned(), json!({ "operation": operation, "create": create, "cells": cells }))
        }
    }
}

/// Computed as a float of 64 bits; whole numbers are cut, and then hold as many bits as they have.
fn calculated(kind: &Kind, held: &Json, name: &str, by: f64) -> Json {
    let value = held.as_i64().map_or_else(|| number(held), |whole| whole as f64);
    let result = match name {
        "increment" => value + by,
        "decrement" => value - by,
        "multiply" => value * by,
        _ => value / by,
    };
    match kind {
        Kind::Int => json!(result as i64 as i32),
        Kind::Long => json!(result as i64),
        Kind::Byte => json!(result as i64 as i8),
        Kind::Float => float(f64::from(result as f32)),
        _ => float(result),
    }
}

/// A number of a document in JSON, where what no number is is a text.
fn number(json: &Json) -> f64 {
    json.as_f64().or_else(|| json.as_str()?.parse().ok()).unwrap()
}

fn float(value: f64) -> Json {
    match value {
        _ if value.is_nan() => json!("NaN"),
        _ if value.is_infinite() => json!(if value > 0.0 { "Infinity" } else { "-Infinity" }),
        _ => json!(value),
    }
}

/// What becomes of a value of that kind, which may not be there.
fn changed(kind: &Kind, held: Option<Json>, way: &[Step], action: &Action) -> Option<Json> {
    let Some((step, rest)) = way.split_first() else { return done(kind, held, action) };
    if let (Step::Index(index), Kind::List(of)) = (step, kind) {
        let mut list = held?;
        let elements = list.as_array_mut().unwrap();
        if let Some(element) = elements.get(*index).cloned() {
            match changed(of, Some(element), rest, action) {
                Some(element) => elements[*index] = element,
                None => drop(elements.remove(*index)),
            }
        }
        return Some(list);
    }
    let (name, of) = match (step, kind) {
        (Step::Member(name), Kind::Person) => (*name, kind_of(name)),
        (Step::Key(key), Kind::Map(of)) => (*key, (**of).clone()),
        (Step::Key(key), Kind::Weights(..)) => (*key, Kind::Int),
        _ => unreachable!("{step:?} of {kind:?}"),
    };
    let mut members = held.clone().map_or_else(Map::new, |held| held.as_object().unwrap().clone());
    let before = members.get(name).cloned();
    match changed(&of, before.clone(), rest, action) {
        Some(zero) if matches!(kind, Kind::Weights(_, true)) && zero == json!(0) => drop(members.remove(name)),
        Some(after) => drop(members.insert(name.to_owned(), after)),
        // Nothing is made on the way to what is not there.
        None if before.is_none() => return held,
        None => drop(members.remove(name)),
    }
    Some(members.into())
}

/// What becomes of the value that is changed itself.
fn done(kind: &Kind, held: Option<Json>, action: &Action) -> Option<Json> {
    match (action, kind) {
        (Action::Assign(Json::Null), _) => None,
        (Action::Assign(value), _) => Some(value.clone()),
        (Action::Calculate(name, by), _) => Some(calculated(kind, &held.unwrap_or(json!(0)), name, *by)),
        (Action::Add(more), Kind::List(_)) => {
            let mut all = held.unwrap_or(json!([]));
            all.as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
            Some(all)
        }
        (Action::Add(more), Kind::Cells | Kind::Blocks) => {
            let more = more.as_object().unwrap().values().next().unwrap();
            Some(merged(held, more))
        }
        (Action::Add(more), _) => Some(merged(held, more)),
        (Action::Remove(gone), Kind::List(_)) if gone.is_array() => held.map(|held| {
            let gone = gone.as_array().unwrap();
            held.as_array().unwrap().iter().filter(|element| !gone.contains(element)).cloned().collect()
        }),
        (Action::Remove(gone), Kind::Weights(..)) => held.map(|mut held| {
            held.as_object_mut().unwrap().retain(|key, _| gone.get(key).is_none());
            held
        }),
        (Action::Remove(_), _) => None,
        (Action::RemoveLabel(label), _) => held.map(|mut held| {
            held.as_object_mut().unwrap().remove(*label);
            held
        }),
        (Action::Match(element, action), Kind::Weights(makes, _)) => {
            let key = KEYS.into_iter().find(|key| *element == *key).unwrap();
            let is_there = held.as_ref().is_some_and(|held| held.get(key).is_some());
            if is_there || *makes { changed(kind, held, &[Step::Key(key)], action) } else { held }
        }
        (Action::Match(index, action), _) => {
            changed(kind, held, &[Step::Index(index.as_u64().unwrap() as usize)], action)
        }
        (Action::Modify(operation, create, label, place, value), _) => {
            modified(kind, held, (operation, *create), (label, *place), *value)
        }
    }
}

fn merged(held: Option<Json>, more: &Json) -> Json {
    let mut all = held.unwrap_or(json!({}));
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

fn modified(
    kind: &Kind,
    held: Option<Json>,
    (operation, create): (&str, bool),
    (label, place): (&str, usize),
    value: f64,
) -> Option<Json> {
    let is_there = held.as_ref().is_some_and(|held| held.get(label).is_some());
    if !is_there && !create {
        return held;
    }
    let mut all = held.unwrap_or(json!({}));
    let neutral = if operation == "multiply" { 1.0 } else { 0.0 };
    let made = if matches!(kind, Kind::Blocks) { json!([neutral, neutral]) } else { json!(neutral) };
    let block = all.as_object_mut().unwrap().entry(label).or_insert(made);
    let cell = if matches!(kind, Kind::Blocks) { &mut block[place] } else { block };
    let before = number(cell);
    *cell = json!(match operation {
        "replace" => value,
        "add" => before + value,
        _ => before * value,
    });
    Some(all)
}

/// The twin's document after all changes of an update: those of whole fields come first.
fn update_twin(twin: &mut Map<String, Json>, changes: &[Change]) {
    let (whole, parts): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|(_, way, _)| way.is_empty());
    for (field, way, action) in whole.into_iter().chain(parts) {
        let kind = kind_of(field);
        let is_empty = |value: &Json| match kind {
            Kind::Person | Kind::Cells | Kind::Blocks => false,
            _ => value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty),
        };
        let held = twin.remove(*field);
        let after = changed(&kind, held, way, action).filter(|value| !is_empty(value));
        after.map(|value| twin.insert((*field).to_owned(), value));
    }
}

/// The fields of a document in JSON; of a tensor its cells alone, and the texts of structs also where they are empty.
fn shown(document: &Document) -> Json {
    let mut json = JsonWriter::new();
    render_fields(&document.fields, &Render::document(TensorFormat::ShortValue), &mut json);
    let mut fields: Json = serde_json::from_str(&json.finish()).expect("rendered fields are JSON");
    // The shortest digits of a float of 32 bits are those of another one of 64.
    if let Some(value) = fields.get_mut("f") {
        *value = float(f64::from(number(value) as f32));
    }
    plain(&fields)
}

/// A value whose numbers are written in one way.
fn plain(value: &Json) -> Json {
    match value {
        Json::Number(number) => number.as_i64().map_or_else(|| json!(number.as_f64()), Json::from),
        Json::Array(elements) => elements.iter().map(plain).collect(),
        Json::Object(members) => members.iter().map(|(name, value)| (name.clone(), plain(value))).collect(),
        other => other.clone(),
    }
}

/// What is not shown of a document: empty texts of structs.
fn visible(value: &Json, kind: &Kind) -> Json {
    match (value, kind) {
        (Json::Object(members), Kind::Person) => {
            let hidden = |value: &Json| *value == json!("") || *value == json!([]);
            members
                .iter()
                .filter(|(_, value)| !hidden(value))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        }
        (Json::Object(members), Kind::Map(of)) => {
            members.iter().map(|(name, value)| (name.clone(), visible(value, of))).collect()
        }
        (Json::Array(elements), Kind::List(of)) => elements.iter().map(|value| visible(value, of)).collect(),
        _ => value.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn partial_updates_are_those_of_a_naive_twin(
        updates in prop::collection::vec(prop::collection::vec(prop_oneof![of_field(), of_path()], 1..5), 1..12),
    ) {
        let fields = FIELDS.into_iter().chain(["blocks"]);
        let types = Types(fields.map(|field| (field, type_of(&kind_of(field)))).collect());
        let id = DocumentId::parse("id:n:t::1").unwrap();
        let mut document = Document { id: id.as_str().to_owned(), fields: Vec::new() };
        let mut twin = Map::new();
        for changes in &updates {
            // No member stands twice in an object, so each operation of a field is there once.
            let (mut said, mut kept) = (Map::new(), Vec::new());
            for change in changes {
                let (path, name, operand) = written(change);
                let operations = said.entry(path).or_insert(json!({})).as_object_mut().unwrap();
                if !operations.contains_key(&name) {
                    operations.insert(name, operand);
                    kept.push(change.clone());
                }
            }
            // What is done to one field is in the order that JSON has it.
            kept.sort_by_key(|change| {
                let (path, name, _) = written(change);
                let place = |map: &Map<String, Json>, key: &str| map.keys().position(|known| known == key);
                (place(&said, &path), said[&path].as_object().and_then(|of| place(of, &name)))
            });
            let body = json!({ "fields": said }).to_string();
            let read = read_update(&types, &id, body.as_bytes(), ReadOptions::default()).unwrap_or_else(|why| panic!("{why}: {body}"));
            read.update.apply(&mut document).unwrap();
            update_twin(&mut twin, &kept);
            let expected: Map<String, Json> =
                twin.iter().map(|(field, value)| (field.clone(), visible(value, &kind_of(field)))).collect();
            prop_assert_eq!(shown(&document), plain(&Json::Object(expected)), "{}", body);
        }
    }
}
