//! Features of what matched (how often, where, how alike, how complete) over random queries against a naive twin: texts, lists
//! and weighted sets of texts, attributes; terms with weights, significances and connections, and without ranking, some in several fields, within operators
//! that hold or do not. `PROPTEST_CASES` says how many queries are asked.

use std::collections::BTreeMap;

use crate::host::{Host, services};
use crate::random::Random;
use serde_json::{Map, Value as Json, json};

/// Fields of words with the weights of their elements, then attributes, which have whole values.
const FIELDS: [&str; 5] = ["t", "l", "w", "at", "ws"];
const INDEXED: usize = 3;
/// Names that stand for several fields.
const SETS: [(&str, &[usize]); 7] =
    [("t", &[0]), ("l", &[1]), ("w", &[2]), ("at", &[3]), ("ws", &[4]), ("both", &[0, 1]), ("mixed", &[0, 4])];
const WORDS: [&str; 5] = ["a", "b", "c", "d", "e"];
const FAR: f64 = 1_000_000.0;

/// Words of elements, each with its weight.
type Elements = Vec<(Vec<&'static str>, i32)>;

struct Document {
    id: String,
    fields: [Elements; 5],
}

impl Document {
    fn random(random: &mut Random, number: usize) -> Document {
        let words = |random: &mut Random, most: usize| -> Vec<&'static str> {
            (0..1 + random.below(most)).map(|_| random.one_of(&WORDS)).collect()
        };
        let set = |random: &mut Random, most: usize| {
            let mut elements: Elements = Vec::new();
            for _ in 0..random.below(4) {
                let text = words(random, most);
                if elements.iter().all(|(other, _)| *other != text) {
                    elements.push((text, random.one_of(&[1, 2, 30, 300, 0, -5])));
                }
            }
            elements
        };
        let (w, ws) = (set(random, 5), set(random, 1));
        let list = (0..random.below(4)).map(|_| (words(random, 5), 1)).collect();
        let single = |random: &mut Random, most: usize| -> Elements {
            (0..random.below(5).min(1)).map(|_| (words(random, most), 1)).collect()
        };
        let fields = [single(random, 14), list, w, single(random, 1), ws];
        Document { id: format!("id:s:d:g=a:{number:03}"), fields }
    }

    fn json(&self) -> String {
        let mut fields = Map::new();
        for (name, elements) in FIELDS.iter().zip(&self.fields).filter(|(_, elements)| !elements.is_empty()) {
            let texts = elements.iter().map(|(words, weight)| (words.join(" "), *weight));
            let value = match *name {
                "t" | "at" => json!(elements[0].0.join(" ")),
                "l" => texts.map(|(text, _)| text).collect(),
                _ => Json::Object(texts.map(|(text, weight)| (text, json!(weight))).collect()),
            };
            fields.insert((*name).to_owned(), value);
        }
        Json::Object(fields).to_string()
    }

    /// Where a word stands in a field: element and position.
    fn places(&self, field: usize, word: &str) -> Vec<(usize, usize)> {
        let elements = self.fields[field].iter().enumerate();
        let places = elements.flat_map(|(element, (words, _))| {
            words.iter().enumerate().filter(|(_, other)| **other == word).map(move |(at, _)| (element, at))
        });
        places.collect()
    }
}

#[derive(Clone, Debug)]
struct Term {
    set: usize,
    word: &'static str,
    weight: i32,
    is_ranked: bool,
    significance: f64,
    id: i64,
    /// The id of a term before it, and how connected it is to that.
    connectivity: Option<(i64, f64)>,
}

impl Term {
    fn of(set: usize, word: &'static str) -> Term {
        Term { set, word, weight: 100, is_ranked: true, significance: 1.0, id: 0, connectivity: None }
    }

    /// What it counts among others.
    fn share(&self) -> f64 {
        self.significance * f64::from(self.weight)
    }
}

#[derive(Clone, Debug)]
enum Query {
    Term(Term),
    And(Vec<Query>),
    Or(Vec<Query>),
    Rank(Vec<Query>),
}

impl Query {
    fn random(random: &mut Random, depth: usize) -> Query {
        if depth == 0 || random.once_in(4) {
            let weight = random.one_of(&[100, 100, 50, 300, 0]);
            let (set, word) = (random.below(SETS.len()), random.one_of(&WORDS));
            let significance = random.one_of(&[1.0, 1.0, 0.25]);
            return Query::Term(Term { weight, is_ranked: !random.once_in(8), significance, ..Term::of(set, word) });
        }
        let children = (0..2 + random.below(2)).map(|_| Query::random(random, depth - 1)).collect();
        match random.below(3) {
            0 => Query::And(children),
            1 => Query::Or(children),
            _ => Query::Rank(children),
        }
    }

    /// Numbers the terms, and connects some of them to any that is before.
    fn connect(&mut self, random: &mut Random, terms: &mut i64) {
        match self {
            Query::Term(term) => {
                if *terms > 0 && random.once_in(2) {
                    let before = 1 + random.below(*terms as usize) as i64;
                    let to = if random.once_in(2) { before } else { *terms };
                    term.connectivity = Some((to, random.one_of(&[0.5, 0.875, 0.0625])));
                }
                *terms += 1;
                term.id = *terms;
            }
            Query::And(children) | Query::Or(children) | Query::Rank(children) => {
                children.iter_mut().for_each(|child| child.connect(random, terms));
            }
        }
    }

    fn yql(&self) -> String {
        let joined = |children: &[Query], by: &str| {
            children.iter().map(|child| format!("({})", child.yql())).collect::<Vec<_>>().join(by)
        };
        match self {
            Query::Term(Term { set, word, weight, is_ranked, significance, id, connectivity }) => {
                let to = connectivity.map(|(id, weight)| format!(",connectivity:{{id:{id},weight:{weight}}}"));
                let (to, field) = (to.unwrap_or_default(), SETS[*set].0);
                let said = format!("weight:{weight},ranked:{is_ranked},significance:{significance:?},id:{id}{to}");
                format!("{field} contains ({{{said}}}\"{word}\")")
            }
            Query::And(children) => joined(children, " and "),
            Query::Or(children) => joined(children, " or "),
            Query::Rank(children) => {
                format!("rank({})", children.iter().map(Query::yql).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn holds(&self, document: &Document) -> bool {
        let holds = |child: &Query| child.holds(document);
        match self {
            Query::Term(term) => SETS[term.set].1.iter().any(|field| !document.places(*field, term.word).is_empty()),
            Query::And(children) => children.iter().all(holds),
            Query::Or(children) => children.iter().any(holds),
            Query::Rank(children) => holds(&children[0]),
        }
    }

    /// The ranked terms in order, each with whether all operators around it hold.
    fn terms(&self, document: &Document, counts: bool) -> Vec<(Term, bool)> {
        match self {
            Query::Term(term) => term.is_ranked.then(|| (term.clone(), counts)).into_iter().collect(),
            Query::And(children) | Query::Or(children) | Query::Rank(children) => {
                let counts = counts && self.holds(document);
                children.iter().flat_map(|child| child.terms(document, counts)).collect()
            }
        }
    }
}

/// Of the terms that search a field and have a weight: number, weight, where it stands.
struct Searching {
    all: Vec<(f64, Vec<(usize, usize)>)>,
    total: f64,
}

impl Searching {
    fn new(document: &Document, terms: &[(Term, bool)], field: usize) -> Searching {
        let of = terms.iter().filter(|(term, _)| SETS[term.set].1.contains(&field) && term.weight != 0);
        let all: Vec<_> = of
            .map(|(term, counts)| {
                let places = if *counts { document.places(field, term.word) } else { Vec::new() };
                (f64::from(term.weight), places)
            })
            .collect();
        Searching { total: all.iter().map(|(weight, _)| weight).sum(), all }
    }

    /// proximity, order, coverage of the query and of an element that has so many words; nothing without a hit.
    fn similarity(&self, element: usize, length: usize) -> Option<[f64; 4]> {
        let near = |distance: usize| if distance > 8 { 0.0 } else { 1.0 - ((distance as f64 - 1.0) / 8.0).powi(2) };
        let mut left: Vec<usize> = (0..self.all.len()).collect();
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for at in 0..length {
            let stands = |term: &&usize| self.all[**term].1.contains(&(element, at));
            if let Some(term) = left.iter().find(stands).copied() {
                left.retain(|other| *other != term);
                taken.push((at, term));
            }
        }
        if taken.is_empty() {
            return None;
        }
        let pairs: Vec<_> = taken.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let count = pairs.len() as f64;
        let (proximity, order) = match pairs.is_empty() {
            true => (near(length), f64::from(u8::from(self.all.len() == 1))),
            false => (
                pairs.iter().map(|(a, b)| near(b.0 - a.0)).sum::<f64>() / count,
                pairs.iter().filter(|(a, b)| a.1 < b.1).count() as f64 / count,
            ),
        };
        let weight: f64 = taken.iter().map(|(_, term)| self.all[*term].0).sum();
        Some([proximity, order, weight / self.total, taken.len() as f64 / length as f64])
    }

    /// Completeness, that of the element, that of the query, weight: of the best element.
    fn completeness(&self, elements: &Elements) -> [f64; 4] {
        let mut best = [0.0; 4];
        for (at, (words, weight)) in elements.iter().enumerate() {
            let hit = self.all.iter().filter(|(_, places)| places.iter().any(|(element, _)| *element == at));
            let (mut count, mut sum) = (0, 0.0);
            hit.for_each(|(weight, _)| (count, sum) = (count + 1, sum + weight));
            let of_element = count.min(words.len()) as f64 / words.len() as f64;
            let of_query = if self.total > 0.0 { sum / self.total } else { 0.0 };
            let completeness = 0.5 * of_element + 0.5 * of_query;
            if count > 0 && completeness * f64::from(*weight) > best[0] * best[3] {
                best = [completeness, of_element, of_query, f64::from(*weight)];
            }
        }
        best
    }
}

fn score([proximity, order, of_query, of_element]: [f64; 4]) -> f64 {
    0.35 * proximity + 0.15 * order + 0.3 * of_query + 0.2 * of_element
}

/// How near one word comes before another in a field, within an element.
fn forward(first: &[(usize, usize)], second: &[(usize, usize)]) -> f64 {
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
    let after = pairs.filter(|(a, b)| a.0 == b.0 && b.1 > a.1);
    after.map(|(a, b)| (b.1 - a.1) as f64).min_by(f64::total_cmp).unwrap_or(FAR)
}

/// All features of a document that is found.
fn wanted(document: &Document, query: &Query) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    let terms = query.terms(document, true);
    let places = |term: &(Term, bool), field: usize| match SETS[term.0.set].1.contains(&field) && term.1 {
        true => document.places(field, term.0.word),
        false => Vec::new(),
    };
    found.insert("queryTermCount".to_owned(), terms.len() as f64);
    for (field, name) in FIELDS.iter().enumerate() {
        let hits: Vec<Vec<(usize, usize)>> = terms.iter().map(|term| places(term, field)).collect();
        let count = hits.iter().filter(|hits| !hits.is_empty()).count() as f64;
        found.insert(format!("matchCount({name})"), count);
        found.insert(format!("matches({name})"), count.min(1.0));
        for number in 0..3 {
            let hits = hits.get(number).map_or(&[][..], Vec::as_slice);
            found.insert(format!("matches({name},{number})"), f64::from(u8::from(!hits.is_empty())));
            if field < INDEXED {
                let first = hits.iter().map(|(_, at)| *at as f64).min_by(f64::total_cmp);
                found.insert(format!("fieldTermMatch({name},{number}).firstPosition"), first.unwrap_or(FAR));
                found.insert(format!("fieldTermMatch({name},{number}).occurrences"), hits.len() as f64);
            }
        }
        if field >= INDEXED {
            continue;
        }
        if let (Some(a), Some(b)) = (hits.first(), hits.get(1)) {
            found.insert(format!("termDistance({name},0,1).forward"), forward(a, b));
            found.insert(format!("termDistance({name},0,1).reverse"), forward(b, a));
        }
        let searching = Searching::new(document, &terms, field);
        let elements = &document.fields[field];
        for (output, value) in ["completeness", "fieldCompleteness", "queryCompleteness", "elementWeight"]
            .iter()
            .zip(searching.completeness(elements))
        {
            found.insert(format!("elementCompleteness({name}).{output}"), value);
        }
        let of = |(at, (words, weight)): (usize, &(Vec<&str>, i32))| {
            searching.similarity(at, words.len()).map(|parts| (parts, f64::from(*weight)))
        };
        let similar: Vec<([f64; 4], f64)> = elements.iter().enumerate().filter_map(of).collect();
        let best = similar.iter().map(|(parts, weight)| score(*parts) * weight).max_by(f64::total_cmp);
        found.insert(format!("elementSimilarity({name})"), best.unwrap_or(0.0));
        if *name == "t" {
            let parts = similar.first().map_or([0.0; 4], |(parts, _)| *parts);
            found.insert("textSimilarity(t)".to_owned(), score(parts));
            for (output, value) in ["proximity", "order", "queryCoverage", "fieldCoverage"].iter().zip(parts) {
                found.insert(format!("textSimilarity(t).{output}"), value);
            }
        }
    }
    let native = [native_field_match, native_proximity, native_attribute_match].map(|of| of(document, &terms));
    found.insert("nativeRank".to_owned(), (100.0 * native[0] + 25.0 * native[1] + 100.0 * native[2]) / 225.0);
    let names = ["nativeFieldMatch", "nativeProximity", "nativeAttributeMatch"];
    found.extend(names.map(str::to_owned).into_iter().zip(native));
    found
}

/// The weight of every field is 100.
fn native_field_match(document: &Document, terms: &[(Term, bool)]) -> f64 {
    let first = |at: f64| 8_000.0 * (-at / 12.5).exp();
    let often = |at: f64| 1_500.0 * (1.0 + at / 19.0).ln() + 4_000.0;
    let most = 0.5 * first(0.0) + 0.5 * often(255.0);
    let (mut sum, mut total) = (0.0, 0.0);
    for (term, counts) in terms.iter().filter(|(term, _)| term.weight != 0) {
        for field in SETS[term.set].1.iter().filter(|field| **field < INDEXED) {
            total += term.share();
            let places = if *counts { document.places(*field, term.word) } else { Vec::new() };
            // The first in the first element that has one.
            let Some((_, at)) = places.first() else { continue };
            let lengths = places.iter().map(|(element, _)| document.fields[*field][*element].0.len());
            let length = lengths.max().unwrap().max(6) as f64;
            let place = (*at as f64 * 255.0 / (length - 1.0)).floor();
            let count = (places.len() as f64 * 255.0 / length).floor().min(255.0);
            sum += term.share() * (0.5 * first(place) + 0.5 * often(count)) / most;
        }
    }
    if total > 0.0 { sum / total } else { 0.0 }
}

/// Of up to three terms further on in the same field, by how connected the terms between are.
fn native_proximity(document: &Document, terms: &[(Term, bool)]) -> f64 {
    let boost = |most: f64, distance: f64| most * (-(distance - 1.0).min(255.0) / 3.0).exp();
    let (mut sum, mut fields) = (0.0, 0.0);
    for field in 0..INDEXED {
        let searching: Vec<_> = terms.iter().filter(|(term, _)| SETS[term.set].1.contains(&field)).collect();
        let places =
            |(term, counts): &(Term, bool)| if *counts { document.places(field, term.word) } else { Vec::new() };
        let (mut score, mut total) = (0.0, None);
        for first in 0..searching.len() {
            let mut connected: f64 = 1.0;
            for second in first + 1..searching.len().min(first + 4) {
                let (before, own) = (&searching[second - 1].0, &searching[second].0);
                let to = own.connectivity.filter(|(id, _)| *id == before.id);
                connected = connected.min(to.map_or(0.1, |(_, weight)| weight));
                let (a, b) = (searching[first], searching[second]);
                if a.0.weight == 0 && b.0.weight == 0 {
                    continue;
                }
                let weight = connected / (second - first) as f64 * (a.0.share() + b.0.share());
                *total.get_or_insert(0.0) += weight;
                let (a, b) = (places(a), places(b));
                let both_ways = boost(500.0, forward(&a, &b)) + boost(400.0, forward(&b, &a));
                score += weight * both_ways / 900.0;
            }
        }
        let Some(total) = total else { continue };
        fields += 1.0;
        sum += score / total;
    }
    if fields > 0.0 { sum / fields } else { 0.0 }
}

fn native_attribute_match(document: &Document, terms: &[(Term, bool)]) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (term, counts) in terms.iter().filter(|(term, _)| term.weight != 0) {
        for field in SETS[term.set].1.iter().filter(|field| **field >= INDEXED) {
            total += f64::from(term.weight);
            let places = if *counts { document.places(*field, term.word) } else { Vec::new() };
            let Some((element, _)) = places.first() else { continue };
            let weight = f64::from(document.fields[*field][*element].1);
            sum += f64::from(term.weight) * weight.signum() * weight.abs().min(255.0) / 255.0;
        }
    }
    if total > 0.0 { sum / total } else { 0.0 }
}

fn host(features: &[String]) -> Host {
    let sd = format!(
        "schema d {{ document d {{
            field t type string {{ indexing: index }}
            field l type array<string> {{ indexing: index }}
            field w type weightedset<string> {{ indexing: index }}
            field at type string {{ indexing: attribute }}
            field ws type weightedset<string> {{ indexing: attribute }}
        }}
        fieldset both {{ fields: t, l }}
        fieldset mixed {{ fields: t, ws }}
        rank-profile all {{ first-phase {{ expression: 0 }} match-features {{ {} }} }} }}",
        features.join("\n")
    );
    Host::new(&[("services.xml", &services(&["d"])), ("schemas/d.sd", &sd)], 16 << 20)
}

/// Names of all features.
fn names() -> Vec<String> {
    let none = Document { id: String::new(), fields: Default::default() };
    let term = Query::Term(Term::of(0, "a"));
    wanted(&none, &Query::Or(vec![term.clone(), term])).into_keys().collect()
}

#[test]
fn features_of_what_matched_are_those_of_a_naive_twin() {
    let cases = std::env::var("PROPTEST_CASES").map_or(400, |text| text.parse().unwrap());
    let names = names();
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in 0..u64::div_ceil(cases, 50) {
        let mut random = Random::new(case);
        let mut host = host(&names);
        let documents: Vec<Document> = (0..30).map(|number| Document::random(&mut random, number)).collect();
        for document in &documents {
            host.put(&document.id, &document.json()).unwrap();
            if random.once_in(12) {
                host.compact("g:a", 1);
            }
        }
        for _ in 0..50 {
            let mut query = Query::random(&mut random, 2);
            query.connect(&mut random, &mut 0);
            let yql = format!("select * from d where {}", query.yql());
            let answer = host.search("g:a", &[("yql", &yql), ("ranking", "all"), ("hits", "100")]);
            let hits = answer.json["root"]["children"].as_array().cloned().unwrap_or_default();
            let found = documents.iter().filter(|document| query.holds(document)).count();
            assert_eq!((answer.status, hits.len()), (200, found), "{yql}: {}", answer.body);
            for hit in &hits {
                let document = documents.iter().find(|document| hit["id"] == document.id.as_str()).unwrap();
                for (feature, value) in wanted(document, &query) {
                    let found = hit["fields"]["matchfeatures"][&feature].as_f64().unwrap_or(f64::NAN);
                    if (found - value).abs() > 1e-6 * value.abs().max(1.0) || found.is_nan() {
                        let about = format!("{found}, not {value}: {yql} of {}", document.json());
                        wrong.entry(feature).or_default().push(about);
                    }
                }
            }
        }
    }
    let shown: Vec<String> =
        wrong.iter().map(|(name, all)| format!("{name}, {} times: {}", all.len(), all[0])).collect();
    assert!(wrong.is_empty(), "{}", shown.join("\n"));
}
