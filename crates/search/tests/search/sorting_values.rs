//! Orders over odd values (none, NaN, infinities, zeros of either sign, the ends of whole numbers, letters beyond ASCII)
//! against a naive twin: every field is there twice, as a column and within the document alone; in one partition and over
//! several, as a whole and in pages. `PROPTEST_CASES` says how many orders are compared.

use std::cmp::Ordering;

use crate::host::{Host, ids, services};
use crate::random::Random;
use serde_json::{Map, Value as Json, json};

const GROUPS: usize = 3;

/// What there is to sort by: how it is named, whether it has several values, and whether it is a text.
const KEYS: [(&str, bool, bool); 20] = [
    ("b", false, false),
    ("i", false, false),
    ("l", false, false),
    ("f", false, false),
    ("d", false, false),
    ("t", false, false),
    ("s", false, true),
    ("wi", true, false),
    ("ws", true, true),
    ("al", true, false),
    ("ab", true, false),
    ("ad", true, false),
    ("af", true, false),
    ("as", true, true),
    ("m.key", true, true),
    ("m.value", true, false),
    ("st.x", true, false),
    ("st.y", true, true),
    ("p.z", false, false),
    ("p.y", false, true),
];

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Long(i64),
    Double(f64),
    Text(&'static str),
}

struct Document {
    group: usize,
    number: usize,
    score: i64,
    /// By key.
    values: Vec<Vec<Value>>,
}

const DOUBLES: [f64; 9] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1.5, -2.25, 2.5, 1e30];
const LONGS: [i64; 8] = [i64::MAX, i64::MIN + 1, 0, 1, -1, 9_007_199_254_740_993, 9_007_199_254_740_992, -7];
/// Texts with what they are compared by in lower case.
const TEXTS: [(&str, &str); 9] = [
    ("a", "a"),
    ("B", "b"),
    ("b", "b"),
    ("é", "e"),
    ("Å", "å"),
    ("aa", "aa"),
    ("日本", "日本"),
    ("z\u{10000}", "z\u{10000}"),
    ("-", "-"),
];

fn is_float(key: usize) -> bool {
    ["f", "d", "ad", "af", "p.z"].contains(&KEYS[key].0)
}

fn value(random: &mut Random, key: usize) -> Value {
    match KEYS[key].0 {
        _ if KEYS[key].2 => Value::Text(random.pick(&TEXTS).0),
        _ if is_float(key) => Value::Double(random.one_of(&DOUBLES)),
        "t" => Value::Long(random.below(2) as i64),
        "l" | "al" => Value::Long(random.one_of(&LONGS)),
        "b" | "ab" => Value::Long(random.one_of(&[127, -127, 0, 3, -3])),
        _ => Value::Long(random.one_of(&[i64::from(i32::MAX), -2_147_483_647, 0, 1, 7, -7])),
    }
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Long(value) => json!(value),
        Value::Double(value) if value.is_nan() => json!("NaN"),
        Value::Double(value) if value.is_infinite() => json!(if *value > 0.0 { "Infinity" } else { "-Infinity" }),
        Value::Double(value) => json!(value),
        Value::Text(text) => json!(text),
    }
}

impl Document {
    fn random(random: &mut Random, number: usize) -> Document {
        let values = (0..KEYS.len()).map(|key| {
            let length = if KEYS[key].1 { random.below(4) } else { random.below(5).min(1) };
            let mut values: Vec<Value> = (0..length).map(|_| value(random, key)).collect();
            if KEYS[key].0.starts_with('w') || KEYS[key].0 == "m.key" {
                let mut seen: Vec<Value> = Vec::new();
                values.retain(|value| {
                    !seen.contains(value) && {
                        seen.push(value.clone());
                        true
                    }
                });
            }
            values
        });
        let mut values: Vec<Vec<Value>> = values.collect();
        // Both are of the same entries; a struct may lack a member.
        let entries = values[14].len();
        values[15] = (0..entries).map(|_| value(random, 15)).collect();
        Document { group: random.below(GROUPS), number, score: random.below(3) as i64, values }
    }

    fn json(&self) -> String {
        let mut fields = Map::new();
        let mut add = |name: &str, value: Json| {
            fields.insert(name.to_owned(), value.clone());
            fields.insert(format!("{name}x"), value);
        };
        for (key, values) in self.values.iter().enumerate() {
            let (name, several, _) = KEYS[key];
            if values.is_empty() || name.contains('.') {
                continue;
            }
            add(
                name,
                match &values[..] {
                    _ if name.starts_with('w') => {
                        let name_of = |value: &Value| json_of(value).to_string().trim_matches('"').to_owned();
                        values.iter().map(|value| (name_of(value), json!(2))).collect::<Map<_, _>>().into()
                    }
                    _ if several => values.iter().map(json_of).collect(),
                    [Value::Long(flag)] if name == "t" => json!(*flag == 1),
                    _ => json_of(&values[0]),
                },
            );
        }
        let entries = self.values[14].iter().zip(&self.values[15]);
        add("m", entries.map(|(key, value)| json!({"key": json_of(key), "value": json_of(value)})).collect());
        let (xs, ys) = (&self.values[16], &self.values[17]);
        let element = |at: usize| {
            let mut element = Map::new();
            xs.get(at).into_iter().for_each(|x| drop(element.insert("x".into(), json_of(x))));
            ys.get(at).into_iter().for_each(|y| drop(element.insert("y".into(), json_of(y))));
            Json::Object(element)
        };
        add("st", (0..xs.len().max(ys.len())).map(element).collect());
        let mut pair = Map::new();
        self.values[18].iter().for_each(|z| drop(pair.insert("z".into(), json_of(z))));
        self.values[19].iter().for_each(|y| drop(pair.insert("y".into(), json_of(y))));
        add("p", Json::Object(pair));
        fields.insert("score".into(), json!(self.score));
        Json::Object(fields).to_string()
    }

    fn id(&self, spread: bool) -> String {
        let (group, number) = (self.group, self.number);
        if spread { format!("id:s:d:g=g{group}:{number:03}") } else { format!("id:s:d:g=a:g{group}:{number:03}") }
    }
}

#[derive(Clone, Debug)]
enum Missing {
    Usual,
    First,
    Last,
    As(Value),
}

#[derive(Clone, Debug)]
struct Key {
    at: usize,
    descending: bool,
    lowercase: bool,
    missing: Missing,
}

impl Key {
    fn random(random: &mut Random) -> Key {
        let at = random.below(KEYS.len());
        let missing = match random.below(6) {
            0 => Missing::First,
            1 => Missing::Last,
            2 => Missing::As(loop {
                let value = value(random, at);
                let is_odd = matches!(value, Value::Double(value) if !value.is_finite()) || value == Value::Text("-");
                if !is_odd {
                    break value;
                }
            }),
            _ => Missing::Usual,
        };
        Key { at, descending: random.below(2) == 0, lowercase: random.below(2) == 0, missing }
    }

    fn text(&self, random: &mut Random) -> String {
        let (name, _, is_text) = KEYS[self.at];
        let (top, rest) = name.split_once('.').map_or((name, String::new()), |(top, rest)| (top, format!(".{rest}")));
        let mut text = format!("{top}{}{rest}", ["", "x"][random.below(2)]);
        if is_text {
            text = format!("{}({text})", if self.lowercase { "lowercase" } else { "raw" });
        }
        text = match &self.missing {
            Missing::Usual => text,
            Missing::First => format!("missing({text},first)"),
            Missing::Last => format!("missing({text},last)"),
            Missing::As(Value::Text(value)) => format!("missing({text},as,\"{value}\")"),
            Missing::As(Value::Double(value)) => format!("missing({text},as,{value})"),
            Missing::As(Value::Long(value)) => format!("missing({text},as,{value})"),
        };
        format!("{}{text}", if self.descending { '-' } else { '+' })
    }

    /// The value that counts, as it is compared: nothing where there is none.
    fn of(&self, document: &Document) -> Option<Value> {
        let known = |value: &&Value| !matches!(value, Value::Double(value) if value.is_nan());
        let values = document.values[self.at].iter().filter(known).map(|value| self.folded(value));
        let found = if self.descending { values.max_by(order) } else { values.min_by(order) };
        match (&self.missing, found) {
            (Missing::As(value), None) => Some(self.folded(value)),
            (_, found) => found,
        }
    }

    fn folded(&self, value: &Value) -> Value {
        match value {
            Value::Text(text) if self.lowercase => {
                Value::Text(TEXTS.iter().find(|(known, _)| known == text).unwrap().1)
            }
            Value::Double(value) if KEYS[self.at].0.ends_with('f') => Value::Double(f64::from(*value as f32)),
            value => value.clone(),
        }
    }

    fn compare(&self, a: &Document, b: &Document) -> Ordering {
        let first = match self.missing {
            Missing::First => true,
            Missing::Last => false,
            _ => !KEYS[self.at].1 && !self.descending,
        };
        match (self.of(a), self.of(b)) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => {
                if first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (Some(_), None) => {
                if first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (Some(a), Some(b)) if self.descending => order(&b, &a),
            (Some(a), Some(b)) => order(&a, &b),
        }
    }
}

/// As the content node sorts: of zeros the negative one is first.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Long(a), Value::Long(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Double(a), Value::Double(b)) => {
            a.partial_cmp(b).unwrap().then(b.is_sign_negative().cmp(&a.is_sign_negative()))
        }
        _ => unreachable!("a key has values of one type"),
    }
}

fn empty() -> Host {
    let mut fields = String::new();
    for suffix in ["", "x"] {
        let indexing = if suffix.is_empty() { "summary | attribute" } else { "summary" };
        for (name, of) in [
            ("b", "byte"),
            ("i", "int"),
            ("l", "long"),
            ("f", "float"),
            ("d", "double"),
            ("t", "bool"),
            ("s", "string"),
            ("wi", "weightedset<int>"),
            ("ws", "weightedset<string>"),
            ("al", "array<long>"),
            ("ab", "array<byte>"),
            ("ad", "array<double>"),
            ("af", "array<float>"),
            ("as", "array<string>"),
        ] {
            fields += &format!("field {name}{suffix} type {of} {{ indexing: {indexing} }}\n");
        }
        fields += &format!("field m{suffix} type map<string, int> {{ indexing: summary }}\n");
        fields += &format!("field st{suffix} type array<pair> {{ indexing: summary }}\n");
        fields += &format!("field p{suffix} type pair {{ indexing: summary }}\n");
    }
    let sd = format!(
        "schema d {{ document d {{
            struct pair {{ field x type int {{}} field y type string {{}} field z type double {{}} }}
            {fields}
            field score type int {{ indexing: attribute }} }}
            rank-profile score {{ first-phase {{ expression: attribute(score) }} }} }}"
    );
    let services = services(&["d"]);
    Host::new(&[("services.xml", &services), ("schemas/d.sd", &sd)], 16 << 20)
}

fn hosts(random: &mut Random, documents: &[Document]) -> (Host, Host) {
    let (mut one, mut many) = (empty(), empty());
    for document in documents {
        one.put(&document.id(false), &document.json()).unwrap();
        many.put(&document.id(true), &document.json()).unwrap();
        if random.once_in(10) {
            one.compact("g:a", 1);
            many.compact(&format!("g:g{}", random.below(GROUPS)), 1);
        }
    }
    (one, many)
}

/// Compares the answers to an order; what differs, if something does.
fn differs(random: &mut Random, (one, many): (&Host, &Host), documents: &[Document]) -> Option<String> {
    let keys: Vec<Key> = (0..1 + random.below(3)).map(|_| Key::random(random)).collect();
    let sorting: Vec<String> = keys.iter().map(|key| key.text(random)).collect();
    let sorting = sorting.join(" ");
    let mut wanted: Vec<&Document> = documents.iter().collect();
    wanted.sort_by(|a, b| {
        let by_keys = keys.iter().map(|key| key.compare(a, b)).find(|order| order.is_ne());
        by_keys.unwrap_or(Ordering::Equal).then(b.score.cmp(&a.score)).then_with(|| a.id(true).cmp(&b.id(true)))
    });
    let size = 1 + random.below(documents.len().max(1));
    for (host, spread) in [(one, false), (many, true)] {
        for size in [100, size] {
            let mut found = Vec::new();
            for offset in (0..documents.len().max(1)).step_by(size) {
                let (hits, offset) = (size.to_string(), offset.to_string());
                let parameters = [
                    ("yql", "select * from d where true"),
                    ("ranking", "score"),
                    ("sorting", sorting.as_str()),
                    ("hits", &hits),
                    ("offset", &offset),
                    ("timeout", "60s"),
                    if spread { ("streaming.selection", "true") } else { ("streaming.groupname", "a") },
                ];
                let answer = match spread {
                    true => host.search_scoped(&parameters, "", "", 1 + random.below(GROUPS)),
                    false => host.search_raw("g:a", &parameters, ""),
                };
                if answer.status != 200 || answer.json["root"].get("errors").is_some() {
                    return Some(format!("{sorting}: {}", answer.body));
                }
                found.extend(ids(&answer));
            }
            let ids: Vec<String> = wanted.iter().map(|document| document.id(spread)).collect();
            if found != ids {
                let at = found.iter().zip(&ids).position(|(a, b)| a != b).unwrap_or(found.len().min(ids.len()));
                let json = |id: Option<&String>| {
                    let of = |document: &&Document| Some(&document.id(spread)) == id;
                    let document = documents.iter().find(of);
                    document.map(|document| {
                        keys.iter().map(|key| format!("{:?}", document.values[key.at])).collect::<Vec<_>>().join(" ")
                    })
                };
                return Some(format!(
                    "{sorting}, pages of {size}, spread {spread}: at {at} {:?}, not {:?}",
                    json(found.get(at)),
                    json(ids.get(at))
                ));
            }
        }
    }
    None
}

#[test]
fn orders_over_odd_values_are_those_of_a_naive_twin() {
    let cases = std::env::var("PROPTEST_CASES").map_or(300, |text| text.parse().unwrap());
    let mut found = Vec::new();
    for case in 0..u64::div_ceil(cases, 30) {
        let mut random = Random::new(case);
        let documents: Vec<Document> =
            (0..random.below(40)).map(|number| Document::random(&mut random, number)).collect();
        let (one, many) = hosts(&mut random, &documents);
        found.extend((0..30).filter_map(|_| differs(&mut random, (&one, &many), &documents)));
    }
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), found[..found.len().min(8)].join("\n"));
}
