//! bm25 against a naive twin: random documents of several fields, one of them with several values and one that only
//! filters, random terms with and without numbers of their own, with the reference's constants and with the group's
//! statistics. The twin knows the formula, and nothing of the search crate.

use crate::host::Host;
use crate::random::{Random, config};
use proptest::prelude::*;
use serde_json::Value as Json;

/// Words no stemmer changes.
const WORDS: [&str; 7] = ["kx", "zq", "bt", "gd", "hm", "jp", "lv"];
const FIELDS: [&str; 4] = ["title", "tags", "body", "marks"];
/// Names that are searched, and the fields they stand for.
const SEARCHED: [(&str, &[usize]); 6] =
    [("title", &[0]), ("tags", &[1]), ("body", &[2]), ("marks", &[3]), ("default", &[0, 2]), ("default", &[0, 2])];
const SCHEMA: &str = "schema t {
    document t {
        field title type string { indexing: index }
        field tags type array<string> { indexing: index }
        field body type string { indexing: index }
        field marks type string {
            indexing: index
            rank: filter
        }
    }
    fieldset default { fields: title, body }
    rank-profile reference {
        first-phase { expression: bm25(title) + bm25(tags) + bm25(body) + bm25(marks) }
        match-features {
            bm25(title) bm25(tags) bm25(body) bm25(marks) bm25(field: title, label: a) bm25(field: body, label: a)
        }
    }
    rank-profile tuned inherits reference {
        rank-properties {
            bm25(title).k1: 2.25
            bm25(body).b: 0.3
            bm25(tags).averageFieldLength: 7
        }
    }
}";

/// A document: for each of [`FIELDS`] its elements, each a list of words.
type Document = [Vec<Vec<&'static str>>; 4];

/// A term of a query.
#[derive(Clone, Debug)]
struct Term {
    words: Vec<&'static str>,
    /// Numbers of the fields it searches.
    fields: Vec<usize>,
    name: &'static str,
    significance: Option<f64>,
    frequency: Option<(u64, u64)>,
    is_labeled: bool,
    has_positions: bool,
}

fn text(random: &mut Random, most: usize) -> Vec<&'static str> {
    (0..random.below(most + 1)).map(|_| random.one_of(&WORDS)).collect()
}

fn document(random: &mut Random) -> Document {
    let tags = (0..random.below(4)).map(|_| text(random, 4)).collect();
    [vec![text(random, 6)], tags, vec![text(random, 30)], vec![text(random, 3)]]
}

fn json(document: &Document) -> String {
    let single = |elements: &[Vec<&str>]| format!("\"{}\"", elements[0].join(" "));
    let tags: Vec<String> = document[1].iter().map(|words| format!("\"{}\"", words.join(" "))).collect();
    let [title, body, marks] = [0, 2, 3].map(|field: usize| single(&document[field]));
    format!("{{\"title\":{title},\"tags\":[{}],\"body\":{body},\"marks\":{marks}}}", tags.join(","))
}

fn term(random: &mut Random) -> Term {
    let searched = random.pick(&SEARCHED);
    let count = if random.once_in(4) { 2 } else { 1 };
    Term {
        words: (0..count).map(|_| random.one_of(&WORDS)).collect(),
        fields: searched.1.to_vec(),
        name: searched.0,
        significance: random.once_in(5).then(|| random.unit()),
        frequency: random.once_in(5).then(|| (random.below(40) as u64, random.below(30) as u64)),
        is_labeled: random.once_in(3),
        // Of words only: a phrase is nothing without positions.
        has_positions: count > 1 || !random.once_in(5),
    }
}

fn yql(terms: &[Term]) -> String {
    let of_term = |term: &Term| {
        let mut annotations = Vec::new();
        annotations.extend(term.significance.map(|value| format!("significance:{value:?}")));
        annotations
            .extend(term.frequency.map(|(n, count)| format!("documentFrequency:{{frequency:{n},count:{count}}}")));
        annotations.extend(term.is_labeled.then(|| "label:\"a\"".to_owned()));
        annotations.extend((!term.has_positions).then(|| "usePositionData:false".to_owned()));
        let words: Vec<String> = term.words.iter().map(|word| format!("\"{word}\"")).collect();
        let operand = if words.len() == 1 { words[0].clone() } else { format!("phrase({})", words.join(", ")) };
        format!("{} contains ({{{}}}{operand})", term.name, annotations.join(","))
    };
    let terms: Vec<String> = terms.iter().map(of_term).collect();
    format!("select * from t where rank(true, {})", terms.join(", "))
}

/// How often a term stands in a field.
fn occurrences(term: &Term, elements: &[Vec<&str>]) -> usize {
    elements.iter().map(|words| words.windows(term.words.len()).filter(|window| **window == *term.words).count()).sum()
}

fn length(elements: &[Vec<&str>]) -> usize {
    elements.iter().map(Vec::len).sum()
}

/// What the formula is fed with.
struct Twin<'d> {
    documents: Vec<&'d Document>,
    is_of_group: bool,
    is_tuned: bool,
}

impl Twin<'_> {
    fn idf(&self, term: &Term, field: usize) -> f64 {
        let (n, count) = match (term.frequency, term.significance) {
            (Some((n, count)), _) => (n as f64, count as f64),
            (None, Some(significance)) => return significance,
            (None, None) if self.is_of_group => {
                let with = self.documents.iter().filter(|document| occurrences(term, &document[field]) > 0).count();
                (with as f64, self.documents.len() as f64)
            }
            (None, None) => (1.0, 1.0),
        };
        let count = count.max(1.0);
        let n = n.clamp(1.0, count);
        (1.0 + (count - n + 0.5) / (n + 0.5)).ln()
    }

    fn average(&self, field: usize) -> f64 {
        let lengths = self.documents.iter().map(|document| length(&document[field])).filter(|length| *length > 0);
        let lengths: Vec<usize> = lengths.collect();
        match field {
            1 if self.is_tuned => 7.0,
            _ if self.is_of_group && !lengths.is_empty() => lengths.iter().sum::<usize>() as f64 / lengths.len() as f64,
            _ => 100.0,
        }
    }

    fn bm25(&self, document: &Document, terms: &[Term], field: usize, is_labeled: bool) -> f64 {
        let k1 = if self.is_tuned && field == 0 { 2.25 } else { 1.2 };
        let b = if self.is_tuned && field == 2 { 0.3 } else { 0.75 };
        let average = self.average(field);
        let wanted = terms.iter().filter(|term| term.fields.contains(&field) && (!is_labeled || term.is_labeled));
        let mut score = 0.0;
        for term in wanted {
            let tf = occurrences(term, &document[field]) as f64;
            if tf == 0.0 {
                continue;
            }
            let (tf, length) = match field == 3 || !term.has_positions {
                true => (1.0, average),
                false => (tf, length(&document[field]) as f64),
            };
            score += self.idf(term, field) * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * length / average));
        }
        score
    }
}

fn check(hit: &Json, document: &Document, terms: &[Term], twin: &Twin<'_>) -> Result<(), TestCaseError> {
    let features = &hit["fields"]["matchfeatures"];
    let mut sum = 0.0;
    for (field, name) in FIELDS.iter().enumerate() {
        let expected = twin.bm25(document, terms, field, false);
        sum += expected;
        let mut named = vec![(format!("bm25({name})"), expected)];
        if ["title", "body"].contains(name) {
            named.push((format!("bm25(field:{name},label:a)"), twin.bm25(document, terms, field, true)));
        }
        for (name, expected) in named {
            let found =
                features[&name].as_f64().ok_or_else(|| TestCaseError::fail(format!("no {name}: {features}")))?;
            let close = (found - expected).abs() <= 1e-12 * expected.abs().max(1.0);
            prop_assert!(close, "{name} is {found}, not {expected}, in {document:?} for {terms:?}");
        }
    }
    let relevance = hit["relevance"].as_f64().unwrap_or(f64::NAN);
    prop_assert!((relevance - sum).abs() <= 1e-11 * sum.abs().max(1.0), "{relevance} is not {sum}");
    Ok(())
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn every_score_is_that_of_the_formula(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let mut host = Host::with_schema("t", SCHEMA);
        let mut documents: Vec<Option<Document>> = Vec::new();
        for number in 0..1 + random.below(25) {
            let of_number = document(&mut random);
            host.put(&format!("id:t:t:g=u:{number:02}"), &json(&of_number)).unwrap();
            documents.push(Some(of_number));
        }
        // Some are written anew or removed, before or after they are folded: they count as they are now.
        if random.once_in(2) {
            host.compact("g:u", 1);
        }
        for (number, of_number) in documents.iter_mut().enumerate() {
            let id = format!("id:t:t:g=u:{number:02}");
            if random.once_in(6) {
                host.remove(&id).unwrap();
                *of_number = None;
            } else if random.once_in(6) {
                let other = document(&mut random);
                host.put(&id, &json(&other)).unwrap();
                *of_number = Some(other);
            }
        }
        let alive: Vec<&Document> = documents.iter().flatten().collect();
        for _ in 0..4 {
            let terms: Vec<Term> = (0..1 + random.below(4)).map(|_| term(&mut random)).collect();
            let (is_of_group, is_tuned) = (random.once_in(2), random.once_in(2));
            let twin = Twin { documents: alive.clone(), is_of_group, is_tuned };
            let answer = host.search("g:u", &[
                ("yql", &yql(&terms)),
                ("hits", "100"),
                ("ranking", if is_tuned { "tuned" } else { "reference" }),
                ("ranking.properties.brooklet.statistics", if is_of_group { "group" } else { "reference" }),
            ]);
            prop_assert_eq!(answer.status, 200, "{}", &answer.body);
            let none = Vec::new();
            let hits = answer.json["root"]["children"].as_array().unwrap_or(&none);
            prop_assert_eq!(hits.len(), alive.len(), "{}", &answer.body);
            for hit in hits {
                let id = hit["id"].as_str().unwrap_or_default();
                let number: usize = id[id.len() - 2..].parse().unwrap();
                check(hit, documents[number].as_ref().unwrap(), &terms, &twin)?;
            }
        }
    }
}
