//! Terms on numbers (comparisons, ranges, lists, texts that are numbers or ranges) over odd values against a naive twin:
//! single values, arrays, weighted sets, maps and structs, as columns and within the document alone.
//! `PROPTEST_CASES` says how many queries are asked.

use crate::host::{Host, ids, services};
use crate::random::Random;
use serde_json::{Map, Value as Json, json};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Byte,
    Int,
    Long,
    Float,
    Double,
}

const FIELDS: [(&str, Kind); 12] = [
    ("b", Kind::Byte),
    ("i", Kind::Int),
    ("l", Kind::Long),
    ("f", Kind::Float),
    ("d", Kind::Double),
    ("ai", Kind::Int),
    ("al", Kind::Long),
    ("af", Kind::Float),
    ("ad", Kind::Double),
    ("wi", Kind::Int),
    ("m.value", Kind::Long),
    ("st.x", Kind::Double),
];
const DOUBLES: [f64; 14] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 0.1, 0.5, -0.5, 1.0, 1.5, -2.0, 2.5, 1e30, 16_777_217.0];
const LONGS: [i64; 12] = [
    i64::MAX,
    i64::MIN + 1,
    0,
    1,
    -1,
    2,
    3,
    -2,
    9_007_199_254_740_993,
    9_007_199_254_740_992,
    i64::MAX - 1,
    4_294_967_296,
];

impl Kind {
    fn is_whole(self) -> bool {
        matches!(self, Kind::Byte | Kind::Int | Kind::Long)
    }

    fn value(self, random: &mut Random) -> Json {
        match self {
            Kind::Byte => json!(random.one_of(&[127, -127, 0, 1, 2, 3, -2, -1])),
            Kind::Int => json!(random.one_of(&[i32::MAX, i32::MIN + 1, 0, 1, 2, 3, -2, -1])),
            Kind::Long => json!(random.one_of(&LONGS)),
            Kind::Float | Kind::Double => {
                let value = random.one_of(&DOUBLES);
                let value = if self == Kind::Float { f64::from(value as f32) } else { value };
                match () {
                    () if value.is_nan() => json!("NaN"),
                    () if value.is_infinite() => json!(if value > 0.0 { "Infinity" } else { "-Infinity" }),
                    () => json!(value),
                }
            }
        }
    }
}

/// A bound of a term as it is written, exactly: a whole number, or not.
#[derive(Clone, Copy, Debug)]
enum Number {
    Long(i64),
    Double(f64),
}

impl Number {
    fn random(random: &mut Random) -> Number {
        match random.below(3) {
            0 => {
                Number::Double(random.one_of(&[0.5, 1.5, -0.5, -1.5, 2.5, 0.1, 1e30, -1e30, 16_777_217.0, 0.0, 9.3e18]))
            }
            1 => Number::Long(random.one_of(&LONGS)),
            _ => Number::Long(random.below(6) as i64 - 2),
        }
    }

    fn text(self) -> String {
        match self {
            Number::Long(value) => value.to_string(),
            Number::Double(value) => format!("{value:?}"),
        }
    }

    /// As YQL has it: whole numbers beyond 32 bits need a letter.
    fn yql(self) -> String {
        match self {
            Number::Long(value) if i32::try_from(value).is_err() => format!("{value}L"),
            number => number.text(),
        }
    }

    fn double(self) -> f64 {
        match self {
            Number::Long(value) => value as f64,
            Number::Double(value) => value,
        }
    }
}

/// What a term asks: from, to, and whether these are within.
#[derive(Clone, Debug)]
enum Term {
    Equal(Number),
    Range(Option<(Number, bool)>, Option<(Number, bool)>),
    AnyOf(Vec<i64>),
}

fn compare(a: i128, number: Number) -> std::cmp::Ordering {
    match number {
        Number::Long(value) => a.cmp(&i128::from(value)),
        Number::Double(value) => {
            let whole = (value.trunc() as i128).clamp(i128::MIN / 2, i128::MAX / 2);
            let fraction = value - value.trunc();
            a.cmp(&whole).then(if fraction > 0.0 {
                std::cmp::Ordering::Less
            } else if fraction < 0.0 {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            })
        }
    }
}

impl Term {
    fn holds_whole(&self, value: i64) -> bool {
        match self {
            Term::AnyOf(list) => list.contains(&value),
            Term::Equal(Number::Long(number)) => value == *number,
            Term::Equal(Number::Double(number)) => {
                let rounded = number.round();
                (rounded.abs() < 9.2e18) && i128::from(value) == rounded as i128
            }
            Term::Range(from, to) => {
                let above = from.is_none_or(|(number, with)| {
                    let order = compare(value.into(), number);
                    order.is_gt() || (with && order.is_eq())
                });
                above
                    && to.is_none_or(|(number, with)| {
                        let order = compare(value.into(), number);
                        order.is_lt() || (with && order.is_eq())
                    })
            }
        }
    }

    fn holds_float(&self, value: f64, kind: Kind) -> bool {
        let of = |number: Number| match kind {
            Kind::Float => f64::from(number.double() as f32),
            _ => number.double(),
        };
        match self {
            Term::AnyOf(_) => unreachable!("lists are of whole numbers"),
            Term::Equal(number) => value == of(*number),
            Term::Range(from, to) => {
                let above = from.is_none_or(|(number, with)| value > of(number) || (with && value == of(number)));
                let below = to.is_none_or(|(number, with)| value < of(number) || (with && value == of(number)));
                !value.is_nan() && above && below
            }
        }
    }

    fn holds(&self, value: &Json, kind: Kind) -> bool {
        match (value.as_i64(), value) {
            (Some(value), _) if kind.is_whole() => self.holds_whole(value),
            (_, Json::String(text)) => self.holds_float(text.parse().unwrap(), kind),
            (_, value) => self.holds_float(value.as_f64().unwrap(), kind),
        }
    }
}

/// A term on a field, as it is written, with what it asks.
fn term(random: &mut Random, name: &str, kind: Kind) -> (String, Term) {
    let number = Number::random(random);
    match random.below(if kind.is_whole() { 7 } else { 6 }) {
        0 => (format!("{name} = {}", number.yql()), Term::Equal(number)),
        1 => {
            let operator = random.one_of(&["<", "<=", ">", ">="]);
            let bound = Some((number, operator.ends_with('=')));
            let below = operator.starts_with('<');
            let (left, right) = (format!("{name} {operator} {}", number.yql()), operator);
            let turned = match right {
                "<" => ">",
                "<=" => ">=",
                ">" => "<",
                _ => "<=",
            };
            let text = if random.once_in(3) { format!("{} {turned} {name}", number.yql()) } else { left };
            (text, if below { Term::Range(None, bound) } else { Term::Range(bound, None) })
        }
        2 => {
            let to = Number::random(random);
            let (bounds, with) = random.one_of(&[
                ("", (true, true)),
                ("{bounds:\"open\"}", (false, false)),
                ("{bounds:\"leftOpen\"}", (false, true)),
                ("{bounds:\"rightOpen\"}", (true, false)),
            ]);
            let (from_end, to_end) = (random.once_in(5), random.once_in(5));
            let from_text = if from_end { "-Infinity".to_owned() } else { number.yql() };
            let to_text = if to_end { "Infinity".to_owned() } else { to.yql() };
            let text = format!("({bounds}range({name}, {from_text}, {to_text}))");
            let is_one = with == (true, true) && number.text() == to.text() && !from_end && !to_end;
            let term = match is_one {
                // A closed range of one number is that number.
                true => Term::Equal(number),
                false => Term::Range((!from_end).then_some((number, with.0)), (!to_end).then_some((to, with.1))),
            };
            (text, term)
        }
        3 => (format!("{name} contains \"{}\"", number.text()), Term::Equal(number)),
        4 => {
            let below = random.once_in(2);
            let text = format!("{name} contains \"{}{}\"", if below { '<' } else { '>' }, number.text());
            let bound = Some((number, false));
            (text, if below { Term::Range(None, bound) } else { Term::Range(bound, None) })
        }
        5 => {
            let to = loop {
                // What a range from a number to the same one is, the ranges of YQL say.
                let to = Number::random(random);
                if to.double() != number.double() {
                    break to;
                }
            };
            let with = (random.once_in(2), random.once_in(2));
            let (open, close) = (if with.0 { '[' } else { '<' }, if with.1 { ']' } else { '>' });
            let text = format!("{name} contains \"{open}{};{}{close}\"", number.text(), to.text());
            (text, Term::Range(Some((number, with.0)), Some((to, with.1))))
        }
        _ => {
            let list: Vec<i64> = (0..1 + random.below(4)).map(|_| random.below(5) as i64 - 2).collect();
            let texts: Vec<String> = list.iter().map(i64::to_string).collect();
            (format!("{name} in ({})", texts.join(", ")), Term::AnyOf(list))
        }
    }
}

struct Document {
    id: String,
    /// By field.
    values: Vec<Vec<Json>>,
}

impl Document {
    fn random(random: &mut Random, number: usize) -> Document {
        let value = |(name, kind): &(&str, Kind), random: &mut Random| -> Vec<Json> {
            let length = if name.len() > 1 { random.below(4) } else { random.below(6).min(1) };
            let mut values: Vec<Json> = (0..length).map(|_| kind.value(random)).collect();
            if *name == "wi" {
                values.sort_by_key(Json::to_string);
                values.dedup();
            }
            values
        };
        let values = FIELDS.iter().map(|field| value(field, random)).collect();
        Document { id: format!("id:s:d:g=a:{number:03}"), values }
    }

    fn json(&self) -> String {
        let mut fields = Map::new();
        for (at, values) in self.values.iter().enumerate().filter(|(_, values)| !values.is_empty()) {
            let name = FIELDS[at].0;
            let (name, value): (&str, Json) = match name {
                "m.value" => {
                    let entries = values.iter().enumerate();
                    ("m", entries.map(|(key, value)| (key.to_string(), value.clone())).collect::<Map<_, _>>().into())
                }
                "st.x" => ("st", values.iter().map(|value| json!({"x": value})).collect()),
                "wi" => ("wi", values.iter().map(|key| (key.to_string(), json!(3))).collect::<Map<_, _>>().into()),
                name if name.len() > 1 => (name, values.clone().into()),
                name => (name, values[0].clone()),
            };
            fields.insert(name.to_owned(), value.clone());
            fields.insert(format!("{name}x"), value);
        }
        Json::Object(fields).to_string()
    }
}

fn host() -> Host {
    let mut fields = String::new();
    for (suffix, indexing) in [("", "attribute"), ("x", "index")] {
        for (name, of) in [
            ("b", "byte"),
            ("i", "int"),
            ("l", "long"),
            ("f", "float"),
            ("d", "double"),
            ("ai", "array<int>"),
            ("al", "array<long>"),
            ("af", "array<float>"),
            ("ad", "array<double>"),
            ("wi", "weightedset<int>"),
        ] {
            fields += &format!("field {name}{suffix} type {of} {{ indexing: {indexing} }}\n");
        }
        fields += &format!("field m{suffix} type map<string, long> {{ indexing: index }}\n");
        fields += &format!("field st{suffix} type array<part> {{ indexing: index }}\n");
    }
    let sd = format!("schema d {{ document d {{ struct part {{ field x type double {{}} }} {fields} }} }}");
    let services = services(&["d"]);
    Host::new(&[("services.xml", &services), ("schemas/d.sd", &sd)], 16 << 20)
}

#[test]
fn terms_on_numbers_are_those_of_a_naive_twin() {
    let cases = std::env::var("PROPTEST_CASES").map_or(1_000, |text| text.parse().unwrap());
    let mut differing = Vec::new();
    for case in 0..u64::div_ceil(cases, 100) {
        let mut random = Random::new(case);
        let mut host = host();
        let documents: Vec<Document> =
            (0..random.below(60)).map(|number| Document::random(&mut random, number)).collect();
        for document in &documents {
            host.put(&document.id, &document.json()).unwrap();
            if random.once_in(20) {
                host.compact("g:a", 1);
            }
        }
        for _ in 0..100 {
            let at = random.below(FIELDS.len());
            let (name, kind) = FIELDS[at];
            let suffix = ["", "x"][random.below(2)];
            let written =
                name.split_once('.').map_or(format!("{name}{suffix}"), |(top, part)| format!("{top}{suffix}.{part}"));
            let (text, term) = term(&mut random, &written, kind);
            let yql = format!("select * from d where {text}");
            let answer = host.search("g:a", &[("yql", &yql), ("hits", "100"), ("ranking", "unranked")]);
            if answer.status != 200 || answer.json["root"].get("errors").is_some() {
                differing.push(format!("{yql}: {}", answer.body));
                continue;
            }
            let mut found = ids(&answer);
            found.sort();
            let holds = |document: &&Document| document.values[at].iter().any(|value| term.holds(value, kind));
            let wanted: Vec<&Document> = documents.iter().filter(holds).collect();
            let wanted_ids: Vec<String> = wanted.iter().map(|document| document.id.clone()).collect();
            if found != wanted_ids {
                let of = |ids: &[String], not: &[String]| -> Vec<String> {
                    let only =
                        documents.iter().filter(|document| ids.contains(&document.id) && !not.contains(&document.id));
                    only.map(|document| format!("{:?}", document.values[at])).take(3).collect()
                };
                differing.push(format!(
                    "{text}: too many {:?}, too few {:?}",
                    of(&found, &wanted_ids),
                    of(&wanted_ids, &found)
                ));
            }
        }
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing[..differing.len().min(15)].join("\n"));
}
