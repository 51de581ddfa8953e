//! Queries match what the definition says: random trees over small documents, against a matcher that reads the plain
//! values, document after document, and knows no dictionary.

use std::fmt::Write as _;

use crate::host::{Host, ids, services};
use crate::random::{Random, config};
use brooklet_text::Tokens;
use proptest::prelude::*;

const SCHEMA: &str = "
schema t {
    document t {
        field text type string { indexing: summary | index }
        field list type array<string> { indexing: summary | index }
        field cased type string {
            indexing: summary | index
            match: cased
        }
        field short type string {
            indexing: summary | index
            match { max-length: 5 }
        }
        field start type string {
            indexing: summary | index
            match: prefix
        }
        field end type string {
            indexing: summary | index
            match: suffix
        }
        field inside type string {
            indexing: summary | index
            match: substring
        }
        field word type string {
            indexing: summary | index
            match: word
        }
        field exact type array<string> {
            indexing: summary | index
            match: exact
        }
        field name type string { indexing: summary | attribute }
        field names type weightedset<string> { indexing: summary | attribute }
        field int type int { indexing: summary | attribute }
        field ints type array<long> { indexing: summary | attribute }
        field float type float { indexing: summary | attribute }
        field flag type bool { indexing: summary | attribute }
    }
    fieldset texts { fields: text, list }
    fieldset mixed { fields: text, word }
    fieldset wholes { fields: word, name }
}";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Text,
    Prefix,
    Suffix,
    Substring,
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fold {
    None,
    Lowercase,
    Full,
}

/// A string field as the definition sees it.
#[derive(Clone, Copy)]
struct TextField {
    name: &'static str,
    mode: Mode,
    fold: Fold,
    max_bytes: usize,
}

const fn field(name: &'static str, mode: Mode, fold: Fold) -> TextField {
    TextField { name, mode, fold, max_bytes: 1 << 20 }
}

const TEXTS: [TextField; 11] = [
    field("text", Mode::Text, Fold::Full),
    field("list", Mode::Text, Fold::Full),
    field("cased", Mode::Text, Fold::None),
    TextField { name: "short", mode: Mode::Text, fold: Fold::Full, max_bytes: 5 },
    field("start", Mode::Prefix, Fold::Full),
    field("end", Mode::Suffix, Fold::Full),
    field("inside", Mode::Substring, Fold::Full),
    field("word", Mode::Whole, Fold::Lowercase),
    field("exact", Mode::Whole, Fold::Lowercase),
    field("name", Mode::Whole, Fold::Lowercase),
    field("names", Mode::Whole, Fold::Lowercase),
];

const SETS: [(&str, [usize; 2]); 3] = [("texts", [0, 1]), ("mixed", [0, 7]), ("wholes", [7, 9])];

#[derive(Clone, Debug, Default)]
struct Document {
    texts: Vec<Vec<String>>,
    int: Option<i32>,
    ints: Vec<i64>,
    float: Option<f32>,
    flag: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    Prefix,
    Suffix,
    Substring,
}

#[derive(Clone, Debug)]
enum Query {
    /// Name of a field or set, its fields, how, text.
    Term(&'static str, Vec<usize>, Kind, String),
    Phrase(&'static str, usize, Vec<String>),
    In(&'static str, usize, Vec<String>),
    Int(&'static str, &'static str, i64),
    IntRange(&'static str, f64, f64),
    IntIn(&'static str, Vec<i64>),
    Float(&'static str, f64),
    Flag(bool),
    All(bool),
    And(Vec<Query>),
    Or(Vec<Query>),
    AndNot(Box<Query>, Box<Query>),
    Rank(Box<Query>, Box<Query>),
}

const LETTERS: [&str; 9] = ["a", "B", "é", "ß", " ", "-", "x", "É", "☃"];

fn some_text(random: &mut Random, most: usize) -> String {
    let length = 1 + random.below(most);
    (0..length).map(|_| random.one_of(&LETTERS)).collect()
}

fn document(random: &mut Random) -> Document {
    let texts = TEXTS.iter().map(|field| {
        let several = matches!(field.name, "list" | "exact" | "names");
        let count = if several { random.below(4) } else { usize::from(!random.once_in(4)) };
        let mut values: Vec<String> = (0..count).map(|_| some_text(random, 8)).collect();
        values.sort();
        values.dedup();
        values
    });
    let texts = texts.collect();
    Document {
        texts,
        int: (!random.once_in(4)).then(|| random.below(7) as i32 - 3),
        ints: (0..random.below(3)).map(|_| random.below(7) as i64 - 3).collect(),
        float: (!random.once_in(4)).then(|| random.below(7) as f32 / 2.0 - 1.5),
        flag: (!random.once_in(4)).then(|| random.once_in(2)),
    }
}

fn fields(document: &Document) -> String {
    let mut json = Vec::new();
    for (field, values) in TEXTS.iter().zip(&document.texts).filter(|(_, values)| !values.is_empty()) {
        let name = field.name;
        json.push(match name {
            "list" | "exact" => format!("\"{name}\":{values:?}"),
            "names" => {
                let entries: Vec<String> = values.iter().map(|value| format!("{value:?}:2")).collect();
                format!("\"{name}\":{{{}}}", entries.join(","))
            }
            _ => format!("\"{name}\":{:?}", values[0]),
        });
    }
    json.extend(document.int.map(|int| format!("\"int\":{int}")));
    json.push(format!("\"ints\":{:?}", document.ints));
    json.extend(document.float.map(|float| format!("\"float\":{float:?}")));
    json.extend(document.flag.map(|flag| format!("\"flag\":{flag}")));
    format!("{{{}}}", json.join(","))
}

fn query(random: &mut Random, depth: usize) -> Query {
    if depth > 0 && !random.once_in(3) {
        let mut inner = || query(random, depth - 1);
        let (a, b) = (inner(), inner());
        return match random.below(5) {
            0 | 1 => Query::And(vec![a, b]),
            2 => Query::Or(vec![a, b, query(random, depth - 1)]),
            3 => Query::AndNot(Box::new(a), Box::new(b)),
            _ => Query::Rank(Box::new(a), Box::new(b)),
        };
    }
    match random.below(12) {
        0 => Query::Int("int", random.one_of(&["=", "<", ">", "<=", ">="]), random.below(7) as i64 - 3),
        1 => Query::Int("ints", random.one_of(&["=", "<", ">"]), random.below(7) as i64 - 3),
        2 => {
            let low = random.below(9) as f64 / 2.0 - 3.0;
            Query::IntRange("int", low, low + random.below(6) as f64 / 2.0)
        }
        3 => Query::IntIn(random.one_of(&["int", "ints"]), (0..3).map(|_| random.below(9) as i64 - 4).collect()),
        4 => Query::Float(random.one_of(&["<", ">", "="]), random.below(7) as f64 / 2.0 - 1.5),
        5 if random.once_in(2) => Query::Flag(random.once_in(2)),
        5 => Query::All(random.once_in(2)),
        6 => {
            let of = random.one_of(&[0, 1, 2, 3]);
            let words = (0..1 + random.below(3)).map(|_| word(random)).collect();
            Query::Phrase(TEXTS[of].name, of, words)
        }
        7 => {
            let of = random.below(TEXTS.len());
            Query::In(TEXTS[of].name, of, (0..2).map(|_| some_text(random, 3)).collect())
        }
        8 => {
            let (name, of) = random.pick(&SETS);
            Query::Term(name, of.to_vec(), Kind::Plain, some_text(random, 4))
        }
        _ => {
            let of = random.below(TEXTS.len());
            let kind = random.one_of(&[Kind::Plain, Kind::Plain, Kind::Prefix, Kind::Suffix, Kind::Substring]);
            let text = if plain_mode(of) { some_text(random, 4) } else { word(random) };
            Query::Term(TEXTS[of].name, vec![of], kind, text)
        }
    }
}

/// Whether texts of several words mean a phrase for the field, or one value.
fn plain_mode(field: usize) -> bool {
    matches!(TEXTS[field].mode, Mode::Text | Mode::Whole)
}

fn word(random: &mut Random) -> String {
    (0..1 + random.below(3)).map(|_| random.one_of(&["a", "B", "é", "ß", "x"])).collect()
}

fn yql(query: &Query) -> String {
    let joined =
        |queries: &[Query], with: &str| queries.iter().map(|q| format!("({})", yql(q))).collect::<Vec<_>>().join(with);
    let quoted = |texts: &[String]| texts.iter().map(|text| format!("'{text}'")).collect::<Vec<_>>().join(", ");
    match query {
        Query::Term(name, _, Kind::Plain, text) => format!("{name} contains '{text}'"),
        Query::Term(name, _, kind, text) => {
            let kind = format!("{kind:?}").to_lowercase();
            format!("{name} contains ({{{kind}:true}}'{text}')")
        }
        Query::Phrase(name, _, words) => format!("{name} contains phrase({})", quoted(words)),
        Query::In(name, _, texts) => format!("{name} in ({})", quoted(texts)),
        Query::Int(name, how, value) => format!("{name} {how} {value}"),
        Query::IntRange(name, low, high) => format!("range({name}, {low:?}, {high:?})"),
        Query::IntIn(name, values) => {
            let mut text = format!("{name} in (");
            values.iter().for_each(|value| write!(text, "{value},").expect("a string takes all"));
            format!("{})", text.trim_end_matches(','))
        }
        Query::Float(how, value) => format!("float {how} {value:?}"),
        Query::Flag(value) => format!("flag = {value}"),
        Query::All(value) => value.to_string(),
        Query::And(queries) => joined(queries, " and "),
        Query::Or(queries) => joined(queries, " or "),
        Query::AndNot(a, b) => format!("({}) and !({})", yql(a), yql(b)),
        Query::Rank(a, b) => format!("rank({}, {})", yql(a), yql(b)),
    }
}

fn folded(text: &str, fold: Fold) -> String {
    let mut out = String::new();
    match fold {
        Fold::None => out.push_str(text),
        Fold::Lowercase => brooklet_text::lowercase(text, &mut out),
        Fold::Full => brooklet_text::fold(text, &mut out),
    }
    out
}

impl TextField {
    fn cut<'a>(&self, value: &'a str) -> &'a str {
        let end = (0..=value.len().min(self.max_bytes)).rev().find(|end| value.is_char_boundary(*end));
        &value[..end.unwrap_or(0)]
    }

    fn tokens(&self, value: &str) -> Vec<String> {
        let value = self.cut(value);
        Tokens::new(value).map(|token| folded(&value[token.start..token.end], self.fold)).collect()
    }

    /// Whether a value has a text that was normalised already.
    fn has(&self, value: &str, kind: Kind, text: &str) -> bool {
        let whole = || folded(self.cut(value), Fold::Full);
        match (kind, self.mode) {
            (Kind::Substring, _) | (Kind::Plain | Kind::Prefix, Mode::Substring) => whole().contains(text),
            (Kind::Suffix, Mode::Whole) => {
                let value = self.cut(value);
                Tokens::new(value).any(|token| folded(&value[token.start..token.end], Fold::Full).ends_with(text))
            }
            (Kind::Suffix, _) | (Kind::Plain, Mode::Suffix) => {
                self.tokens(value).iter().any(|word| word.ends_with(text))
            }
            (Kind::Prefix, Mode::Whole) => folded(self.cut(value), self.fold).starts_with(text),
            (Kind::Prefix, _) | (Kind::Plain, Mode::Prefix) => {
                self.tokens(value).iter().any(|word| word.starts_with(text))
            }
            (Kind::Plain, Mode::Whole) => folded(self.cut(value), self.fold) == text,
            (Kind::Plain, Mode::Text) => self.tokens(value).iter().any(|word| word == text),
        }
    }

    fn has_phrase(&self, value: &str, words: &[String]) -> bool {
        self.mode != Mode::Whole && self.tokens(value).windows(words.len()).any(|window| window == words)
    }
}

fn term(document: &Document, of: &[usize], kind: Kind, text: &str) -> bool {
    let fields: Vec<TextField> = of.iter().map(|index| TEXTS[*index]).collect();
    let same = fields.iter().all(|field| field.fold == fields[0].fold);
    let fold = if same { fields[0].fold } else { Fold::Full };
    // The first field of a set decides whether the text is cut into words.
    let words: Vec<&str> = match kind {
        Kind::Plain if fields[0].mode != Mode::Whole => brooklet_text::segment(text),
        _ => vec![text],
    };
    let words: Vec<String> = words.into_iter().map(|word| folded(word, fold)).collect();
    of.iter().zip(&fields).any(|(index, field)| {
        document.texts[*index].iter().any(|value| match &words[..] {
            [word] => field.has(value, kind, word),
            words => field.has_phrase(value, words),
        })
    })
}

fn holds(query: &Query, document: &Document) -> bool {
    let ints = |name: &str| match name {
        "int" => document.int.iter().map(|int| i64::from(*int)).collect(),
        _ => document.ints.clone(),
    };
    match query {
        Query::Term(_, of, kind, text) => term(document, of, *kind, text),
        Query::Phrase(_, of, words) => {
            let field = TEXTS[*of];
            let words: Vec<String> = words.iter().map(|word| folded(word, field.fold)).collect();
            document.texts[*of].iter().any(|value| field.has_phrase(value, &words))
        }
        Query::In(_, of, texts) => {
            let field =
                TextField { mode: if TEXTS[*of].mode == Mode::Whole { Mode::Whole } else { Mode::Text }, ..TEXTS[*of] };
            let texts: Vec<String> = texts.iter().map(|text| folded(text, field.fold)).collect();
            document.texts[*of].iter().any(|value| texts.iter().any(|text| field.has(value, Kind::Plain, text)))
        }
        Query::Int(name, how, value) => ints(name).iter().any(|int| compare(*int as f64, how, *value as f64)),
        // A range of one number is an equality, which rounds half away from zero.
        Query::IntRange(name, low, high) if low == high => ints(name).iter().any(|int| *int as f64 == low.round()),
        Query::IntRange(name, low, high) => ints(name).iter().any(|int| (*low..=*high).contains(&(*int as f64))),
        Query::IntIn(name, values) => ints(name).iter().any(|int| values.contains(int)),
        Query::Float(how, value) => document.float.is_some_and(|float| compare(f64::from(float), how, *value)),
        Query::Flag(value) => document.flag == Some(*value),
        Query::All(value) => *value,
        Query::And(queries) => queries.iter().all(|query| holds(query, document)),
        Query::Or(queries) => queries.iter().any(|query| holds(query, document)),
        Query::AndNot(a, b) => holds(a, document) && !holds(b, document),
        Query::Rank(a, _) => holds(a, document),
    }
}

fn compare(a: f64, how: &str, b: f64) -> bool {
    match how {
        "=" => a == b,
        "<" => a < b,
        ">" => a > b,
        "<=" => a <= b,
        _ => a >= b,
    }
}

proptest! {
    #![proptest_config(config(2_000))]

    /// Four trees a case.
    #[test]
    fn trees_match_what_they_say(seed in any::<u64>(), count in 1usize..9, depth in 0usize..4, folded in any::<bool>()) {
        let mut random = Random::new(seed);
        let mut host = Host::new(&[("services.xml", &services(&["t"])), ("schemas/t.sd", SCHEMA)], 0);
        let documents: Vec<Document> = (0..count).map(|_| document(&mut random)).collect();
        for (number, document) in documents.iter().enumerate() {
            host.put(&format!("id:t:t:g=u:{number}"), &fields(document)).unwrap();
            if folded && number == count / 2 {
                host.compact("g:u", 1);
            }
        }
        for _ in 0..4 {
            let query = query(&mut random, depth);
            let expected: Vec<String> = (0..count)
                .filter(|number| holds(&query, &documents[*number]))
                .map(|number| format!("id:t:t:g=u:{number}"))
                .collect();
            let yql = format!("select documentid from t where {}", yql(&query));
            let answer = host.search("g:u", &[("yql", &yql), ("ranking", "unranked")]);
            prop_assert_eq!(answer.status, 200, "{}: {}", yql, answer.json);
            let mut got = ids(&answer);
            got.sort();
            prop_assert_eq!(&got, &expected, "{} over {:?}", yql, documents);
            prop_assert_eq!(answer.json["root"]["fields"]["totalCount"].as_u64(), Some(expected.len() as u64));
        }
    }
}
