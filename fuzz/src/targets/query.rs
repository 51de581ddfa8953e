//! Queries: YQL, the simple language in every grammar, sorting, and JSON requests.
use std::hint::black_box;

use brooklet_query::grouping::{Defaults, parse_grouping, resolve};
use brooklet_query::simple::{self, Grammar};
use brooklet_query::surroundings::{
    CharacterClass, Index, Indexes, Linguistics, Matching, Parameters, Surroundings, UserQuery, ValueKind,
};
use brooklet_query::{Form, Select, flatten, parse_select, parse_sorting, parse_yql, tree_text, yql_text};
use brooklet_text::{Class, Normalizing, class_of, segment};

use super::Target;
use crate::corpus;

const GRAMMARS: [&str; 7] = ["weakAnd", "all", "any", "web", "phrase", "tokenize", "linguistics"];

pub fn targets() -> Vec<Target> {
    vec![yql(), select(), simple_query(), sorting(), request_body(), grouping(), json_grouping()]
}

/// Parameters that hold the input, so that `@name` and `userInput(@name)` parse it again.
struct Given<'a>(&'a str);

impl Parameters for Given<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        match name {
            "animal" | "user" | "x" | "q" => Some(self.0),
            _ => None,
        }
    }
}

/// Fields whose kinds follow from their names, so that every kind is met.
struct Fields;

impl Indexes for Fields {
    fn index(&self, name: &str) -> Option<Index> {
        let (matching, values) = match name {
            "default" | "subject" | "body" | "tags" => (Matching::Text, ValueKind::Text),
            "grams" => (Matching::Gram, ValueKind::Text),
            "sender" | "attrtags" | "weights" => (Matching::Word, ValueKind::Text),
            "folder" => (Matching::Exact { terminator: "@@".to_owned() }, ValueKind::Text),
            "url" => (Matching::Uri, ValueKind::Text),
            "year" | "size" => (Matching::Word, ValueKind::Integer),
            "score" => (Matching::Word, ValueKind::Float),
            "unread" => (Matching::Word, ValueKind::Boolean),
            "emb" | "people" | "location" | "pred" => (Matching::Text, ValueKind::Other),
            _ => return None,
        };
        Some(Index { matching, values })
    }
}

struct Words;

impl Linguistics for Words {
    fn segment(&self, text: &str) -> Vec<String> {
        segment(text).into_iter().map(str::to_owned).collect()
    }

    fn class(&self, c: char) -> CharacterClass {
        match class_of(c) {
            Class::Letter => CharacterClass::Letter,
            Class::Digit => CharacterClass::Digit,
            Class::Symbol => CharacterClass::Symbol,
            _ => CharacterClass::Other,
        }
    }

    fn processed_words(&self, text: &str) -> Vec<String> {
        segment(text).into_iter().map(|word| Normalizing::LowercaseAndFold.apply(word).into_owned()).collect()
    }

    fn normalize(&self, text: &str) -> String {
        text.to_owned()
    }
}

fn around<'a>(given: &'a Given<'a>, user_query: Option<UserQuery<'a>>) -> Surroundings<'a> {
    Surroundings {
        parameters: given,
        indexes: &Fields,
        linguistics: &Words,
        user_query,
        input_grammar: Grammar::WEAK_AND,
    }
}

fn yql() -> Target {
    let mut corpus = corpus::members("yql/sample.jsonl", "yql");
    corpus.extend(corpus::members("yql/more.jsonl", "yql"));
    corpus.extend(corpus::members("yql/nasty.jsonl", "yql"));
    Target::text("yql", corpus, |text| {
        let given = Given("a AND \"b c\" -d");
        let query = UserQuery {
            text: "foo bar:baz",
            grammar: Grammar::WEAK_AND,
            filter: Some("+year:2024"),
            default_index: Some("subject"),
        };
        if let Ok(query) = parse_yql(text, &around(&given, Some(query))) {
            black_box(tree_text(&query.item));
            black_box(yql_text(&query.item, Form::Reference));
        }
    })
}

/// The input as condition, as grouping and as list of fields.
fn select() -> Target {
    let mut corpus = corpus::members("select-json/recorded.jsonl", "where");
    corpus.extend(corpus::members("select-json/recorded.jsonl", "grouping"));
    corpus.extend(corpus::members("select-json/recorded.jsonl", "fields"));
    Target::text("select", corpus, |text| {
        let given = Given(text);
        let around = around(&given, None);
        if let Ok(query) = parse_select(&Select { filter: text, ..Select::default() }, &around) {
            black_box(tree_text(&query.item));
            black_box(yql_text(&query.item, Form::Reference));
        }
        let beside = Select { filter: "true", grouping: Some(text), fields: None };
        let _ = black_box(parse_select(&beside, &around));
        let _ = black_box(parse_select(&Select { filter: "true", grouping: None, fields: Some(text) }, &around));
    })
}

fn simple_query() -> Target {
    let mut corpus = corpus::members("simple-query/sample.jsonl", "query");
    corpus.extend(corpus::members("simple-query/more.jsonl", "query"));
    corpus.extend(corpus::members("simple-query/default-index.jsonl", "query"));
    Target::text("simple-query", corpus, |text| {
        let given = Given(text);
        let around = around(&given, None);
        for grammar in GRAMMARS.map(|name| Grammar::named(name).expect("a grammar")) {
            if let Ok(item) = simple::parse(text, grammar, Some("default"), &around) {
                black_box(tree_text(&item));
            }
        }
        let filtered = UserQuery { text: "a", grammar: Grammar::WEAK_AND, filter: Some(text), default_index: None };
        let _ = black_box(simple::parse_user_query(&filtered, &around));
    })
    .costs(4)
}

fn sorting() -> Target {
    let corpus =
        ["-year +subject", "uca(subject,en_US,PRIMARY)", "-lowercase(a) missing(b,last) raw(c)", "[rank] [id]"];
    Target::text("sorting", corpus.map(Vec::from).to_vec(), |text| {
        let _ = black_box(parse_sorting(text));
    })
}

fn request_body() -> Target {
    let corpus = [
        r#"{"yql":"select * from mail where true","hits":5,"ranking":{"profile":"bm25","features":{"query(w)":1.5}}}"#,
        r#"{'input':{"query(q)":{"values":[1,2,3]}},"select":{"where":{"and":[]},"grouping":[]},"a":{"b":{"c":null}}}"#,
        r#"{"input.query(q)":[1e5,-0,true],"streaming.groupname":"a","timeout":"1s","presentation.timing":true}"#,
    ];
    Target::text("request-body", corpus.map(Vec::from).to_vec(), |text| {
        let _ = black_box(flatten(text));
    })
}

/// What parses is printed, and made a request of.
fn grouping() -> Target {
    let mut corpus = corpus::members("grouping/sample.jsonl", "expr");
    corpus.extend(corpus::members("grouping/more.jsonl", "expr"));
    Target::text("grouping", corpus, |text| {
        for operation in parse_grouping(text).unwrap_or_default() {
            black_box(operation.to_string());
            let _ = black_box(resolve(&operation, text, &Defaults::default()));
        }
    })
}

fn json_grouping() -> Target {
    let corpus = [
        r#"[{"all":{"group":"customer","max":5,"label":"by customer","each":{"output":["sum(price)","count()"]}}}]"#,
        r#"{'all':{"group":{"predefined":["price",{"bucket":[1,2]},{"bucket":[3,"inf"]}]},"each":{"output":"count()"}}}"#,
        r#"[{"all":{"all":[{"group":"a\u0041"}],"each":null,"order":"-sum(b)","filter":{"regex":["\"x\"","a"]}}},[],true]"#,
    ];
    Target::text("json-grouping", corpus.map(Vec::from).to_vec(), |text| {
        for text in brooklet_query::json_grouping(text).unwrap_or_default() {
            let _ = black_box(parse_grouping(&text));
        }
    })
}
