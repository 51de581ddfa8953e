//! Groups of the elements of maps and arrays of structs against a naive twin: a document is once in every group that its
//! elements lead to, groups inside and totals see only the elements that led there, and a filter is asked about each.
//! `PROPTEST_CASES` says how many requests are compared.

use std::collections::BTreeMap;

use crate::host::{Host, services};
use crate::random::Random;
use serde_json::{Value as Json, json};

const PARTITIONS: usize = 3;
const WORDS: [&str; 4] = ["a", "b", "bb", "é"];

/// An element of the map or of the array: a text, a number, and whether the latter is there.
#[derive(Clone, Debug)]
struct Element {
    text: &'static str,
    number: Option<i64>,
}

struct Document {
    partition: usize,
    number: usize,
    kind: &'static str,
    map: Vec<Element>,
    parts: Vec<Element>,
}

impl Document {
    fn random(random: &mut Random, number: usize) -> Document {
        let mut map: Vec<Element> = (0..random.below(4))
            .map(|_| Element { text: random.one_of(&WORDS), number: Some(random.below(4) as i64) })
            .collect();
        map.sort_by_key(|element| element.text);
        map.dedup_by_key(|element| element.text);
        if random.once_in(2) {
            map.reverse();
        }
        let part = |random: &mut Random| Element {
            text: random.one_of(&WORDS),
            number: (!random.once_in(4)).then(|| random.below(4) as i64),
        };
        let parts = (0..random.below(4)).map(|_| part(random)).collect();
        Document { partition: random.below(PARTITIONS), number, kind: random.one_of(&WORDS), map, parts }
    }

    fn json(&self) -> String {
        let entries: Vec<Json> =
            self.map.iter().map(|entry| json!({"key": entry.text, "value": entry.number})).collect();
        let part = |part: &Element| match part.number {
            Some(number) => json!({"t": part.text, "n": number}),
            None => json!({"t": part.text}),
        };
        json!({"k": self.kind, "m": entries, "p": self.parts.iter().map(part).collect::<Vec<_>>()}).to_string()
    }
}

/// Which field's elements are gone through: the map, the array, or none.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Of {
    Map,
    Parts,
    Kind,
}

/// What is grouped by.
#[derive(Clone, Copy, Debug)]
struct By {
    of: Of,
    /// The text of elements, or their number.
    by_text: bool,
}

impl By {
    fn text(self) -> &'static str {
        match (self.of, self.by_text) {
            (Of::Kind, _) => "k",
            (Of::Map, true) => "m.key",
            (Of::Map, false) => "m.value",
            (Of::Parts, true) => "p.t",
            (Of::Parts, false) => "p.n",
        }
    }

    fn id(self, element: &Element) -> String {
        match self.by_text {
            true => format!("group:string:{}", element.text),
            false => format!("group:long:{}", element.number.unwrap_or(0)),
        }
    }
}

/// A level of a request.
#[derive(Clone, Debug)]
struct Level {
    by: By,
    /// Elements, or documents, that are left out.
    filter: Option<(String, Filter)>,
}

#[derive(Clone, Copy, Debug)]
struct Filter {
    of: Of,
    /// Texts that begin so, or numbers from here on.
    begin: Option<&'static str>,
    from: i64,
    negated: bool,
}

impl Filter {
    fn holds(self, elements: &[&Element]) -> bool {
        let holds = |element: &&Element| match self.begin {
            Some(begin) => element.text.starts_with(begin),
            None => element.number.unwrap_or(0) >= self.from,
        };
        elements.iter().any(holds) != self.negated
    }
}

/// A document with the elements of each field that are still looked at.
#[derive(Clone)]
struct Row<'a> {
    kind: &'a Element,
    map: Vec<&'a Element>,
    parts: Vec<&'a Element>,
}

impl<'a> Row<'a> {
    fn elements(&self, of: Of) -> Vec<&'a Element> {
        match of {
            Of::Map => self.map.clone(),
            Of::Parts => self.parts.clone(),
            Of::Kind => vec![self.kind],
        }
    }

    fn narrowed(&self, of: Of, to: Vec<&'a Element>) -> Row<'a> {
        let mut row = self.clone();
        match of {
            Of::Map => row.map = to,
            Of::Parts => row.parts = to,
            Of::Kind => {}
        }
        row
    }
}

fn groups<'a>(rows: &[Row<'a>], level: &Level) -> BTreeMap<String, Vec<Row<'a>>> {
    let mut groups: BTreeMap<String, Vec<Row<'a>>> = BTreeMap::new();
    let filter = level.filter.as_ref().map(|(_, filter)| *filter);
    for row in rows {
        let of = level.by.of;
        let each = filter.filter(|filter| filter.of == of && of != Of::Kind);
        if filter.is_some_and(|filter| each.is_none() && !filter.holds(&row.elements(filter.of))) {
            continue;
        }
        let mut found: BTreeMap<String, Vec<&Element>> = BTreeMap::new();
        for element in row.elements(of) {
            if each.is_none_or(|filter| filter.holds(&[element])) {
                found.entry(level.by.id(element)).or_default().push(element);
            }
        }
        for (id, elements) in found {
            groups.entry(id).or_default().push(row.narrowed(of, elements));
        }
    }
    groups
}

const OUTPUTS: &str = "count() as(count), sum(m.value) as(map), sum(p.n) as(parts), sum(size(p.t)) as(size)";

fn request(levels: &[Level]) -> String {
    let [level, inner @ ..] = levels else { return String::new() };
    let filter = level.filter.as_ref().map_or(String::new(), |(text, _)| format!("filter({text}) "));
    let inner = if inner.is_empty() { String::new() } else { format!(" all({})", request(inner)) };
    format!("group({}) {filter}max(12) each(output({OUTPUTS}){inner})", level.by.text())
}

/// Compares a list of groups with those of the twin.
fn check(list: &Json, rows: &[Row<'_>], levels: &[Level], about: &str) {
    let [level, inner @ ..] = levels else { return };
    let groups = groups(rows, level);
    let found = list["children"].as_array().map_or(&[][..], Vec::as_slice);
    let mut ids: Vec<&str> = found.iter().map(|group| group["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, groups.keys().map(String::as_str).collect::<Vec<_>>(), "{about}");
    for group in found {
        let rows = &groups[group["id"].as_str().unwrap()];
        let sum = |of: &dyn Fn(&Row<'_>) -> i64| rows.iter().map(of).sum::<i64>();
        let numbers = |elements: &[&Element]| elements.iter().map(|element| element.number.unwrap_or(0)).sum::<i64>();
        let wanted = json!({
            "count": rows.len(),
            "map": sum(&|row| numbers(&row.map)),
            "parts": sum(&|row| numbers(&row.parts)),
            "size": sum(&|row| row.parts.len() as i64),
        });
        assert_eq!(group["fields"], wanted, "{about}: {}", group["id"]);
        if !inner.is_empty() {
            check(&group["children"][0], rows, inner, about);
        }
    }
}

fn level(random: &mut Random) -> Level {
    let of = random.one_of(&[Of::Map, Of::Map, Of::Parts, Of::Parts, Of::Kind]);
    let by = By { of, by_text: of == Of::Kind || random.once_in(2) };
    let filter = random.once_in(3).then(|| {
        let of = random.one_of(&[Of::Map, Of::Parts]);
        let (begin, from) = (random.once_in(2).then(|| random.one_of(&["a", "b"])), random.below(4) as i64);
        let name = By { of, by_text: begin.is_some() }.text();
        let text = match begin {
            Some(begin) => format!("regex(\"{begin}.*\", {name})"),
            None => format!("range({from}, 100, {name})"),
        };
        let negated = random.once_in(3);
        (if negated { format!("not {text}") } else { text }, Filter { of, begin, from, negated })
    });
    Level { by, filter }
}

fn empty() -> Host {
    let sd = "schema d { document d { struct part { field t type string {} field n type int {} }
        field k type string { indexing: attribute }
        field m type map<string, int> { indexing: summary }
        field p type array<part> { indexing: summary } } }";
    let services = services(&["d"]);
    Host::new(&[("services.xml", &services), ("schemas/d.sd", sd)], 16 << 20)
}

#[test]
fn groups_of_elements_are_those_of_a_naive_twin() {
    let cases = std::env::var("PROPTEST_CASES").map_or(300, |text| text.parse().unwrap());
    for case in 0..u64::div_ceil(cases, 30) {
        let mut random = Random::new(case);
        let (mut one, mut many) = (empty(), empty());
        let documents: Vec<Document> =
            (0..random.below(30)).map(|number| Document::random(&mut random, number)).collect();
        for document in &documents {
            let (partition, number) = (document.partition, document.number);
            one.put(&format!("id:s:d:g=a:{number:03}"), &document.json()).unwrap();
            many.put(&format!("id:s:d:g=g{partition}:{number:03}"), &document.json()).unwrap();
            if random.once_in(10) {
                one.compact("g:a", 1);
                many.compact(&format!("g:g{partition}"), 1);
            }
        }
        let kinds: Vec<Element> =
            documents.iter().map(|document| Element { text: document.kind, number: None }).collect();
        let rows: Vec<Row<'_>> = documents
            .iter()
            .zip(&kinds)
            .map(|(document, kind)| Row {
                kind,
                map: document.map.iter().collect(),
                parts: document.parts.iter().collect(),
            })
            .collect();
        for _ in 0..30 {
            let levels: Vec<Level> = (0..1 + random.below(3)).map(|_| level(&mut random)).collect();
            let yql = format!("select * from d where true limit 0 | all({})", request(&levels));
            for (host, scope) in [(&one, ("streaming.groupname", "a")), (&many, ("streaming.selection", "true"))] {
                let parameters = [("yql", yql.as_str()), scope, ("ranking", "unranked"), ("timeout", "60s")];
                let answer = match scope.1 {
                    "a" => host.search_raw("g:a", &parameters, ""),
                    _ => host.search_scoped(&parameters, "", "", 2),
                };
                let about = format!("case {case}, {}: {yql}", scope.1);
                if answer.body.contains("theoretical total number") {
                    continue;
                }
                assert!(
                    answer.status == 200 && answer.json["root"].get("errors").is_none(),
                    "{about}: {}",
                    answer.body
                );
                let children = answer.json["root"]["children"].as_array().unwrap();
                check(&children.last().unwrap()["children"][0], &rows, &levels, &about);
            }
        }
    }
}
