//! Expressions of groupings over odd values (no value, NaN, infinities, zeros of either sign, the ends of whole numbers,
//! letters beyond ASCII), cut into widths and buckets and filtered, as YQL and as JSON, against a naive twin that
//! evaluates a tree of its own; every field is there twice, as a column
//! and within the document alone, and folded documents are mixed with those of the tail. `PROPTEST_CASES` says how many
//! requests are compared.

mod checks;

use std::collections::BTreeMap;

use crate::host::{Host, services};
use crate::random::Random;
use serde_json::{Map, Value as Json, json};

const FIELDS: [(&str, &str); 15] = [
    ("b", "byte"),
    ("i", "int"),
    ("l", "long"),
    ("f", "float"),
    ("d", "double"),
    ("t", "bool"),
    ("s", "string"),
    ("ws", "weightedset<string>"),
    ("wi", "weightedset<int>"),
    ("ai", "array<int>"),
    ("al", "array<long>"),
    ("ad", "array<double>"),
    ("ab", "array<byte>"),
    ("as", "array<string>"),
    ("at", "array<bool>"),
];

/// A value of one element.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Bool(bool),
    Long(i64),
    Double(f64),
    Text(String),
    Raw(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Long,
    Double,
    Text,
    Raw,
}

/// What an expression yields of a document: one value, or several.
#[derive(Clone, Debug)]
struct Values {
    several: bool,
    of: Vec<Value>,
}

/// An expression: how it is written and what it does.
#[derive(Clone, Debug)]
enum Tree {
    Constant(Value),
    Field(usize),
    Numeric(&'static str, Vec<Expression>),
    Neg(Box<Expression>),
    Each(&'static str, Box<Expression>),
    Size(Box<Expression>),
    Sort(Box<Expression>),
    Reverse(Box<Expression>),
    At(usize, Box<Expression>),
    Join(bool, Vec<Expression>),
    XorBit(usize, Box<Expression>),
}

#[derive(Clone, Debug)]
struct Expression {
    text: String,
    kind: Kind,
    several: bool,
    tree: Tree,
}

const DOUBLES: [f64; 12] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1.5, -2.25, 2.5, -0.5, 1e6, 123_456_792.0, -7.0];
/// As C prints them.
const DOUBLE_TEXTS: [&str; 12] =
    ["nan", "inf", "-inf", "-0", "0", "1.5", "-2.25", "2.5", "-0.5", "1e+06", "1.23457e+08", "-7"];
const LONGS: [i64; 11] = [i64::MAX, i64::MIN + 1, 0, 1, -1, 7, -7, 12, 1_157_500_800, -86_401, 1 << 40];
/// Texts with what C reads of them.
const TEXTS: [(&str, i64, f64); 10] = [
    ("a", 0, 0.0),
    ("B", 0, 0.0),
    ("é", 0, 0.0),
    ("日本", 0, 0.0),
    ("0x10", 16, 16.0),
    ("010", 8, 10.0),
    (" -7.5e1x", -7, -75.0),
    ("Re: mail", 0, 0.0),
    ("zz\u{10000}", 0, 0.0),
    ("12", 12, 12.0),
];

fn kind_of(field: usize) -> (Kind, bool) {
    let of = FIELDS[field].1;
    let element = of.split_once('<').map_or(of, |(_, rest)| rest.trim_end_matches('>'));
    let kind = match element {
        "byte" | "int" | "long" => Kind::Long,
        "float" | "double" => Kind::Double,
        "bool" => Kind::Bool,
        _ => Kind::Text,
    };
    (kind, of.contains('<'))
}

fn width_of(field: usize) -> usize {
    match FIELDS[field].1 {
        of if of.contains("byte") => 1,
        of if of.contains("int") => 4,
        _ => 8,
    }
}

/// A random value of an element of a field.
fn element(random: &mut Random, field: usize) -> Value {
    let of = FIELDS[field].1;
    match kind_of(field).0 {
        Kind::Bool => Value::Bool(random.below(2) == 0),
        Kind::Double => Value::Double(random.one_of(&DOUBLES)),
        Kind::Text => Value::Text(random.one_of(&TEXTS).0.to_owned()),
        _ if of.contains("byte") => Value::Long(random.one_of(&[127, -127, 0, 3, -3])),
        _ if of.contains("int") => Value::Long(random.one_of(&[i64::from(i32::MAX), -2_147_483_647, 0, 1, 7, -7, 12])),
        _ => Value::Long(random.one_of(&LONGS)),
    }
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Bool(flag) => json!(flag),
        Value::Long(value) => json!(value),
        Value::Double(value) if value.is_nan() => json!("NaN"),
        Value::Double(value) if value.is_infinite() => json!(if *value > 0.0 { "Infinity" } else { "-Infinity" }),
        Value::Double(value) => json!(value),
        Value::Text(text) => json!(text),
        Value::Raw(_) => Json::Null,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Bool(flag) => flag.to_string(),
        Value::Long(value) => value.to_string(),
        Value::Text(text) => text.clone(),
        Value::Double(value) => {
            let at = DOUBLES.iter().position(|double| double.to_bits() == value.to_bits());
            DOUBLE_TEXTS[at.expect("only doubles of the list become texts")].to_owned()
        }
        Value::Raw(_) => unreachable!("bytes become no text"),
    }
}

/// A document: the values of each field, none where it has none.
struct Document {
    id: String,
    score: i64,
    fields: Vec<Vec<Value>>,
}

impl Document {
    fn random(random: &mut Random, number: usize) -> Document {
        let fields = (0..FIELDS.len())
            .map(|field| {
                let length = if kind_of(field).1 { random.below(4) } else { random.below(5).min(1) };
                let mut values: Vec<Value> = (0..length).map(|_| element(random, field)).collect();
                if FIELDS[field].1.starts_with("weightedset") {
                    let mut seen: Vec<Value> = Vec::new();
                    values.retain(|value| {
                        !seen.contains(value) && {
                            seen.push(value.clone());
                            true
                        }
                    });
                }
                values
            })
            .collect();
        Document { id: format!("id:s:sale:g=a:{number:04}"), score: random.below(3) as i64, fields }
    }

    fn json(&self) -> String {
        let mut fields = Map::from_iter([("score".to_owned(), json!(self.score))]);
        for (at, values) in self.fields.iter().enumerate() {
            let (name, of) = FIELDS[at];
            if values.is_empty() {
                continue;
            }
            let value = match () {
                () if of.starts_with("weightedset") => {
                    values.iter().map(|value| (shown(value), json!(1))).collect::<Map<_, _>>().into()
                }
                () if of.contains('<') => values.iter().map(json_of).collect(),
                () => json_of(&values[0]),
            };
            fields.insert(name.to_owned(), value.clone());
            fields.insert(format!("{name}x"), value);
        }
        Json::Object(fields).to_string()
    }

    fn value(&self, field: usize) -> Values {
        let (kind, several) = kind_of(field);
        let mut of = self.fields[field].clone();
        if !several && of.is_empty() {
            of.push(match kind {
                Kind::Bool => Value::Bool(false),
                Kind::Long => Value::Long(0),
                Kind::Double => Value::Double(0.0),
                _ => Value::Text(String::new()),
            });
        }
        Values { several, of }
    }
}

fn long(value: &Value) -> i64 {
    match value {
        Value::Bool(flag) => i64::from(*flag),
        Value::Long(value) => *value,
        Value::Double(value) if value.is_nan() => i64::MIN,
        Value::Double(value) => value.round() as i64,
        Value::Text(text) => TEXTS.iter().find(|(known, ..)| known == text).map_or(0, |(_, long, _)| *long),
        Value::Raw(bytes) => i64::from_be_bytes(std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0))),
    }
}

fn double(value: &Value) -> f64 {
    match value {
        Value::Double(value) => *value,
        Value::Text(text) => TEXTS.iter().find(|(known, ..)| known == text).map_or(0.0, |(.., double)| *double),
        value => long(value) as f64,
    }
}

fn joined(name: &str, kind: Kind, a: &Value, b: &Value) -> Value {
    if kind == Kind::Long {
        let (a, b) = (long(a), long(b));
        return Value::Long(match name {
            "add" => a.wrapping_add(b),
            "sub" => a.wrapping_sub(b),
            "mul" => a.wrapping_mul(b),
            "div" => {
                if b == 0 {
                    0
                } else {
                    a.wrapping_div(b)
                }
            }
            "mod" => {
                if b == 0 {
                    0
                } else {
                    a.wrapping_rem(b)
                }
            }
            "min" => a.min(b),
            "max" => a.max(b),
            "and" => a & b,
            "or" => a | b,
            _ => a ^ b,
        });
    }
    let (x, y) = (double(a), double(b));
    Value::Double(match name {
        "add" => x + y,
        "sub" => x - y,
        "mul" => x * y,
        "div" => {
            if y == 0.0 {
                0.0
            } else {
                x / y
            }
        }
        "mod" => {
            let (a, b) = (long(a), long(b));
            if b == 0 { 0.0 } else { a.wrapping_rem(b) as f64 }
        }
        "min" => {
            if x.is_nan() {
                y
            } else if y.is_nan() {
                x
            } else {
                x.min(y)
            }
        }
        "max" => {
            if x.is_nan() {
                y
            } else if y.is_nan() {
                x
            } else {
                x.max(y)
            }
        }
        _ => unreachable!(),
    })
}

fn converted(kind: Kind, value: &Value) -> Value {
    match kind {
        Kind::Long => Value::Long(long(value)),
        _ => Value::Double(double(value)),
    }
}

fn binary(of: &Expression, values: &Values) -> Vec<u8> {
    let width = match of.tree {
        Tree::Field(field) => width_of(field),
        _ => 8,
    };
    values
        .of
        .iter()
        .flat_map(|value| match value {
            Value::Bool(flag) => vec![u8::from(*flag)],
            Value::Long(value) => value.to_be_bytes()[8 - width..].to_vec(),
            Value::Double(value) => value.to_be_bytes().to_vec(),
            Value::Text(text) => text.as_bytes().to_vec(),
            Value::Raw(bytes) => bytes.clone(),
        })
        .collect()
}

fn of_time(part: &str, seconds: i64) -> i64 {
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    match part {
        "time.hourofday" => second / 3_600,
        "time.minuteofhour" => second / 60 % 60,
        "time.secondofminute" => second % 60,
        _ => (day + 4).rem_euclid(7),
    }
}

fn evaluate(of: &Expression, document: &Document) -> Values {
    let one = |value| Values { several: false, of: vec![value] };
    match &of.tree {
        Tree::Constant(value) => one(value.clone()),
        Tree::Field(field) => document.value(*field),
        Tree::Numeric(name, arguments) => {
            let mut all = arguments.iter().map(|argument| evaluate(argument, document));
            let first = all.next().unwrap();
            let kind = if ["and", "or", "xor"].contains(name) { Kind::Long } else { of.kind };
            let convert = |values: Values| Values {
                of: values.of.iter().map(|value| converted(kind, value)).collect(),
                several: values.several,
            };
            all.map(convert).collect::<Vec<_>>().into_iter().fold(convert(first), |left, right| {
                let several = left.several || right.several;
                let (a, b) = (&left.of, &right.of);
                let of = match (a.len(), b.len()) {
                    (_, 0) => a.clone(),
                    (0, 1) => Vec::new(),
                    (0, _) => b.clone(),
                    (_, 1) => a.iter().map(|a| joined(name, kind, a, &b[0])).collect(),
                    (1, _) => b.iter().map(|b| joined(name, kind, &a[0], b)).collect(),
                    (x, y) => (0..x.max(y))
                        .map(|at| match (a.get(at), b.get(at)) {
                            (Some(a), Some(b)) => joined(name, kind, a, b),
                            (Some(one), None) | (None, Some(one)) => one.clone(),
                            (None, None) => unreachable!(),
                        })
                        .collect(),
                };
                Values { several, of }
            })
        }
        Tree::Neg(inner) => {
            let values = evaluate(inner, document);
            let of = values.of.iter().map(|value| match value {
                Value::Double(value) => Value::Double(-value),
                value => Value::Long(long(value).wrapping_neg()),
            });
            Values { several: values.several, of: of.collect() }
        }
        Tree::Each(name, inner) => {
            let values = evaluate(inner, document);
            let of = values.of.iter().map(|value| match *name {
                "todouble" => Value::Double(double(value)),
                "tolong" => Value::Long(long(value)),
                "tostring" => Value::Text(shown(value)),
                "toraw" => Value::Raw(shown(value).into_bytes()),
                "strlen" => Value::Long(shown(value).len() as i64),
                "math.floor" => Value::Double(double(value).floor()),
                "math.sqrt" => Value::Double(double(value).sqrt()),
                "normalizesubject" => Value::Text(shown(value).trim_start_matches("Re: ").to_owned()),
                part => Value::Long(of_time(part, long(value))),
            });
            Values { several: values.several, of: of.collect() }
        }
        Tree::Size(inner) => one(Value::Long(evaluate(inner, document).of.len() as i64)),
        Tree::Sort(inner) => {
            let mut values = evaluate(inner, document);
            values.of.sort_by(order);
            values
        }
        Tree::Reverse(inner) => {
            let mut values = evaluate(inner, document);
            values.of.reverse();
            values
        }
        Tree::At(field, index) => {
            let (values, index) = (document.value(*field), long(&evaluate(index, document).of[0]));
            let last = values.of.len() as i64 - 1;
            let found = values.of.get(index.clamp(0, last.max(0)) as usize).cloned();
            Values { several: found.is_none(), of: found.into_iter().collect() }
        }
        Tree::Join(raw, arguments) => {
            let parts: Vec<(&Expression, Values)> =
                arguments.iter().map(|argument| (argument, evaluate(argument, document))).collect();
            one(match raw {
                true => Value::Raw(parts.iter().flat_map(|(of, values)| binary(of, values)).collect()),
                false => Value::Text(parts.iter().flat_map(|(_, values)| values.of.iter().map(shown)).collect()),
            })
        }
        Tree::XorBit(bytes, inner) => {
            let binary = binary(inner, &evaluate(inner, document));
            let mut out = vec![0u8; *bytes];
            for part in binary.chunks(*bytes) {
                for (at, byte) in part.iter().enumerate() {
                    out[at] = if part.len() == *bytes { out[at] ^ byte } else { *byte };
                }
            }
            one(Value::Raw(out))
        }
    }
}

/// NaN comes first.
fn order(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Long(a), Value::Long(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Raw(a), Value::Raw(b)) => a.cmp(b),
        (a, b) => {
            let (a, b) = (double(a), double(b));
            a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
        }
    }
}

fn field(random: &mut Random, fits: impl Fn(Kind, bool) -> bool) -> Expression {
    let fitting: Vec<usize> = (0..FIELDS.len()).filter(|at| fits(kind_of(*at).0, kind_of(*at).1)).collect();
    let at = *random.pick(&fitting);
    let (kind, several) = kind_of(at);
    let text = format!("{}{}", FIELDS[at].0, ["", "x"][random.below(2)]);
    Expression { text, kind, several, tree: Tree::Field(at) }
}

fn call(name: &str, arguments: &[Expression]) -> String {
    let texts: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
    format!("{name}({})", texts.join(", "))
}

fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Bool | Kind::Long | Kind::Double)
}

fn number(random: &mut Random, depth: usize) -> Expression {
    if depth == 0 {
        return match random.below(4) {
            0 => {
                let value = random.one_of(&[0i64, 1, 2, 3, 10, 86_400]);
                let (kind, several, tree) = (Kind::Long, false, Tree::Constant(Value::Long(value)));
                Expression { text: value.to_string(), kind, several, tree }
            }
            1 => {
                let value = random.one_of(&[0.5, 2.0, 0.0, 3.25]);
                let (kind, several, tree) = (Kind::Double, false, Tree::Constant(Value::Double(value)));
                Expression { text: format!("{value:?}"), kind, several, tree }
            }
            _ => field(random, |kind, _| is_number(kind)),
        };
    }
    match random.below(13) {
        0..=5 => {
            let name = random.one_of(&["add", "sub", "mul", "div", "mod", "min", "max", "and", "or", "xor"]);
            let arguments: Vec<Expression> =
                (0..2 + random.below(4) / 3).map(|_| number(random, random.clone().below(depth))).collect();
            let several = arguments.iter().any(|argument| argument.several);
            let double = arguments.iter().any(|argument| argument.kind == Kind::Double);
            let kind = if double && !["and", "or", "xor"].contains(&name) { Kind::Double } else { Kind::Long };
            Expression { text: call(name, &arguments), kind, several, tree: Tree::Numeric(name, arguments) }
        }
        6 => {
            let inner = number(random, depth - 1);
            let kind = if inner.kind == Kind::Double { Kind::Double } else { Kind::Long };
            Expression {
                text: format!("-({})", inner.text),
                kind,
                several: inner.several,
                tree: Tree::Neg(Box::new(inner)),
            }
        }
        7 | 8 => {
            let (name, kind) = random.one_of(&[
                ("todouble", Kind::Double),
                ("tolong", Kind::Long),
                ("math.floor", Kind::Double),
                ("math.sqrt", Kind::Double),
                ("time.hourofday", Kind::Long),
                ("time.minuteofhour", Kind::Long),
                ("time.secondofminute", Kind::Long),
                ("time.dayofweek", Kind::Long),
            ]);
            let inner = number(random, depth - 1);
            let text = format!("{name}({})", inner.text);
            Expression { text, kind, several: inner.several, tree: Tree::Each(name, Box::new(inner)) }
        }
        9 => {
            let inner = field(random, |_, _| true);
            let text = format!("size({})", inner.text);
            Expression { text, kind: Kind::Long, several: false, tree: Tree::Size(Box::new(inner)) }
        }
        10 => {
            let (name, kind) =
                random.one_of(&[("strlen", Kind::Long), ("tolong", Kind::Long), ("todouble", Kind::Double)]);
            let inner = field(random, |kind, _| kind == Kind::Text);
            let text = format!("{name}({})", inner.text);
            Expression { text, kind, several: inner.several, tree: Tree::Each(name, Box::new(inner)) }
        }
        11 => {
            let inner = number(random, depth - 1);
            let sorts = random.below(2) == 0;
            let text = format!("{}({})", if sorts { "sort" } else { "reverse" }, inner.text);
            let (kind, several) = (inner.kind, inner.several);
            let inner = Box::new(inner);
            Expression { text, kind, several, tree: if sorts { Tree::Sort(inner) } else { Tree::Reverse(inner) } }
        }
        _ => number(random, 0),
    }
}

fn text(random: &mut Random) -> Expression {
    match random.below(5) {
        0 => {
            let arguments: Vec<Expression> = (0..2 + random.below(2)).map(|_| field(random, |_, _| true)).collect();
            Expression {
                text: call("strcat", &arguments),
                kind: Kind::Text,
                several: false,
                tree: Tree::Join(false, arguments),
            }
        }
        1 => {
            let inner = field(random, |_, _| true);
            let text = format!("tostring({})", inner.text);
            Expression { text, kind: Kind::Text, several: inner.several, tree: Tree::Each("tostring", Box::new(inner)) }
        }
        2 => {
            let inner = field(random, |kind, _| kind == Kind::Text);
            let text = format!("normalizesubject({})", inner.text);
            Expression {
                text,
                kind: Kind::Text,
                several: inner.several,
                tree: Tree::Each("normalizesubject", Box::new(inner)),
            }
        }
        _ => field(random, |kind, _| kind == Kind::Text),
    }
}

fn raw(random: &mut Random) -> Expression {
    match random.below(3) {
        0 => {
            let arguments: Vec<Expression> = (0..2 + random.below(2)).map(|_| field(random, |_, _| true)).collect();
            Expression {
                text: call("cat", &arguments),
                kind: Kind::Raw,
                several: false,
                tree: Tree::Join(true, arguments),
            }
        }
        1 => {
            let (bytes, inner) = (1 + random.below(9), field(random, |_, _| true));
            let text = format!("xorbit({}, {})", inner.text, 8 * bytes);
            Expression { text, kind: Kind::Raw, several: false, tree: Tree::XorBit(bytes, Box::new(inner)) }
        }
        _ => {
            let inner = field(random, |_, _| true);
            let text = format!("toraw({})", inner.text);
            Expression { text, kind: Kind::Raw, several: inner.several, tree: Tree::Each("toraw", Box::new(inner)) }
        }
    }
}

/// An element of an array by its number, of which there may be none.
fn at(random: &mut Random) -> Expression {
    let arrays: Vec<usize> = (0..FIELDS.len()).filter(|at| FIELDS[*at].1.starts_with("array")).collect();
    let array = *random.pick(&arrays);
    let index = match random.below(2) {
        0 => field(random, |kind, several| !several && kind == Kind::Long),
        _ => number(random, 0),
    };
    let index = if index.several { field(random, |kind, several| !several && kind == Kind::Double) } else { index };
    let text = format!("array.at({}{}, {})", FIELDS[array].0, ["", "x"][random.below(2)], index.text);
    let (kind, _) = kind_of(array);
    Expression { text, kind, several: false, tree: Tree::At(array, Box::new(index)) }
}

fn anything(random: &mut Random) -> Expression {
    match random.below(8) {
        6 => at(random),
        0 => text(random),
        1 => raw(random),
        2 => field(random, |_, _| true),
        _ => {
            let depth = 1 + random.below(3);
            number(random, depth)
        }
    }
}

/// An id of a group, comparable: its kind and value.
fn id_of(value: &Value) -> String {
    match value {
        Value::Bool(flag) => format!("bool:{flag}"),
        Value::Long(value) => format!("long:{value}"),
        Value::Double(value) => format!("double:{}", double_id(*value)),
        Value::Text(text) => format!("string:{text}"),
        Value::Raw(bytes) => format!("raw:{}", base64(bytes)),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let bits = part.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for at in 0..4 {
            match at <= part.len() {
                true => text.push(char::from(DIGITS[(bits >> (18 - 6 * at)) as usize & 63])),
                false => text.push('='),
            }
        }
    }
    text
}

/// The same of a group that was found: doubles as numbers, whatever they are written like.
fn found_id(id: &str) -> String {
    let id = id.strip_prefix("group:").unwrap();
    let Some((kind @ ("double" | "double_bucket"), values)) = id.split_once(':') else { return id.to_owned() };
    let values: Vec<String> = values.split(':').map(|text| double_id(text.parse().unwrap())).collect();
    format!("{kind}:{}", values.join(":"))
}

fn double_id(value: f64) -> String {
    if value.is_nan() { "NaN".to_owned() } else { format!("{:?}", value + 0.0) }
}
