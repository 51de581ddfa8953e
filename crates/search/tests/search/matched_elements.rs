//! Elements that a summary shows because they matched (`matched-elements-only`) over random queries against a naive twin:
//! lists, weighted sets, maps and lists of structs, as columns and within the document alone, by terms, phrases, words that
//! stand near each other, ranges, lists of values, weighted operators and conditions on elements, below operators that hold
//! or do not, in the tail and folded. `PROPTEST_CASES` says how many queries are asked.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::host::{Host, services};
use crate::random::Random;
use serde_json::{Map, Value as Json, json};

const WORDS: [&str; 4] = ["a", "b", "c", "d"];
const FIELDS: [&str; 10] =
    ["numbers", "texts", "names", "weights", "years", "words", "facts", "counts", "people", "staff"];

/// How the values of a part are compared: numbers, words, or whole texts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Number,
    Words,
    Whole,
}

/// What can be searched: its path, the number of its field, the part of an element, how it is compared.
const PARTS: [(&str, usize, usize, Kind); 15] = [
    ("numbers", 0, 0, Kind::Number),
    ("texts", 1, 0, Kind::Words),
    ("names", 2, 0, Kind::Whole),
    ("weights", 3, 0, Kind::Whole),
    ("years", 4, 0, Kind::Number),
    ("words", 5, 0, Kind::Words),
    ("facts.key", 6, 0, Kind::Words),
    ("facts.value", 6, 1, Kind::Words),
    ("counts.key", 7, 0, Kind::Number),
    ("counts.value", 7, 1, Kind::Number),
    ("people.name", 8, 0, Kind::Words),
    ("people.age", 8, 1, Kind::Number),
    ("people.nick", 8, 2, Kind::Words),
    ("staff.name", 9, 0, Kind::Whole),
    ("staff.age", 9, 1, Kind::Number),
];

const SCHEMA: &str = "schema d { document d {
    struct person {
        field name type string {}
        field age type int {}
        field nick type string {}
    }
    field numbers type array<int> { indexing: summary | attribute }
    field texts type array<string> { indexing: summary | index }
    field names type array<string> { indexing: summary | attribute }
    field weights type weightedset<string> { indexing: summary | attribute }
    field years type weightedset<int> { indexing: summary | attribute }
    field words type weightedset<string> { indexing: summary | index }
    field facts type map<string, string> { indexing: summary | index }
    field counts type map<int, int> {
        indexing: summary
        struct-field key { indexing: attribute }
        struct-field value { indexing: attribute }
    }
    field people type array<person> { indexing: summary | index }
    field staff type array<person> {
        indexing: summary
        struct-field name { indexing: attribute }
        struct-field age { indexing: attribute }
    }
} document-summary matched { SHOWN } }";

/// The parts of an element as texts; a struct may lack some.
type Element = Vec<Option<String>>;

struct Document {
    id: String,
    fields: Vec<Vec<Element>>,
}

fn text(random: &mut Random) -> String {
    (0..1 + random.below(4)).map(|_| random.one_of(&WORDS)).collect::<Vec<_>>().join(" ")
}

fn number(random: &mut Random) -> i64 {
    random.below(6) as i64 - 1
}

impl Document {
    fn random(random: &mut Random, at: usize) -> Document {
        let element = |random: &mut Random, field: usize| -> Element {
            let parts = PARTS.iter().filter(|(_, of, ..)| *of == field).map(|(.., kind)| *kind);
            let mut element: Element = parts
                .map(|kind| Some(if kind == Kind::Number { number(random).to_string() } else { text(random) }))
                .collect();
            if FIELDS[field] == "facts" {
                element[0] = Some(random.one_of(&WORDS).to_owned());
            }
            if field >= 8 {
                element[1..].iter_mut().filter(|_| random.once_in(4)).for_each(|part| *part = None);
            }
            element
        };
        let has_keys = |field: usize| (3..8).contains(&field);
        let fields = (0..FIELDS.len()).map(|field| {
            let mut elements: Vec<Element> = Vec::new();
            for _ in 0..random.below(5) {
                let element = element(random, field);
                if !has_keys(field) || elements.iter().all(|other| other[0] != element[0]) {
                    elements.push(element);
                }
            }
            elements
        });
        Document { fields: fields.collect(), id: format!("id:s:d:g=a:{at:02}") }
    }

    /// These elements of a field as JSON.
    fn json(&self, field: usize, kept: &dyn Fn(usize) -> bool) -> Option<Json> {
        let kinds: Vec<Kind> = PARTS.iter().filter(|(_, of, ..)| *of == field).map(|(.., kind)| *kind).collect();
        let value = |part: usize, element: &Element| -> Option<Json> {
            let text = element[part].as_ref()?;
            Some(if kinds[part] == Kind::Number { json!(text.parse::<i64>().unwrap()) } else { json!(text) })
        };
        let elements: Vec<&Element> =
            self.fields[field].iter().enumerate().filter(|(at, _)| kept(*at)).map(|(_, element)| element).collect();
        if elements.is_empty() {
            return None;
        }
        let person = |element: &Element| -> Json {
            let members = ["name", "age", "nick"].iter().enumerate().take(element.len());
            Json::Object(members.filter_map(|(part, name)| Some(((*name).to_owned(), value(part, element)?))).collect())
        };
        Some(match field {
            0..=2 => elements.iter().filter_map(|element| value(0, element)).collect(),
            3..=5 => {
                elements.iter().map(|element| (element[0].clone().unwrap(), json!(2))).collect::<Map<_, _>>().into()
            }
            6 | 7 => {
                let entries = elements.iter().map(|element| (element[0].clone().unwrap(), value(1, element).unwrap()));
                entries.collect::<Map<_, _>>().into()
            }
            _ => elements.iter().map(|element| person(element)).collect(),
        })
    }
}

/// What is asked of one element.
type Condition = Rc<dyn Fn(&Element) -> bool>;

/// The same, and how it is written.
#[derive(Clone)]
struct Asked {
    yql: String,
    holds: Condition,
}

#[derive(Clone)]
enum Query {
    Leaf(usize, Asked),
    And(Box<[Query; 2]>),
    Or(Box<[Query; 2]>),
    WeakAnd(Box<[Query; 2]>),
    Not(Box<[Query; 2]>),
    Rank(Box<[Query; 2]>),
}

fn has_phrase(text: &str, words: &[&str]) -> bool {
    text.split(' ').collect::<Vec<_>>().windows(words.len()).any(|window| window == words)
}

/// Whether two words stand near each other, in their order or in any.
fn is_near(text: &str, words: [&str; 2], distance: usize, ordered: bool) -> bool {
    let tokens: Vec<&str> = text.split(' ').collect();
    let places = |word: &str| -> Vec<usize> { (0..tokens.len()).filter(|at| tokens[*at] == word).collect() };
    let (first, second) = (places(words[0]), places(words[1]));
    first
        .iter()
        .any(|a| second.iter().any(|b| if ordered { a < b && b - a <= distance } else { a.abs_diff(*b) <= distance }))
}

/// Something asked of a part, which is called so.
fn asked(random: &mut Random, (_, _, part, kind): (&str, usize, usize, Kind), name: &str) -> Asked {
    let new = |yql: String, holds: Box<dyn Fn(&str) -> bool>| Asked {
        yql,
        holds: Rc::new(move |element| element[part].as_deref().is_some_and(&holds)),
    };
    if kind == Kind::Number {
        let (a, b) = (number(random), number(random));
        let (low, high) = (a.min(b), a.max(b));
        let of = |text: &str| text.parse::<i64>().unwrap();
        return match random.below(5) {
            0 => new(format!("{name} = {a}"), Box::new(move |text| of(text) == a)),
            1 => new(format!("{name} > {a}"), Box::new(move |text| of(text) > a)),
            2 => new(format!("{name} <= {a}"), Box::new(move |text| of(text) <= a)),
            3 => new(format!("range({name}, {low}, {high})"), Box::new(move |text| (low..=high).contains(&of(text)))),
            _ => new(format!("{name} in ({a}, {b})"), Box::new(move |text| [a, b].contains(&of(text)))),
        };
    }
    let [a, b, c] = [(); 3].map(|()| random.one_of(&WORDS));
    let (s, t, distance) = (text(random), text(random), 1 + random.below(2));
    if kind == Kind::Whole {
        return match random.below(4) {
            0 => new(format!("{name} contains '{s}'"), Box::new(move |text| text == s)),
            1 => new(format!("{name} contains ({{prefix:true}}'{s}')"), Box::new(move |text| text.starts_with(&s))),
            2 => new(format!("{name} in ('{s}', '{t}')"), Box::new(move |text| text == s || text == t)),
            _ => new(format!("{name} matches '{a} {b}'"), Box::new(move |text| text.contains(&format!("{a} {b}")))),
        };
    }
    let has = |text: &str, word: &str| has_phrase(text, &[word]);
    match random.below(8) {
        0 | 1 => new(format!("{name} contains '{a}'"), Box::new(move |text| has(text, a))),
        2 => new(format!("{name} contains phrase('{a}', '{b}')"), Box::new(move |text| has_phrase(text, &[a, b]))),
        3 => new(
            format!("{name} contains ({{distance:{distance}}}near('{a}', '{b}'))"),
            Box::new(move |text| has(text, a) && has(text, b) && is_near(text, [a, b], distance, false)),
        ),
        4 => new(
            format!("{name} contains ({{distance:{distance}}}onear('{a}', '{b}'))"),
            Box::new(move |text| is_near(text, [a, b], distance, true)),
        ),
        5 => new(format!("{name} contains equiv('{a}', '{b}')"), Box::new(move |text| has(text, a) || has(text, b))),
        6 => new(
            format!("{name} contains equiv('{a}', phrase('{b}', '{c}'))"),
            Box::new(move |text| has(text, a) || has_phrase(text, &[b, c])),
        ),
        _ => new(format!("{name} matches '^{a} {b}'"), Box::new(move |text| text.starts_with(&format!("{a} {b}")))),
    }
}

/// Conditions that one element has to fulfil.
fn of_same_element(random: &mut Random) -> (usize, Asked) {
    let field = random.one_of(&[6, 7, 8, 8, 9]);
    let parts: Vec<_> = PARTS.iter().copied().filter(|(_, of, ..)| *of == field).collect();
    let condition = |random: &mut Random| {
        let part = random.one_of(&parts);
        asked(random, part, &part.0[FIELDS[field].len() + 1..])
    };
    let (a, b, c) = (condition(random), condition(random), condition(random));
    let (yql, holds): (String, Condition) = match random.below(4) {
        0 => (a.yql, a.holds),
        1 => (format!("{}, {}", a.yql, b.yql), Rc::new(move |it| (a.holds)(it) && (b.holds)(it))),
        2 => {
            let yql = format!("{}, ({} or {})", a.yql, b.yql, c.yql);
            (yql, Rc::new(move |it| (a.holds)(it) && ((b.holds)(it) || (c.holds)(it))))
        }
        _ => (format!("{} and !({})", a.yql, b.yql), Rc::new(move |it| (a.holds)(it) && !(b.holds)(it))),
    };
    (field, Asked { yql: format!("{} contains sameElement({yql})", FIELDS[field]), holds })
}

/// Any of some tokens.
fn of_tokens(random: &mut Random) -> (usize, Asked) {
    let (name, field, _, kind) = PARTS[random.below(6)];
    let operator = random.one_of(&["weightedSet", "dotProduct", "wand"]);
    let token = |random: &mut Random| match kind {
        Kind::Number => number(random).to_string(),
        Kind::Words => random.one_of(&WORDS).to_owned(),
        Kind::Whole => text(random),
    };
    let tokens: BTreeSet<String> = (0..1 + random.below(3)).map(|_| token(random)).collect();
    let listed: Vec<String> = tokens.iter().map(|token| format!("'{token}':1")).collect();
    let holds = move |element: &Element| {
        let text = element[0].as_deref().unwrap();
        if kind == Kind::Words { text.split(' ').any(|word| tokens.contains(word)) } else { tokens.contains(text) }
    };
    (field, Asked { yql: format!("{operator}({name}, {{{}}})", listed.join(",")), holds: Rc::new(holds) })
}

impl Query {
    fn random(random: &mut Random, depth: usize) -> Query {
        if depth == 0 || random.once_in(3) {
            let (field, asked) = match random.below(6) {
                0 => of_same_element(random),
                1 => of_tokens(random),
                _ => {
                    let part = random.one_of(&PARTS);
                    (part.1, asked(random, part, part.0))
                }
            };
            return Query::Leaf(field, asked);
        }
        let both = Box::new([Query::random(random, depth - 1), Query::random(random, depth - 1)]);
        match random.below(5) {
            0 => Query::And(both),
            1 => Query::Or(both),
            2 => Query::WeakAnd(both),
            3 => Query::Not(both),
            _ => Query::Rank(both),
        }
    }

    fn yql(&self) -> String {
        match self {
            Query::Leaf(_, asked) => asked.yql.clone(),
            Query::And(both) => format!("(({}) and ({}))", both[0].yql(), both[1].yql()),
            Query::Or(both) => format!("(({}) or ({}))", both[0].yql(), both[1].yql()),
            Query::WeakAnd(both) => format!("weakAnd({}, {})", both[0].yql(), both[1].yql()),
            Query::Not(both) => format!("(({}) and !({}))", both[0].yql(), both[1].yql()),
            Query::Rank(both) => format!("rank({}, {})", both[0].yql(), both[1].yql()),
        }
    }

    fn holds(&self, document: &Document) -> bool {
        match self {
            Query::Leaf(field, asked) => document.fields[*field].iter().any(|element| (asked.holds)(element)),
            Query::And(both) => both.iter().all(|child| child.holds(document)),
            Query::Or(both) | Query::WeakAnd(both) => both.iter().any(|child| child.holds(document)),
            Query::Not(both) => both[0].holds(document) && !both[1].holds(document),
            Query::Rank(both) => both[0].holds(document),
        }
    }

    /// The elements that match, by field. What must not match does not count, and a branch counts whether it holds or not.
    fn matched(&self, document: &Document, found: &mut BTreeMap<usize, BTreeSet<usize>>) {
        match self {
            Query::Leaf(field, asked) => {
                let elements = document.fields[*field].iter().enumerate();
                let matching = elements.filter(|(_, element)| (asked.holds)(element)).map(|(at, _)| at);
                found.entry(*field).or_default().extend(matching);
            }
            Query::Not(both) => both[0].matched(document, found),
            Query::And(both) | Query::Or(both) | Query::WeakAnd(both) | Query::Rank(both) => {
                both.iter().for_each(|child| child.matched(document, found));
            }
        }
    }
}

fn host() -> Host {
    let shown: Vec<String> =
        FIELDS.iter().map(|name| format!("summary {name} {{\nmatched-elements-only\n}}\n")).collect();
    let sd = SCHEMA.replace("SHOWN", &shown.concat());
    Host::new(&[("services.xml", &services(&["d"])), ("schemas/d.sd", &sd)], 16 << 20)
}

#[test]
fn elements_that_are_shown_are_those_that_matched() {
    let cases = std::env::var("PROPTEST_CASES").map_or(600, |text| text.parse().unwrap());
    let mut shown = 0;
    for case in 0..u64::div_ceil(cases, 60) {
        let mut random = Random::new(case);
        let mut host = host();
        let documents: Vec<Document> = (0..30).map(|at| Document::random(&mut random, at)).collect();
        for document in &documents {
            let fields = (0..FIELDS.len()).filter_map(|field| {
                let value = document.json(field, &|_| true)?;
                let entry =
                    |(key, value): (&String, &Json)| json!({"key": key.parse::<i64>().unwrap(), "value": value});
                let value = match (field, &value) {
                    (7, Json::Object(entries)) => entries.iter().map(entry).collect(),
                    _ => value,
                };
                Some((FIELDS[field].to_owned(), value))
            });
            let fields: Map<String, Json> = fields.collect();
            host.put(&document.id, &Json::Object(fields).to_string()).unwrap();
            if random.once_in(12) {
                host.compact("g:a", 1);
            }
        }
        for _ in 0..60 {
            let query = Query::random(&mut random, 2);
            let yql = format!("select * from d where {}", query.yql());
            let parameters =
                [("yql", yql.as_str()), ("ranking", "unranked"), ("hits", "100"), ("presentation.summary", "matched")];
            let answer = host.search("g:a", &parameters);
            let hits = answer.json["root"]["children"].as_array().cloned().unwrap_or_default();
            let holding = documents.iter().filter(|document| query.holds(document)).count();
            assert_eq!((answer.status, hits.len()), (200, holding), "{yql}: {}", answer.body);
            for hit in &hits {
                let document = documents.iter().find(|document| hit["id"] == document.id.as_str()).unwrap();
                let mut matched = BTreeMap::new();
                query.matched(document, &mut matched);
                for (field, name) in FIELDS.iter().enumerate() {
                    let kept = |at: usize| matched.get(&field).is_some_and(|elements| elements.contains(&at));
                    let wanted = document.json(field, &kept);
                    assert_eq!(hit["fields"].get(*name), wanted.as_ref(), "{yql}: {name} of {}", document.id);
                    shown += usize::from(wanted.is_some());
                }
            }
        }
    }
    assert!(shown as u64 > cases, "{shown} fields were shown");
}
