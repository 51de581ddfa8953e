//! Random histories of one group against a map: puts, updates, removes and conditions, with folds, rewrites and cold
//! starts in between; what is got, searched and visited is what the map says, and what was removed is told to who asks
//! for it until it is forgotten. `BROOKLET_HISTORY_STEPS` asks for more steps than the usual ones.
use std::collections::BTreeMap;

use crate::host::{Host, VisitRequest, Write};
use crate::random::Random;
use brooklet_task::Code;
use serde_json::{Value as Json, json};

const SD: &str = "schema d { document d { field number type int { indexing: summary | attribute } \
                  field list type array<int> { indexing: summary | attribute } \
                  field counts type map<string, int> { indexing: summary } } }";
const STEPS: usize = 2_000;
const KEY: &str = "g:a";
const DOCUMENTS: usize = 30;
/// Steps between two looks at everything.
const LOOK: usize = 40;
/// Between two steps, µs.
const STEP_MICROS: u64 = 1_000_000;
/// For how many steps it is known at least that a document was removed.
const KEPT_STEPS: usize = 60;

/// A document as the map has it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Held {
    number: Option<i32>,
    list: Vec<i32>,
    counts: BTreeMap<String, i32>,
}

impl Held {
    fn json(&self) -> Json {
        let mut fields = json!({});
        if let Some(number) = self.number {
            fields["number"] = number.into();
        }
        if !self.list.is_empty() {
            fields["list"] = self.list.clone().into();
        }
        if !self.counts.is_empty() {
            fields["counts"] = serde_json::to_value(&self.counts).unwrap();
        }
        fields
    }
}

struct History {
    host: Host,
    map: BTreeMap<usize, Held>,
    /// When those that are not there were removed.
    removed: BTreeMap<usize, u64>,
    random: Random,
}

fn id(document: usize) -> String {
    format!("id:n:d:g=a:{document:02}")
}

/// Whether a document fulfils a condition.
type Condition = Box<dyn Fn(&Held) -> bool>;

/// What an update makes of a document.
type Change = Box<dyn Fn(&mut Held)>;

impl History {
    fn number(&mut self) -> i32 {
        self.random.below(7) as i32
    }

    /// A condition, and whether a document fulfils it.
    fn condition(&mut self) -> (String, Condition) {
        let wanted = self.number();
        match self.random.below(6) {
            0 => (format!("d.number == {wanted}"), Box::new(move |held| held.number == Some(wanted))),
            1 => (format!("d.number != {wanted}"), Box::new(move |held| held.number != Some(wanted))),
            2 => (
                format!("not (d.number > {wanted})"),
                Box::new(move |held| held.number.is_some_and(|number| number <= wanted)),
            ),
            3 => (format!("d.list == {wanted}"), Box::new(move |held| held.list.contains(&wanted))),
            4 => (
                format!("d.counts{{a}} >= {wanted} or d.number == null"),
                Box::new(move |held| {
                    held.number.is_none() || held.counts.get("a").is_some_and(|count| *count >= wanted)
                }),
            ),
            _ => ("true".to_owned(), Box::new(|_| true)),
        }
    }

    /// Changes of an update as JSON, and what they make of a document.
    fn change(&mut self) -> (Json, Change) {
        let value = self.number();
        match self.random.below(8) {
            0 => (
                json!({"number": {"increment": value}}),
                Box::new(move |held| held.number = Some(held.number.unwrap_or(0) + value)),
            ),
            1 => (json!({"number": {"divide": 2}}), Box::new(|held| held.number = Some(held.number.unwrap_or(0) / 2))),
            2 => (json!({"number": {"assign": null}}), Box::new(|held| held.number = None)),
            3 => (json!({"list": {"add": [value]}}), Box::new(move |held| held.list.push(value))),
            4 => (json!({"list": {"remove": [value]}}), Box::new(move |held| held.list.retain(|of| *of != value))),
            5 => (
                json!({"counts{a}": {"increment": value}, "number": {"assign": value}}),
                Box::new(move |held| {
                    held.number = Some(value);
                    *held.counts.entry("a".to_owned()).or_default() += value;
                }),
            ),
            6 => (
                json!({"counts{a}": {"remove": 0}}),
                Box::new(|held| {
                    held.counts.remove("a");
                }),
            ),
            _ => (
                json!({"list[0]": {"assign": value}}),
                Box::new(move |held| held.list.iter_mut().take(1).for_each(|of| *of = value)),
            ),
        }
    }

    /// One operation on one document, by the core and by the map.
    fn write(&mut self) {
        let document = self.random.below(DOCUMENTS);
        let (text, fulfils) = self.condition();
        let conditional = self.random.below(2) == 0;
        let create = self.random.below(3) == 0;
        let before = self.map.get(&document).cloned();
        let kind = [1, 2, 2, 2, 3][self.random.below(5)];
        let create = create && kind != 3;
        let holds = !conditional || before.as_ref().map_or(create, &fulfils);
        let (body, after) = match kind {
            1 => {
                let held = Held { number: Some(self.number()), list: vec![self.number()], ..Held::default() };
                (json!({"fields": held.json()}).to_string(), Some(held))
            }
            2 => {
                let (fields, apply) = self.change();
                let held = before.clone().or_else(|| create.then(Held::default));
                let after = held.map(|mut held| {
                    apply(&mut held);
                    held
                });
                (json!({"fields": fields}).to_string(), after)
            }
            _ => (String::new(), None),
        };
        let condition = if conditional { text.as_str() } else { "" };
        let outcome = self.host.write(&Write { kind, id: &id(document), body: &body, condition, create: Some(create) });
        let told = format!("{kind} {} {body} if {condition} create {create}: {before:?}", id(document));
        match outcome {
            Ok(()) => assert!(holds, "{told}"),
            Err(rejection) => assert!(!holds && rejection.code.status() == 412, "{told}: {rejection}"),
        }
        if holds {
            match after {
                Some(held) => {
                    self.map.insert(document, held);
                    self.removed.remove(&document);
                }
                None => {
                    self.map.remove(&document);
                    // An update of what is not there writes nothing.
                    if kind == 3 {
                        self.removed.insert(document, self.host.now);
                    }
                }
            }
        }
        let answer = self.host.get(&id(document));
        match self.map.get(&document) {
            None => assert_eq!(answer.status, 404, "{told}"),
            Some(held) => assert_eq!(answer.json["fields"], held.json(), "{told}"),
        }
    }

    /// Everything there is, and what a selection selects of it.
    fn look(&mut self) {
        let ids: Vec<String> = self.map.keys().map(|document| id(*document)).collect();
        let (text, fulfils) = self.condition();
        let selected: Vec<String> =
            self.map.iter().filter(|(_, held)| fulfils(held)).map(|(document, _)| id(*document)).collect();
        for (selection, expected) in [("", ids), (&text, selected)] {
            let request = VisitRequest { types: &["d"], selection, ..VisitRequest::default() };
            let page = self.host.visit(KEY, &request).unwrap();
            let found: Vec<String> = page.json().iter().map(|of| of["id"].as_str().unwrap().to_owned()).collect();
            assert_eq!(found, expected, "visited by '{selection}'");
        }
        self.look_at_removes();
        let wanted = self.number();
        let query = format!("select * from d where number = {wanted}");
        let found = self.host.search(KEY, &[("yql", &query)]);
        let expected = self.map.values().filter(|held| held.number == Some(wanted)).count();
        assert_eq!(found.json["root"]["fields"]["totalCount"], expected, "{}", found.body);
    }

    /// Everything there is, and what was removed and is not forgotten; those that may be forgotten may be told too.
    fn look_at_removes(&self) {
        let request = VisitRequest { types: &["d"], includes_removes: true, ..VisitRequest::default() };
        let page = self.host.visit(KEY, &request).unwrap().json();
        let shown = |member: &str| -> Vec<String> {
            page.iter().filter_map(|of| of[member].as_str()).map(ToOwned::to_owned).collect()
        };
        let there: Vec<String> = self.map.keys().map(|document| id(*document)).collect();
        assert_eq!(shown("id"), there);
        let told = shown("remove");
        for of in &told {
            let document = of[of.len() - 2..].parse().unwrap();
            assert!(self.removed.contains_key(&document), "{of} was not removed");
        }
        for (document, time) in &self.removed {
            let is_kept = *time >= self.host.forget_before;
            assert!(!is_kept || told.contains(&id(*document)), "the remove of {} is forgotten", id(*document));
        }
    }
}

#[test]
fn a_group_is_what_a_map_says_after_any_history() {
    let steps =
        std::env::var("BROOKLET_HISTORY_STEPS").map_or(STEPS, |steps| steps.parse().expect("a number of steps"));
    let mut history = History {
        host: Host::with_schema("d", SD),
        map: BTreeMap::new(),
        removed: BTreeMap::new(),
        random: Random::new(11),
    };
    for step in 0..steps {
        history.host.now += STEP_MICROS;
        match history.random.below(40) {
            0 => drop(history.host.compact(KEY, 1)),
            1 => {
                history.host.forget_before = history.host.now - KEPT_STEPS as u64 * STEP_MICROS;
                let _ = history.host.compact(KEY, 3);
            }
            2 => history.host.forget(),
            _ => history.write(),
        }
        if step % LOOK == 0 && !history.map.is_empty() {
            history.look();
        }
    }
    assert!(history.map.len() > DOCUMENTS / 3, "the history says nothing");
}

/// An update, and a put on a condition, are given what came since the last one and the operation they go on from, however
/// long the tail is.
#[test]
fn a_write_that_looks_at_its_document_reads_no_more_of_the_tail() {
    let host = &mut Host::with_schema("d", SD);
    for document in 0..2_000 {
        host.put(&format!("id:n:d:g=a:{document}"), r#"{"number":1}"#).expect("a put");
    }
    let update = |host: &mut Host, document: usize| {
        let (id, body) = (format!("id:n:d:g=a:{document}"), r#"{"fields":{"number":{"increment":1}}}"#);
        host.given.set(0);
        host.write(&Write { kind: 2, id: &id, body, ..Write::default() }).expect("an update");
        host.given.get()
    };
    let whole = update(host, 7);
    let body = r#"{"fields":{"number":{"increment":1}}}"#;
    let late = host.write_late(&Write { kind: 2, id: "id:n:d:g=a:7", body, ..Write::default() });
    assert_eq!(late.code, Code::TimedOut, "what is out of time unlearns nothing");
    for document in [1_999, 7, 0, 7, 12_345] {
        assert!(update(host, document) * 100 < whole, "{document} of {whole} bytes");
    }
    let id = "id:n:d:g=a:7";
    host.put("id:n:d:g=a:8", r#"{"number":9}"#).expect("a put");
    host.given.set(0);
    let of = |condition| Write { kind: 1, id, body: r#"{"fields":{"number":8}}"#, condition, create: None };
    host.write(&of("d.number == 3")).expect_err("it is 4");
    host.write(&of("d.number == 4")).expect("the newest decides");
    assert!(host.given.get() * 100 < whole);
    assert!(host.compact(KEY, 1));
    host.write(&of("d.number == 8")).expect("folded or not");
}

/// So is a get of a partition that is not in memory as it is now, and a write with a condition knows what it learned.
#[test]
fn a_get_reads_no_more_of_the_tail() {
    let host = &mut Host::with_schema("d", SD);
    let id = |document: usize| format!("id:n:d:g=a:{document}");
    for document in 0..2_000 {
        host.put(&id(document), &format!(r#"{{"number":{document}}}"#)).expect("a put");
    }
    let get = |host: &Host, document: usize| {
        host.given.set(0);
        (host.get(&id(document)), host.given.get())
    };
    let (_, whole) = get(host, 7);
    for document in [1_999, 7, 0] {
        let (answer, given) = get(host, document);
        assert_eq!(answer.json["fields"]["number"], document);
        assert!(given * 100 < whole, "{given} of {whole} bytes for {document}");
    }
    let (answer, given) = get(host, 12_345);
    assert_eq!((answer.status, given), (404, 0), "the tail has it not, and there are no segments");
    host.put(&id(7), r#"{"number":-7}"#).expect("a put");
    host.remove(&id(8)).expect("a remove");
    assert_eq!(host.get_for(&id(7), ("", ""), 0).status, 504, "what is out of time unlearns nothing");
    let (answer, given) = get(host, 7);
    assert_eq!(answer.json["fields"]["number"], -7);
    assert!(given * 100 < whole, "{given} of {whole} bytes");
    assert_eq!(get(host, 8).0.status, 404);
    host.given.set(0);
    let body = r#"{"fields":{"number":{"increment":1}}}"#;
    host.write(&Write { kind: 2, id: &id(7), body, ..Write::default() }).expect("an update");
    assert!(host.given.get() * 100 < whole);
    assert!(host.compact(KEY, 1));
    assert_eq!(get(host, 7).0.json["fields"]["number"], -6);
    assert_eq!(get(host, 8).0.status, 404);
}
