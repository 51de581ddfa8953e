//! What ranking sees of a query's terms: those whose every enclosing operator matched the document, against a naive twin.
//! The twin decides for each document, by the words it has, which terms count; then it asks for that document with a flat
//! query that has the others replaced by words that no document has.

use crate::host::Host;
use crate::random::Random;
use serde_json::Value;

const WORDS: [&str; 5] = ["red", "green", "apple", "pear", "nut"];
const NOWHERE: &str = "nowhere";
const SCHEMA: &str = "schema t {
    document t {
        field a type string { indexing: index }
        field b type array<string> { indexing: index }
        field w type weightedset<string> { indexing: attribute }
        field n type int { indexing: attribute }
    }
    rank-profile seen {
        first-phase { expression: nativeRank + matchCount(a) }
        match-features {
            matches matches(a) matches(b) matches(w) matches(a,1) matchCount(a) matchCount(b) matchCount(w)
            bm25(a) bm25(b) nativeRank nativeFieldMatch nativeProximity nativeAttributeMatch nativeDotProduct(w)
            fieldMatch(a) fieldMatch(b).matches fieldTermMatch(a,0).occurrences fieldTermMatch(a,1).firstPosition
            fieldTermMatch(a,2).occurrences textSimilarity(a) elementSimilarity(b) elementCompleteness(b).completeness
            attributeMatch(w) rawScore(w) itemRawScore(l) fieldLength(a) fieldInfo(a).hit termDistance(a,0,1).forward
            queryTermCount
        }
    }
    rank-profile summed { first-phase { expression: bm25(a) } }
    rank-profile blocks { first-phase { expression: if (attribute(n) > 3, bm25(a) * 2, matchCount(b)) + bm25(b) } }
}";

struct Document {
    a: Vec<&'static str>,
    b: Vec<Vec<&'static str>>,
    w: Vec<&'static str>,
}

fn words(random: &mut Random, most: usize) -> Vec<&'static str> {
    (0..random.below(most + 1)).map(|_| random.one_of(&WORDS)).collect()
}

impl Document {
    fn new(random: &mut Random) -> Document {
        let mut w = words(random, 3);
        w.sort_unstable();
        w.dedup();
        Document { a: words(random, 5), b: (0..random.below(3)).map(|_| words(random, 3)).collect(), w }
    }

    fn json(&self, number: usize) -> String {
        let texts: Vec<String> = self.b.iter().map(|words| format!("\"{}\"", words.join(" "))).collect();
        let weights: Vec<String> =
            self.w.iter().enumerate().map(|(at, word)| format!("\"{word}\":{}", at + 2)).collect();
        let (a, b, w) = (self.a.join(" "), texts.join(","), weights.join(","));
        format!(r#"{{"a":"{a}","b":[{b}],"w":{{{w}}},"n":{number}}}"#)
    }
}

#[derive(Clone)]
enum Query {
    Word(&'static str, &'static str),
    Phrase(&'static str, &'static str),
    Near(&'static str, &'static str),
    DotProduct(&'static str, &'static str),
    And(Vec<Query>),
    Or(Vec<Query>),
    WeakAnd(Vec<Query>),
    AndNot(Box<Query>, Box<Query>),
    Rank(Vec<Query>),
}

use Query::{And, AndNot, DotProduct, Near, Or, Phrase, Rank, WeakAnd, Word};

fn query(random: &mut Random, depth: usize) -> Query {
    let (word, other) = (random.one_of(&WORDS), random.one_of(&WORDS));
    if depth == 0 || random.once_in(5) {
        return match random.below(8) {
            0 => Phrase(word, other),
            1 => Near(word, other),
            2 => DotProduct(word, other),
            _ => Word(random.one_of(&["a", "a", "b", "w"]), word),
        };
    }
    let mut several = |most: usize| (0..2 + random.below(most)).map(|_| query(random, depth - 1)).collect();
    let nodes: Vec<Query> = several(2);
    match random.below(6) {
        0 | 1 => And(nodes),
        2 => Or(nodes),
        3 => WeakAnd(nodes),
        4 => AndNot(Box::new(nodes[0].clone()), Box::new(nodes[1].clone())),
        _ => Rank(nodes),
    }
}

impl Query {
    fn yql(&self) -> String {
        let all = |nodes: &[Query], with: &str| nodes.iter().map(Query::yql).collect::<Vec<_>>().join(with);
        match self {
            Word(field, word) => format!("{field} contains '{word}'"),
            Phrase(word, other) => format!("a contains phrase('{word}', '{other}')"),
            Near(word, other) => format!("a contains near('{word}', '{other}')"),
            DotProduct(word, other) if word == other => format!("({{label:'l'}}dotProduct(w, {{'{word}':3}}))"),
            DotProduct(word, other) => format!("({{label:'l'}}dotProduct(w, {{'{word}':3, '{other}':5}}))"),
            And(nodes) => format!("({})", all(nodes, " and ")),
            Or(nodes) => format!("({})", all(nodes, " or ")),
            WeakAnd(nodes) => format!("weakAnd({})", all(nodes, ", ")),
            AndNot(positive, negative) => format!("({} and !({}))", positive.yql(), negative.yql()),
            Rank(nodes) => format!("rank({})", all(nodes, ", ")),
        }
    }

    fn holds(&self, document: &Document) -> bool {
        match self {
            Word("a", word) => document.a.contains(word),
            Word("b", word) => document.b.iter().any(|words| words.contains(word)),
            Word(_, word) => document.w.contains(word),
            Phrase(word, other) => document.a.windows(2).any(|pair| pair == [*word, *other]),
            // Two words apart, and twice for one word is at two places.
            Near(word, other) => {
                let a = &document.a;
                let near = |at: usize| {
                    (at + 1..(at + 3).min(a.len()))
                        .any(|next| (a[at], a[next]) == (*word, *other) || (a[at], a[next]) == (*other, *word))
                };
                if word == other { a.contains(word) } else { (0..a.len()).any(near) }
            }
            DotProduct(word, other) => document.w.contains(word) || document.w.contains(other),
            And(nodes) => nodes.iter().all(|node| node.holds(document)),
            Or(nodes) | WeakAnd(nodes) => nodes.iter().any(|node| node.holds(document)),
            AndNot(positive, negative) => positive.holds(document) && !negative.holds(document),
            Rank(nodes) => nodes[0].holds(document),
        }
    }

    /// The terms that ranking knows of, each with whether it counts: all operators around it hold.
    fn terms(&self, document: &Document, around: bool, terms: &mut Vec<(Query, bool)>) {
        let around = around && self.holds(document);
        match self {
            And(nodes) | Or(nodes) | WeakAnd(nodes) | Rank(nodes) => {
                nodes.iter().for_each(|node| node.terms(document, around, terms));
            }
            AndNot(positive, _) => positive.terms(document, around, terms),
            term => terms.push((term.clone(), around)),
        }
    }
}

/// The term, or one like it that is nowhere.
fn shown((term, counts): (Query, bool)) -> String {
    let silent = match term {
        _ if counts => return term.yql(),
        Word(field, _) => Word(field, NOWHERE),
        Phrase(..) => Phrase(NOWHERE, "else"),
        Near(..) => Near(NOWHERE, "else"),
        DotProduct(..) => DotProduct(NOWHERE, "else"),
        other => other,
    };
    silent.yql()
}

fn hits(host: &mut Host, yql: &str, profile: &str) -> Vec<Value> {
    let yql = format!("select * from t where {yql}");
    let answer = host.search("g:u", &[("yql", &yql), ("ranking", profile), ("hits", "400")]);
    let root = &answer.json["root"];
    assert!(root["errors"].is_null(), "{yql}: {root}");
    root["children"].as_array().cloned().unwrap_or_default()
}

/// What ranking made of a document.
fn seen(hit: &Value) -> String {
    format!("{} {}", hit["relevance"], hit["fields"]["matchfeatures"])
}

#[test]
fn terms_count_where_all_operators_around_them_match() {
    let mut random = Random::new(16);
    let mut host = Host::with_schema("t", SCHEMA);
    let documents: Vec<Document> = (0..24).map(|_| Document::new(&mut random)).collect();
    for (number, document) in documents.iter().enumerate() {
        host.put(&format!("id:t:t:g=u:{number:02}"), &document.json(number)).expect("a put");
        if number == 15 {
            host.compact("g:u", 1);
        }
    }
    let (mut compared, mut silent) = (0, 0);
    for _ in 0..60 {
        let query = query(&mut random, 3);
        let wide = format!("range(n, 0, 99) and {}", query.yql());
        for profile in ["seen", "summed", "blocks"] {
            let found = hits(&mut host, &wide, profile);
            let expected = documents.iter().filter(|document| query.holds(document)).count();
            assert_eq!(found.len(), expected, "{wide}");
            for hit in found {
                assert_eq!(hit["fields"]["matchfeatures"].is_object(), profile == "seen", "{hit}");
                let number: usize =
                    hit["id"].as_str().and_then(|id| id.rsplit(':').next()?.parse().ok()).expect("an id");
                let mut terms = Vec::new();
                query.terms(&documents[number], true, &mut terms);
                let found_here = |(term, counts): &&(Query, bool)| !counts && term.holds(&documents[number]);
                silent += terms.iter().filter(found_here).count();
                let terms: Vec<String> = terms.into_iter().map(shown).collect();
                let flat = format!("rank(range(n, {number}, {number}), {})", terms.join(", "));
                let twin = hits(&mut host, &flat, profile);
                assert_eq!(seen(&hit), seen(&twin[0]), "{profile}, document {number}: {wide}\n{flat}");
                compared += 1;
            }
        }
    }
    assert!(compared > 500 && silent > 200, "{compared} documents, {silent} terms that were found and do not count");
}
