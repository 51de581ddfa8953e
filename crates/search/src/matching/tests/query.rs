//! Random documents and random queries over all kinds of fields, and queries as YQL.
use brooklet_document::{Document, Value};

use super::random::Random;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    Text,
    Prefix,
    Suffix,
    Substring,
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fold {
    None,
    Lowercase,
    Full,
}

/// A string field, or a part of one, as the definition sees it.
pub(super) struct Text {
    pub(super) path: &'static str,
    pub(super) mode: Mode,
    pub(super) fold: Fold,
    pub(super) max_bytes: usize,
}

const fn text(path: &'static str, mode: Mode, fold: Fold) -> Text {
    Text { path, mode, fold, max_bytes: 1 << 20 }
}

pub(super) const TEXTS: [Text; 21] = [
    text("text", Mode::Text, Fold::Full),
    text("lines", Mode::Text, Fold::Full),
    text("cased", Mode::Text, Fold::None),
    Text { path: "short", mode: Mode::Text, fold: Fold::Full, max_bytes: 5 },
    text("begin", Mode::Prefix, Fold::Full),
    text("finish", Mode::Suffix, Fold::Full),
    text("inside", Mode::Substring, Fold::Full),
    text("word", Mode::Whole, Fold::Lowercase),
    text("exact", Mode::Whole, Fold::Lowercase),
    text("name", Mode::Whole, Fold::Lowercase),
    text("names", Mode::Whole, Fold::Lowercase),
    text("tags", Mode::Whole, Fold::Lowercase),
    text("words", Mode::Text, Fold::Full),
    text("link", Mode::Text, Fold::Full),
    text("people.name", Mode::Text, Fold::Full),
    text("people.nicks", Mode::Text, Fold::Full),
    text("owner.name", Mode::Text, Fold::Full),
    text("facts.key", Mode::Text, Fold::Full),
    text("facts.value", Mode::Text, Fold::Full),
    text("byyear.value.name", Mode::Text, Fold::Full),
    text("staff.name", Mode::Whole, Fold::Lowercase),
];

/// Those whose values may be compared fuzzily: attributes that are not indexed.
const FUZZY: [&str; 4] = ["name", "names", "tags", "staff.name"];

pub(super) const NUMBERS: [&str; 11] = [
    "num",
    "nums",
    "points",
    "tiny",
    "big",
    "price",
    "people.born",
    "owner.born",
    "byyear.key",
    "byyear.value.born",
    "staff.born",
];

const SETS: [(&str, [usize; 2]); 3] = [("texts", [0, 1]), ("mixed", [0, 7]), ("wholes", [7, 9])];

pub(super) const SCHEMA: &str = "
schema t {
    document t {
        struct person {
            field name type string {}
            field born type int {}
            field nicks type array<string> {}
        }
        field text type string { indexing: summary | index }
        field lines type array<string> { indexing: summary | index }
        field cased type string {
            indexing: summary | index
            match: cased
        }
        field short type string {
            indexing: summary | index
            match { max-length: 5 }
        }
        field begin type string {
            indexing: summary | index
            match: prefix
        }
        field finish type string {
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
        field names type array<string> { indexing: summary | attribute }
        field tags type weightedset<string> { indexing: summary | attribute }
        field words type weightedset<string> { indexing: summary | index }
        field link type uri { indexing: summary | index }
        field num type int { indexing: summary | attribute }
        field nums type array<long> { indexing: summary | attribute }
        field points type weightedset<int> { indexing: summary | attribute }
        field tiny type byte { indexing: summary | attribute }
        field big type long { indexing: summary | attribute }
        field price type double { indexing: summary | attribute }
        field place type position { indexing: summary | attribute }
        field places type array<position> { indexing: summary | attribute }
        field people type array<person> { indexing: summary | index }
        field owner type person { indexing: summary | index }
        field facts type map<string, string> { indexing: summary | index }
        field byyear type map<int, person> { indexing: summary | index }
        field staff type array<person> {
            indexing: summary
            struct-field name { indexing: attribute }
            struct-field born { indexing: attribute }
        }
    }
    fieldset texts { fields: text, lines }
    fieldset mixed { fields: text, word }
    fieldset wholes { fields: word, name }
    rank-profile gap {
        first-phase { expression: 1 }
        rank lines { element-gap: 1 }
        rank people.name { element-gap: 0 }
    }
}";

/// How the text of a term is meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Word {
    Plain,
    Prefix,
    Suffix,
    Substring,
}

/// A term. `name` is what the query calls its field.
#[derive(Clone, Debug)]
pub(super) enum Leaf {
    Term { name: String, fields: Vec<usize>, kind: Word, text: String },
    Phrase { name: String, fields: Vec<usize>, words: Vec<String> },
    Equiv(Vec<Leaf>),
    In { name: String, field: usize, texts: Vec<String> },
    Fuzzy { name: String, fields: Vec<usize>, text: String, edits: usize, locked: usize, prefix: bool },
    Regex { name: String, fields: Vec<usize>, pattern: String },
    Range { name: String, field: usize, low: f64, high: f64 },
    Weighted { name: String, path: &'static str, tokens: Vec<(String, i32)>, operator: &'static str, threshold: f64 },
    Circle { path: &'static str, latitude: f64, longitude: f64, degrees: f64 },
    Box { path: &'static str, south: f64, west: f64, north: f64, east: f64 },
}

#[derive(Clone, Debug)]
pub(super) enum Query {
    All(bool),
    Leaf(Leaf),
    And(Vec<Query>),
    Or(Vec<Query>),
    AndNot(Box<Query>, Box<Query>),
    Rank(Box<Query>, Box<Query>),
    Near { name: String, leaves: Vec<Leaf>, negatives: Vec<Leaf>, distance: u32, exclusion: Option<u32>, ordered: bool },
    Same { field: &'static str, condition: Box<Query>, filter: Vec<u32> },
}

const LETTERS: [&str; 10] = ["a", "B", "é", "ß", " ", "-", "a", "É", " ", "☃"];
const WORDS: [&str; 5] = ["a", "b", "é", "ab", "ß"];

fn some_text(random: &mut Random, most: usize) -> String {
    if random.once_in(2) {
        let words = 1 + random.below(most);
        return (0..words).map(|_| random.one_of(&WORDS)).collect::<Vec<_>>().join(random.one_of(&[" ", " ", "-"]));
    }
    (0..1 + random.below(most)).map(|_| random.one_of(&LETTERS)).collect()
}

fn list<T>(random: &mut Random, most: usize, mut of: impl FnMut(&mut Random) -> T) -> Vec<T> {
    (0..random.below(most + 1)).map(|_| of(random)).collect()
}

fn value(random: &mut Random) -> Value {
    Value::String(some_text(random, 8))
}

fn texts(random: &mut Random) -> Value {
    Value::Array(list(random, 3, value))
}

fn small(random: &mut Random) -> i32 {
    random.below(5) as i32 - 1
}

fn set(random: &mut Random, mut of: impl FnMut(&mut Random) -> Value) -> Value {
    let mut entries: Vec<(Value, i32)> = Vec::new();
    for _ in 0..random.below(4) {
        let key = of(random);
        if !entries.iter().any(|(other, _)| *other == key) {
            entries.push((key, random.below(7) as i32 - 2));
        }
    }
    Value::WeightedSet(entries)
}

fn map(random: &mut Random, key: impl Fn(&mut Random) -> Value, of: impl Fn(&mut Random) -> Value) -> Value {
    let mut entries: Vec<(Value, Value)> = Vec::new();
    for _ in 0..random.below(4) {
        let key = key(random);
        if !entries.iter().any(|(other, _)| *other == key) {
            entries.push((key, of(random)));
        }
    }
    Value::Map(entries)
}

fn person(random: &mut Random) -> Value {
    let fields = [("name", value(random)), ("born", Value::Int(small(random))), ("nicks", texts(random))];
    let kept = fields.into_iter().filter(|(_, value)| !value.is_empty_collection());
    Value::Struct(kept.filter(|_| !random.once_in(4)).map(|(name, value)| (name.to_owned(), value)).collect())
}

fn position(random: &mut Random) -> Value {
    let degrees = |random: &mut Random, around: i32| (around * 100 + random.below(5) as i32) * 10_000;
    let latitude = random.one_of(&[0, 60]);
    Value::Position { x: degrees(random, 10), y: degrees(random, latitude) }
}

/// A document with most fields set.
pub(super) fn document(random: &mut Random, number: usize) -> Document {
    let fields = [
        ("text", value(random)),
        ("lines", texts(random)),
        ("cased", value(random)),
        ("short", value(random)),
        ("begin", value(random)),
        ("finish", value(random)),
        ("inside", value(random)),
        ("word", value(random)),
        ("exact", texts(random)),
        ("name", value(random)),
        ("names", texts(random)),
        ("tags", set(random, value)),
        ("words", set(random, value)),
        ("link", value(random)),
        ("num", Value::Int(small(random))),
        ("nums", Value::Array(list(random, 3, |random| Value::Long(i64::from(small(random)))))),
        ("points", set(random, |random| Value::Int(small(random)))),
        ("tiny", Value::Byte(small(random) as i8)),
        ("big", Value::Long(i64::from(small(random)) << 30)),
        ("price", Value::Double(f64::from(small(random)) / 2.0)),
        ("place", position(random)),
        ("places", Value::Array(list(random, 3, position))),
        ("people", Value::Array(list(random, 3, person))),
        ("owner", person(random)),
        ("facts", map(random, value, value)),
        ("byyear", map(random, |random| Value::Int(small(random)), person)),
        ("staff", Value::Array(list(random, 3, person))),
    ];
    let kept = fields.into_iter().filter(|(_, value)| !value.is_empty_collection());
    let fields = kept.filter(|_| !random.once_in(6)).map(|(name, value)| (name.to_owned(), value)).collect();
    Document { id: format!("id:t:t:g=u:{number}"), fields }
}

/// Which fields a leaf may search, and what the query calls them.
struct Names {
    texts: Vec<(String, Vec<usize>)>,
    numbers: Vec<(String, usize)>,
    /// Whether leaves are inside of an element, where not all operators can stand.
    inside: bool,
}

impl Names {
    fn all() -> Names {
        let single = TEXTS.iter().enumerate().map(|(index, field)| (field.path.to_owned(), vec![index]));
        let sets = SETS.iter().map(|(name, fields)| ((*name).to_owned(), fields.to_vec()));
        let numbers = NUMBERS.iter().enumerate().map(|(index, path)| ((*path).to_owned(), index));
        Names { texts: single.chain(sets).collect(), numbers: numbers.collect(), inside: false }
    }

    /// The parts of a field, named as inside of its elements.
    fn new(field: &str) -> Names {
        let relative = |path: &str| {
            let rest = path.strip_prefix(field)?;
            if rest.is_empty() { Some(String::new()) } else { rest.strip_prefix('.').map(str::to_owned) }
        };
        let texts = TEXTS.iter().enumerate().filter_map(|(index, text)| Some((relative(text.path)?, vec![index])));
        let numbers = NUMBERS.iter().enumerate().filter_map(|(index, path)| Some((relative(path)?, index)));
        Names { texts: texts.collect(), numbers: numbers.collect(), inside: true }
    }

    fn term(&self, random: &mut Random) -> Leaf {
        let (name, fields) = random.pick(&self.texts).clone();
        let plain = matches!(TEXTS[fields[0]].mode, Mode::Text | Mode::Whole) && !name.is_empty();
        let kind = random.one_of(&[Word::Plain, Word::Plain, Word::Prefix, Word::Suffix, Word::Substring]);
        // Of several fields or an element itself only plain terms are asked: what others mean there is said elsewhere.
        let kind = if fields.len() > 1 || name.is_empty() { Word::Plain } else { kind };
        let text = if plain && kind == Word::Plain { letters(random, 3) } else { word(random) };
        let text = if kind == Word::Substring && random.once_in(2) { letters(random, 3) } else { text };
        Leaf::Term { name, fields, kind, text }
    }

    fn phrase(&self, random: &mut Random) -> Leaf {
        let (name, fields) = random.pick(&self.texts).clone();
        Leaf::Phrase { name, fields, words: (0..2 + random.below(2)).map(|_| word(random)).collect() }
    }

    fn leaf(&self, random: &mut Random) -> Leaf {
        if self.texts.is_empty() || (!self.numbers.is_empty() && random.once_in(5)) {
            let (name, field) = random.pick(&self.numbers).clone();
            let low = f64::from(small(random)) * if NUMBERS[field] == "big" { f64::from(1 << 30) } else { 1.0 };
            return Leaf::Range { name, field, low, high: low + random.below(3) as f64 };
        }
        let (name, fields) = random.pick(&self.texts).clone();
        if name.is_empty() {
            return self.term(random);
        }
        match random.below(if self.inside { 12 } else { 13 }) {
            0..=4 => self.term(random),
            5 => self.phrase(random),
            6 if fields.len() == 1 => {
                let words = (0..1 + random.below(2)).map(|_| self.word_in(random, &name, &fields));
                let mut leaves: Vec<Leaf> = words.collect();
                leaves.push(Leaf::Phrase { name, fields, words: vec![word(random), word(random)] });
                Leaf::Equiv(leaves)
            }
            7 if fields.iter().all(|field| FUZZY.contains(&TEXTS[*field].path)) => Leaf::Fuzzy {
                name,
                fields,
                text: some_text(random, 5).replace('☃', "a"),
                edits: random.below(3),
                locked: random.below(3),
                prefix: random.once_in(3),
            },
            8 => Leaf::Regex { name, fields, pattern: pattern(random) },
            9 if fields.len() == 1 => {
                Leaf::In { name, field: fields[0], texts: vec![word(random), letters(random, 3)] }
            }
            10 | 11 if self.inside => self.weighted_part(random),
            10 | 11 => weighted(random),
            12 => place(random),
            _ => self.term(random),
        }
    }

    /// A weighted operator on a part of an element.
    fn weighted_part(&self, random: &mut Random) -> Leaf {
        let texts = self.texts.iter().map(|(name, fields)| (name, TEXTS[fields[0]].path));
        let numbers = self.numbers.iter().map(|(name, field)| (name, NUMBERS[*field]));
        let parts: Vec<_> = texts.chain(numbers).collect();
        let (name, path) = *random.pick(&parts);
        weighted_in(random, name.clone(), path)
    }

    /// A word of one field, as near and equiv take them.
    fn word_in(&self, random: &mut Random, name: &str, fields: &[usize]) -> Leaf {
        Leaf::Term { name: name.to_owned(), fields: fields.to_vec(), kind: Word::Plain, text: word(random) }
    }

    fn near(&self, random: &mut Random) -> Query {
        let texts: Vec<_> = self.texts.iter().filter(|(name, _)| !name.is_empty()).collect();
        let Some((name, fields)) = (!texts.is_empty()).then(|| (*random.pick(&texts)).clone()) else {
            return Query::Leaf(self.leaf(random));
        };
        let child = |random: &mut Random| match random.below(6) {
            0 => Leaf::Phrase { name: name.clone(), fields: fields.clone(), words: vec![word(random), word(random)] },
            1 => Leaf::Equiv(vec![self.word_in(random, &name, &fields), self.word_in(random, &name, &fields)]),
            _ => self.word_in(random, &name, &fields),
        };
        let leaves = (0..2 + random.below(2)).map(|_| child(random)).collect();
        let negatives = list(random, 1, |random| self.word_in(random, &name, &fields));
        let exclusion = random.once_in(2).then(|| random.below(3) as u32);
        Query::Near { name, leaves, negatives, distance: random.below(5) as u32, exclusion, ordered: random.once_in(2) }
    }

    fn query(&self, random: &mut Random, depth: usize) -> Query {
        if depth > 0 && !random.once_in(3) {
            let (a, b) = (self.query(random, depth - 1), self.query(random, depth - 1));
            return match random.below(5) {
                0 | 1 => Query::And(vec![a, b]),
                2 => Query::Or(vec![a, b, self.query(random, depth - 1)]),
                3 => Query::AndNot(Box::new(a), Box::new(b)),
                _ => Query::Rank(Box::new(a), Box::new(b)),
            };
        }
        match random.below(8) {
            0 | 1 => self.near(random),
            2 | 3 if !self.inside => same_element(random),
            4 if !self.inside && random.once_in(4) => Query::All(random.once_in(2)),
            _ => Query::Leaf(self.leaf(random)),
        }
    }
}

fn same_element(random: &mut Random) -> Query {
    let field = random.one_of(&["people", "people", "facts", "byyear", "staff", "lines", "names"]);
    let names = Names::new(field);
    let depth = if names.texts.first().is_some_and(|(name, _)| name.is_empty()) { 1 } else { 2 };
    let condition = Box::new(names.query(random, depth));
    Query::Same { field, condition, filter: if random.once_in(4) { vec![0, 2] } else { Vec::new() } }
}

fn weighted(random: &mut Random) -> Leaf {
    let path = random.one_of(&["tags", "words", "points", "names", "nums", "text", "num"]);
    weighted_in(random, path.to_owned(), path)
}

fn weighted_in(random: &mut Random, name: String, path: &'static str) -> Leaf {
    let numeric = NUMBERS.contains(&path);
    let mut tokens: Vec<(String, i32)> = Vec::new();
    for _ in 0..1 + random.below(3) {
        let key = if numeric { small(random).to_string() } else { word(random) };
        let fold = TEXTS.iter().find(|field| field.path == path).map_or(Fold::None, |field| field.fold);
        let same = |other: &str| super::text::folded(other, fold) == super::text::folded(&key, fold);
        if !tokens.iter().any(|(other, _)| same(other)) {
            tokens.push((key, random.below(6) as i32 - 1));
        }
    }
    let operator = random.one_of(&["weightedSet", "dotProduct", "wand"]);
    Leaf::Weighted { name, path, tokens, operator, threshold: random.below(4) as f64 - 0.5 }
}

fn place(random: &mut Random) -> Leaf {
    let path = random.one_of(&["place", "places"]);
    let (south, west) =
        (random.one_of(&[0.0, 60.0]) + random.below(3) as f64 / 100.0, 10.0 + random.below(4) as f64 / 100.0);
    if random.once_in(2) {
        return Leaf::Box { path, south: south - 0.005, west: west - 0.005, north: south + 0.015, east: west + 0.015 };
    }
    Leaf::Circle { path, latitude: south, longitude: west, degrees: random.one_of(&[0.0033, 0.0163, 1.0]) }
}

fn word(random: &mut Random) -> String {
    random.one_of(&["a", "b", "B", "é", "E", "ab", "ß", "ss", "s"]).to_owned()
}

fn letters(random: &mut Random, most: usize) -> String {
    let word_or_gap = |random: &mut Random| random.one_of(&["a", "B", "é", " ", "-", "b", "ß"]);
    let text: String = (0..1 + random.below(most)).map(|_| word_or_gap(random)).collect();
    if text.trim_matches([' ', '-']).is_empty() { "a".to_owned() } else { text }
}

fn pattern(random: &mut Random) -> String {
    let atom = |random: &mut Random| random.one_of(&["a", "b", "é", ".", "[ab]", " ", "ß", "-", "[é ]"]);
    let piece = |random: &mut Random| format!("{}{}", atom(random), random.one_of(&["", "", "", "*", "+", "?"]));
    let way = |random: &mut Random| {
        let pieces: String = (0..1 + random.below(3)).map(|_| piece(random)).collect();
        format!("{}{pieces}{}", random.one_of(&["", "", "^"]), random.one_of(&["", "", "$"]))
    };
    let first = way(random);
    if random.once_in(4) { format!("{first}|{}", way(random)) } else { first }
}

/// A random query.
pub(super) fn query(random: &mut Random, depth: usize) -> Query {
    Names::all().query(random, depth)
}
