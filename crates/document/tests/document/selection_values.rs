//! What selections say of values of every kind, against a naive twin that evaluates a tree of its own over a document of
//! its own: numbers, texts, collections of them, maps, structs, variables, arithmetic, globs, regular expressions and null,
//! of the document's type and of another. `PROPTEST_CASES` says how many selections are tried.
use crate::mail;
use std::collections::BTreeMap;

use brooklet_document::json::{Lexer, ReadOptions};
use brooklet_document::selection::{Outcome, Selection, Subject};
use brooklet_document::{DocumentTypes, read_operation};
use brooklet_task::Code;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value as Json, json};

/// A value of a document, as its JSON has it.
type Fields = Map<String, Json>;
type Bindings = BTreeMap<&'static str, String>;

/// What an expression is of a document. A value of another type is none at all, which no value is equal to.
#[derive(Clone, Debug)]
enum Value {
    Invalid,
    Null,
    Whole(i64),
    Float(f64),
    Text(String),
    /// What only is there: a struct.
    Thing,
    /// Each with what the variables stand for.
    Several(Vec<(Bindings, Value)>),
}

#[derive(Clone, Debug)]
enum Expression {
    /// How it is written, and what it is.
    Literal(String, Value),
    Path(&'static str),
    OfNote,
    Lowercase(Box<Expression>),
    Abs(Box<Expression>),
    Arithmetic(&'static str, Box<[Expression; 2]>),
}

#[derive(Clone, Debug)]
enum Logic {
    Compare(&'static str, Expression, Expression),
    Presence(Expression),
    Not(Box<Logic>),
    And(Box<[Logic; 2]>),
    Or(Box<[Logic; 2]>),
}

const NUMBERS: [&str; 11] =
    ["year", "size", "score", "unread", "main.age", "nums[0]", "people[1].age", "weights{a}", "counts{b}", "b", "f"];
const TEXTS: [&str; 6] = ["subject", "body", "main.name", "tags[1]", "people[0].name", "props{a}"];
const MANY_NUMBERS: [&str; 8] =
    ["nums", "nums[$x]", "people.age", "people[$x].age", "weights.value", "weights{$y}", "counts.value", "counts{$y}"];
const MANY_TEXTS: [&str; 9] = [
    "tags",
    "tags[$x]",
    "people.name",
    "people[$x].name",
    "weights",
    "weights.key",
    "props",
    "props.value",
    "props{$y}",
];
const THINGS: [&str; 3] = ["main", "people", "people[0]"];

/// The value that a path leads to, by its words.
fn value_at(fields: &Fields, path: &str) -> Value {
    let end = path.find(['.', '[', '{']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    let Some(value) = fields.get(name) else { return Value::Null };
    let mut found = Vec::new();
    walk(value, rest, &Bindings::new(), name == "weights", &mut found);
    let several =
        rest.contains('$') || [".key", ".value"].contains(&rest) || (name == "people" && rest.starts_with('.'));
    match found.len() {
        0 => Value::Null,
        _ if several => Value::Several(found),
        _ => found.swap_remove(0).1,
    }
}

fn walk(value: &Json, rest: &str, bindings: &Bindings, weighted: bool, found: &mut Vec<(Bindings, Value)>) {
    let subscript = |close: char| rest[1..].split_once(close).expect("a subscript is closed");
    let bound = |name: &str, to: String| {
        let name = if name == "$x" { "$x" } else { "$y" };
        let mut with = bindings.clone();
        with.insert(name, to);
        with
    };
    match (value, rest.chars().next()) {
        (value, None) => match whole(value, weighted) {
            Value::Null => {}
            value => found.push((bindings.clone(), value)),
        },
        (Json::Array(elements), Some('[')) => {
            let (index, rest) = subscript(']');
            for (at, element) in elements.iter().enumerate() {
                if index.starts_with('$') {
                    walk(element, rest, &bound(index, at.to_string()), false, found);
                } else if index == at.to_string() {
                    walk(element, rest, bindings, false, found);
                }
            }
        }
        (Json::Array(elements), Some('.')) => {
            elements.iter().for_each(|element| walk(element, rest, bindings, false, found));
        }
        (Json::Object(entries), Some('{')) => {
            let (key, rest) = subscript('}');
            for (name, value) in entries {
                if key.starts_with('$') {
                    walk(value, rest, &bound(key, name.clone()), false, found);
                } else if key == name {
                    walk(value, rest, bindings, false, found);
                }
            }
        }
        (Json::Object(entries), Some('.')) if rest == ".key" => {
            found.extend(entries.keys().map(|name| (bindings.clone(), Value::Text(name.clone()))));
        }
        (Json::Object(entries), Some('.')) if rest == ".value" => {
            entries.values().for_each(|value| walk(value, "", bindings, false, found));
        }
        (Json::Object(members), Some('.')) => {
            members.get(&rest[1..]).into_iter().for_each(|member| walk(member, "", bindings, false, found));
        }
        _ => {}
    }
}

/// A whole value. Of a map it is the keys that are compared, as of a weighted set; a struct has a name or an age.
fn whole(value: &Json, weighted: bool) -> Value {
    let several = |values: Vec<Value>| match values.is_empty() {
        true => Value::Null,
        false => Value::Several(values.into_iter().map(|value| (Bindings::new(), value)).collect()),
    };
    match value {
        Json::Bool(flag) => Value::Whole(i64::from(*flag)),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Whole(number),
            None => Value::Float(number.as_f64().unwrap()),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(elements) => several(elements.iter().map(|element| whole(element, false)).collect()),
        Json::Object(members) if !weighted && (members.contains_key("name") || members.contains_key("age")) => {
            Value::Thing
        }
        Json::Object(entries) => several(entries.keys().cloned().map(Value::Text).collect()),
        Json::Null => Value::Null,
    }
}

impl Expression {
    fn text(&self) -> String {
        match self {
            Expression::Literal(text, _) => text.clone(),
            Expression::Path(path) => format!("mail.{path}"),
            Expression::OfNote => "note.year".to_owned(),
            Expression::Lowercase(inner) => format!("{}.lowercase()", inner.text()),
            Expression::Abs(inner) => format!("({}).abs()", inner.text()),
            Expression::Arithmetic(operator, sides) => format!("({} {operator} {})", sides[0].text(), sides[1].text()),
        }
    }

    fn value(&self, fields: &Fields) -> Value {
        match self {
            Expression::Literal(_, value) => value.clone(),
            Expression::Path(path) => value_at(fields, path),
            Expression::OfNote => Value::Invalid,
            Expression::Lowercase(inner) => match inner.value(fields) {
                Value::Text(text) => Value::Text(text.to_lowercase()),
                _ => Value::Invalid,
            },
            Expression::Abs(inner) => match inner.value(fields) {
                Value::Whole(number) => Value::Whole(number.wrapping_abs()),
                Value::Float(number) => Value::Float(number.abs()),
                _ => Value::Invalid,
            },
            Expression::Arithmetic(operator, sides) => match (sides[0].value(fields), sides[1].value(fields)) {
                (Value::Whole(a), Value::Whole(b)) => Value::Whole(match *operator {
                    "+" => a.wrapping_add(b),
                    "-" => a.wrapping_sub(b),
                    "*" => a.wrapping_mul(b),
                    // The right sides of these are literals, which are not 0.
                    "/" => a.wrapping_div(b),
                    _ => a.wrapping_rem(b),
                }),
                (a, b) => match (float(&a), float(&b), *operator) {
                    (Some(_), Some(_), "%") | (None, ..) | (_, None, _) => Value::Invalid,
                    (Some(a), Some(b), "+") => Value::Float(a + b),
                    (Some(a), Some(b), "-") => Value::Float(a - b),
                    (Some(a), Some(b), "*") => Value::Float(a * b),
                    (Some(a), Some(b), _) => Value::Float(a / b),
                },
            },
        }
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Whole(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

fn truth(holds: bool) -> Outcome {
    if holds { Outcome::True } else { Outcome::False }
}

fn negated(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::True => Outcome::False,
        Outcome::False => Outcome::True,
        Outcome::Invalid => Outcome::Invalid,
    }
}

/// `*` is anything, `?` a character.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('*', rest)) => (0..=text.len()).any(|at| is_like(&text[at..], rest)),
        Some((c, rest)) => !text.is_empty() && (*c == '?' || *c == text[0]) && is_like(&text[1..], rest),
    }
}

/// Comparing two single values.
fn compared(operator: &str, left: &Value, right: &Value) -> Outcome {
    if matches!(left, Value::Invalid) || matches!(right, Value::Invalid) {
        return Outcome::Invalid;
    }
    if operator == "!=" {
        return negated(compared("==", left, right));
    }
    if let ("=" | "=~", Value::Text(pattern)) = (operator, right) {
        let Value::Text(text) = left else { return Outcome::Invalid };
        let characters = |text: &str| text.chars().collect::<Vec<char>>();
        // Regular expressions are those of which it is known beforehand what they find.
        return truth(match (operator, pattern.as_str()) {
            ("=", pattern) => is_like(&characters(text), &characters(pattern)),
            (_, "^a") => text.starts_with('a'),
            (_, "b$") => text.ends_with('b'),
            (_, pattern) => text.contains(pattern),
        });
    }
    let null = [left, right].iter().filter(|value| matches!(value, Value::Null)).count();
    let equality = operator == "==" || operator == "=";
    if null > 0 {
        return if equality { truth(null == 2) } else { Outcome::Invalid };
    }
    let order = match (left, right) {
        (Value::Text(left), Value::Text(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Value::Whole(left), Value::Whole(right)) => Some(left.cmp(right)),
        _ => float(left).zip(float(right)).and_then(|(left, right)| left.partial_cmp(&right)),
    };
    let Some(order) = order else { return Outcome::Invalid };
    truth(match operator {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        _ => order.is_eq(),
    })
}

/// True before false before invalid.
fn best(outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    let all: Vec<Outcome> = outcomes.collect();
    [Outcome::True, Outcome::False].into_iter().find(|outcome| all.contains(outcome)).unwrap_or(Outcome::Invalid)
}

/// Outcomes with what the variables stand for; those of the same bindings are one.
type Outcomes = Vec<(Bindings, Outcome)>;

fn joined(outcomes: Outcomes) -> Outcomes {
    let mut by_bindings: BTreeMap<Bindings, Vec<Outcome>> = BTreeMap::new();
    outcomes.into_iter().for_each(|(bindings, outcome)| by_bindings.entry(bindings).or_default().push(outcome));
    by_bindings.into_iter().map(|(bindings, outcomes)| (bindings, best(outcomes.into_iter()))).collect()
}

/// Both bindings, if no variable stands for two things.
fn both(left: &Bindings, right: &Bindings) -> Option<Bindings> {
    let agree = left.iter().all(|(name, value)| right.get(name).is_none_or(|other| other == value));
    agree.then(|| left.iter().chain(right).map(|(name, value)| (*name, value.clone())).collect())
}

impl Logic {
    fn text(&self) -> String {
        match self {
            Logic::Compare(operator, left, right) => format!("{} {operator} {}", left.text(), right.text()),
            Logic::Presence(expression) => expression.text(),
            Logic::Not(inner) => format!("not ({})", inner.text()),
            Logic::And(sides) => format!("({}) and ({})", sides[0].text(), sides[1].text()),
            Logic::Or(sides) => format!("({}) or ({})", sides[0].text(), sides[1].text()),
        }
    }

    fn outcomes(&self, fields: &Fields) -> Outcomes {
        let one = |outcome| vec![(Bindings::new(), outcome)];
        let pairs = |sides: &[Logic; 2], decided: Outcome, other: Outcome| {
            let left = sides[0].outcomes(fields);
            if best(left.iter().map(|(_, outcome)| *outcome)) == decided {
                return one(decided);
            }
            let right = sides[1].outcomes(fields);
            let pair = |a: Outcome, b: Outcome| match () {
                () if a == decided || b == decided => decided,
                () if a == Outcome::Invalid || b == Outcome::Invalid => Outcome::Invalid,
                () => other,
            };
            let all = left.iter().flat_map(|(of_left, a)| {
                right.iter().filter_map(move |(of_right, b)| Some((both(of_left, of_right)?, pair(*a, *b))))
            });
            joined(all.collect())
        };
        match self {
            Logic::Compare(operator, left, right) => {
                let each = |value: Value| match value {
                    Value::Several(values) => values,
                    single => vec![(Bindings::new(), single)],
                };
                let (left, right) = (each(left.value(fields)), each(right.value(fields)));
                let all = left.iter().flat_map(|(of_left, a)| {
                    right
                        .iter()
                        .filter_map(move |(of_right, b)| Some((both(of_left, of_right)?, compared(operator, a, b))))
                });
                joined(all.collect())
            }
            Logic::Presence(expression) => one(match expression.value(fields) {
                Value::Invalid => Outcome::Invalid,
                Value::Null => Outcome::False,
                _ => Outcome::True,
            }),
            Logic::Not(inner) => one(negated(best(inner.outcomes(fields).into_iter().map(|(_, outcome)| outcome)))),
            Logic::And(sides) => pairs(sides, Outcome::False, Outcome::True),
            Logic::Or(sides) => pairs(sides, Outcome::True, Outcome::False),
        }
    }
}

fn number() -> impl Strategy<Value = Expression> {
    let whole = select(vec![0, 1, -1, 2, 3, 40, i64::MAX, 1 << 40])
        .prop_map(|number| Expression::Literal(number.to_string(), Value::Whole(number)));
    let float = select(vec![0.5, -1.5, 2.0, 3.0, 1e10])
        .prop_map(|number| Expression::Literal(format!("{number:?}"), Value::Float(number)));
    let path = select(NUMBERS.to_vec()).prop_map(Expression::Path);
    prop_oneof![2 => whole, 1 => float, 5 => path, 1 => Just(Expression::OfNote)].prop_recursive(2, 6, 2, |inner| {
        let divisor = select(vec![2_i64, -3]).prop_map(|by| Expression::Literal(by.to_string(), Value::Whole(by)));
        let pair = |left, right| Box::new([left, right]);
        prop_oneof![
            (select(vec!["+", "-", "*"]), inner.clone(), inner.clone())
                .prop_map(move |(operator, left, right)| Expression::Arithmetic(operator, pair(left, right))),
            (select(vec!["/", "%"]), inner.clone(), divisor)
                .prop_map(move |(operator, left, right)| Expression::Arithmetic(operator, pair(left, right))),
            inner.prop_map(|inner| Expression::Abs(Box::new(inner))),
        ]
    })
}

fn literal_text() -> impl Strategy<Value = Expression> {
    select(vec!["", "a", "b", "ab", "a*", "?b", "*", "A", "é"])
        .prop_map(|text| Expression::Literal(format!("'{text}'"), Value::Text(text.to_owned())))
}

fn comparison() -> impl Strategy<Value = Logic> {
    let null = Just(Expression::Literal("null".to_owned(), Value::Null));
    let of_numbers = || select(vec!["==", "!=", "<", "<=", ">", ">=", "="]);
    let of_texts = || select(vec!["==", "!=", "<", ">=", "=", "="]);
    let text = prop_oneof![
        3 => select(TEXTS.to_vec()).prop_map(Expression::Path),
        1 => select(TEXTS.to_vec()).prop_map(|path| Expression::Lowercase(Box::new(Expression::Path(path)))),
        1 => literal_text(),
    ];
    let many_numbers = select(MANY_NUMBERS.to_vec()).prop_map(Expression::Path);
    let many_texts = select(MANY_TEXTS.to_vec()).prop_map(Expression::Path);
    let any_text = prop_oneof![text.clone(), many_texts.clone()];
    let anything = prop_oneof![
        number(),
        any_text.clone(),
        many_numbers.clone(),
        select(THINGS.to_vec()).prop_map(Expression::Path),
    ];
    let regular = select(vec!["^a", "b$", "a", "b"])
        .prop_map(|pattern| Expression::Literal(format!("'{pattern}'"), Value::Text(pattern.to_owned())));
    let compare = |(operator, left, right)| Logic::Compare(operator, left, right);
    prop_oneof![
        4 => (of_numbers(), number(), number()).prop_map(compare),
        4 => (of_numbers(), many_numbers, number()).prop_map(compare),
        3 => (of_texts(), text, literal_text()).prop_map(compare),
        3 => (of_texts(), many_texts.clone(), prop_oneof![literal_text(), many_texts]).prop_map(compare),
        2 => (Just("=~"), any_text, regular).prop_map(compare),
        2 => (select(vec!["==", "!=", "="]), anything.clone(), null.clone()).prop_map(compare),
        1 => (select(vec!["==", "!="]), null, anything).prop_map(compare),
        1 => (of_texts(), number(), literal_text()).prop_map(compare),
        2 => select([&NUMBERS[..], &TEXTS, &MANY_NUMBERS, &MANY_TEXTS, &THINGS].concat())
            .prop_map(|path| Logic::Presence(Expression::Path(path))),
    ]
}

fn selections() -> impl Strategy<Value = Logic> {
    comparison().prop_recursive(3, 8, 2, |inner| {
        let sides = (inner.clone(), inner.clone()).prop_map(|(left, right)| Box::new([left, right]));
        prop_oneof![
            sides.clone().prop_map(Logic::And),
            sides.prop_map(Logic::Or),
            inner.prop_map(|inner| Logic::Not(Box::new(inner))),
        ]
    })
}

fn documents() -> impl Strategy<Value = Fields> {
    let text = || "[aAbé]{0,3}";
    let whole = || prop_oneof![-2..4_i32, Just(40)];
    let key = || "[abc]";
    let person = (text(), prop::option::of(whole())).prop_map(|(name, age)| match age {
        Some(age) => json!({"name": name, "age": age}),
        None => json!({"name": name}),
    });
    let single = (
        prop::option::of(whole()),
        prop::option::of(prop_oneof![Just(i64::MAX), Just(1 << 40), -3..3_i64]),
        prop::option::of(select(vec![0.5, -1.5, 2.0, 3.0, 1e10])),
        prop::option::of(any::<bool>()),
        prop::option::of(text()),
        prop::option::of(text()),
        prop::option::of(person.clone()),
        prop::option::of(-3..3_i8),
        prop::option::of(select(vec![0.5, -1.5, 2.0])),
    );
    let several = (
        prop::collection::vec(text(), 0..4),
        prop::collection::vec(whole(), 0..4),
        prop::collection::btree_map(key(), whole(), 0..3),
        prop::collection::vec(person, 0..4),
        prop::collection::btree_map(key(), text(), 0..3),
        prop::collection::btree_map(key(), whole(), 0..3),
    );
    (single, several).prop_map(|(one, many)| {
        let fields = json!({
            "year": one.0, "size": one.1, "score": one.2, "unread": one.3, "subject": one.4, "body": one.5,
            "main": one.6, "b": one.7, "f": one.8, "tags": many.0, "nums": many.1, "weights": many.2, "people": many.3,
            "props": many.4, "counts": many.5,
        });
        let is_empty = |value: &Json| match value {
            Json::Array(elements) => elements.is_empty(),
            Json::Object(entries) => entries.is_empty(),
            value => value.is_null(),
        };
        let Json::Object(fields) = fields else { panic!("an object") };
        fields.into_iter().filter(|(_, value)| !is_empty(value)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn selections_of_values_are_those_of_a_naive_twin(
        selections in prop::collection::vec(selections(), 8),
        documents in prop::collection::vec(documents(), 8),
    ) {
        let types = mail::Types::new();
        for document in &documents {
            let operation = json!({"put": "id:ns:mail::1", "fields": document}).to_string();
            let mut json = Lexer::new(&operation, Code::InvalidDocument);
            let put = read_operation(&types as &dyn DocumentTypes, &mut json, ReadOptions::default()).unwrap();
            for logic in &selections {
                let text = logic.text();
                let selection = Selection::parse(&text, &types, Code::InvalidDocument).unwrap();
                let found = selection.evaluate(&Subject { id: &put.id, fields: &put.fields, now: 0 }).unwrap();
                let wanted = best(logic.outcomes(document).into_iter().map(|(_, outcome)| outcome));
                prop_assert_eq!(found, wanted, "{} on {}", text, operation);
            }
        }
    }
}
