//! Conversations: an application, documents, and requests one after another, each with its answer.
//!
//! A file is `{"application": name, "files": {path: text}, "feed": [step…] or name, "conversations": [{"name", "why",
//! "files", "steps": [step…]}]}`. Every conversation begins with the file's application and feed, and is held twice:
//! with the feed in the tail, and with it folded into segments. Steps:
//!
//! * `{"put": id, "fields": object or JSON text}`, `{"update": id, "fields"}`, `{"remove": id}`, each with `condition`
//!   and `create`, and instead of `fields` a whole `body`; `{"get": id, "fieldSet", "tensors"}`
//! * `{"search": {parameter: value} or [[parameter, value]…], "key": "g:alice", "scoped": true, "body": text, "accept":
//!   text}`: `key` names the partition (by default `g:alice`; `""`: those that the
//!   parameters name), `scoped` adds the parameter that names the
//!   same group, `accept` is the header of that name.
//! * `{"compact": key, "settle": bool}`
//!
//! A file of the application that is no text is `{"base64": text}`. Where profiles run models, `"runs"` of the file and of
//! the conversation say what the host is to answer: `{"file", "inputs": {name: [number…]}, "outputs": {name: [number…]}}`,
//! floats, or `{"element": number of ONNX's type, "values"}`. A search that wants another run is a defect of the row.
use std::collections::BTreeMap;

use brooklet_document::DocumentId;
use brooklet_document::json::decode_base64;
use brooklet_schema::Application;
use brooklet_search::Deployed;
use brooklet_task::Rejection;
use serde_json::{Value as Json, json};

use crate::host::model_runs::{self, FLOAT, Output, Wanted};
use crate::host::{Host, Models, Write};
use crate::row::{needed, text};

const CACHE_BYTES: usize = 64 << 20;
const DEFAULT_KEY: &str = "g:alice";
/// Partitions searched between two merges.
const PARTITIONS_AT_ONCE: usize = 2;
const FOLD: u8 = 1;
const SETTLE: u8 = 3;

/// The applications a file may name, with their files.
const APPLICATIONS: [(&str, &[(&str, &str)]); 2] = [
    (
        "mail",
        &[
            ("services.xml", include_str!("../../applications/mail/services.xml")),
            ("hosts.xml", include_str!("../../applications/mail/hosts.xml")),
            ("schemas/mail.sd", include_str!("../../applications/mail/schemas/mail.sd")),
            ("schemas/note.sd", include_str!("../../applications/mail/schemas/note.sd")),
        ],
    ),
    (
        "library",
        &[
            ("services.xml", include_str!("../../applications/library/services.xml")),
            ("schemas/book.sd", include_str!("../../applications/library/schemas/book.sd")),
            (
                "search/query-profiles/newest.xml",
                include_str!("../../applications/library/search/query-profiles/newest.xml"),
            ),
            (
                "search/query-profiles/types/shelf.xml",
                include_str!("../../applications/library/search/query-profiles/types/shelf.xml"),
            ),
        ],
    ),
];

/// The feeds a file may name.
const FEEDS: [(&str, &str); 1] = [("library", include_str!("../../feeds/library.json"))];

/// What came of a step: the status of its answer, and the body. A refused write has `CODE: message` for a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// HTTP status.
    pub status: u16,
    /// The body as it was rendered; CBOR in hexadecimal digits.
    pub body: String,
    /// How many runs of models a search waited for, each time.
    pub rounds: Vec<usize>,
}

impl Outcome {
    fn of(status: u16, body: String) -> Outcome {
        Outcome { status, body, rounds: Vec::new() }
    }

    fn refused(rejection: &Rejection) -> Outcome {
        Outcome::of(rejection.code.status(), format!("{}: {}", rejection.code.name(), rejection.message))
    }

    fn of_write(outcome: Result<(), Rejection>) -> Outcome {
        outcome.map_or_else(|rejection| Outcome::refused(&rejection), |()| Outcome::of(200, String::new()))
    }
}

/// All conversations of a file, held twice each, as JSON: `[{"name", "tail": [[status, body]…], "folded": […]}…]`.
pub(crate) fn answers(file: &Json) -> String {
    let conversations = file["conversations"].as_array().expect("a file has conversations").iter();
    let held = conversations.map(|conversation| {
        let outcomes = |folded: bool| -> Vec<Json> {
            hold(file, conversation, folded).into_iter().map(|of| json!([of.status, of.body])).collect()
        };
        json!({"name": needed(conversation, "name"), "tail": outcomes(false), "folded": outcomes(true)})
    });
    Json::Array(held.collect()).to_string()
}

/// Holds one conversation of a file. If the application is refused, the refusal is the only outcome.
///
/// # Panics
/// If the file is not well formed.
#[must_use]
pub fn hold(file: &Json, conversation: &Json, folded: bool) -> Vec<Outcome> {
    let files = files_of(file, conversation);
    if let Err(rejection) = deployed(&files) {
        return vec![Outcome::refused(&rejection)];
    }
    let mut host = Host::of_files(files, CACHE_BYTES);
    let runs = [list(file, "runs"), list(conversation, "runs")].concat();
    let feed = feed_of(file);
    feed.iter().for_each(|given| assert_eq!(step(&mut host, given, &runs).status, 200, "{given}"));
    if folded {
        // Of a key that comes again, nothing is left to fold.
        for id in feed.iter().filter_map(|given| text(given, "put")) {
            host.compact(&key_of(id), FOLD);
        }
    }
    list(conversation, "steps").iter().map(|given| step(&mut host, given, &runs)).collect()
}

fn feed_of(file: &Json) -> Vec<Json> {
    let Some(name) = text(file, "feed") else { return list(file, "feed").to_vec() };
    let (_, feed) = FEEDS.iter().find(|(known, _)| *known == name).expect("a known feed");
    serde_json::from_str(feed).expect("a feed is a list of steps")
}

fn list<'a>(of: &'a Json, member: &str) -> &'a [Json] {
    of.get(member).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn key_of(id: &str) -> String {
    DocumentId::parse(id).expect("an id of the feed").partition_key()
}

fn deployed(files: &[(String, Vec<u8>)]) -> Result<(), Rejection> {
    Deployed::compile(Application::deploy(files)?).map(drop)
}

/// The files of the application: those of the conversation win over those of the file, these over those of the
/// application it names.
fn files_of(file: &Json, conversation: &Json) -> Vec<(String, Vec<u8>)> {
    let named = text(file, "application");
    let known = APPLICATIONS.iter().find(|(name, _)| Some(*name) == named);
    let mut files: Vec<(String, Vec<u8>)> = known
        .map_or(&[][..], |(_, files)| files)
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect();
    for of in [file, conversation] {
        for (path, given) in of.get("files").and_then(Json::as_object).into_iter().flatten() {
            files.retain(|(known, _)| known != path);
            files.push((path.clone(), content(given)));
        }
    }
    assert!(!files.is_empty(), "an application is named or given");
    files
}

fn content(given: &Json) -> Vec<u8> {
    match given.as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => decode_base64(needed(given, "base64")).expect("a file is text, or base64"),
    }
}

fn step(host: &mut Host, given: &Json, runs: &[Json]) -> Outcome {
    for (kind, name) in [(1, "put"), (2, "update"), (3, "remove")] {
        let Some(id) = text(given, name) else { continue };
        let body = match (text(given, "body"), given.get("fields")) {
            (Some(body), _) => body.to_owned(),
            (None, Some(Json::String(fields))) => format!("{{\"fields\":{fields}}}"),
            (None, Some(fields)) => format!("{{\"fields\":{fields}}}"),
            (None, None) => String::new(),
        };
        let condition = text(given, "condition").unwrap_or_default();
        let write = Write { kind, id, body: &body, condition, create: given["create"].as_bool() };
        return Outcome::of_write(host.write(&write));
    }
    if let Some(id) = text(given, "get") {
        let field_set = text(given, "fieldSet").unwrap_or_default();
        let answer = host.get_as(id, field_set, text(given, "tensors").unwrap_or_default());
        return Outcome::of(answer.status, answer.body);
    }
    if let Some(key) = text(given, "compact") {
        host.compact(key, if given["settle"] == true { SETTLE } else { FOLD });
        return Outcome::of(200, String::new());
    }
    search(host, given, runs)
}

fn search(host: &Host, given: &Json, runs: &[Json]) -> Outcome {
    let key = text(given, "key").unwrap_or(DEFAULT_KEY);
    let mut parameters = parameters_of(&given["search"]);
    if given["scoped"] != false && !key.is_empty() {
        let (kind, name) = key.split_once(':').expect("a key has a kind");
        parameters.push((if kind == "n" { "streaming.userid" } else { "streaming.groupname" }, name));
    }
    let (body, accept) = (text(given, "body").unwrap_or_default(), text(given, "accept").unwrap_or_default());
    let query = host.query(&parameters, body, accept);
    let answered = |models: Models<'_>| match key {
        "" => host.answer_scoped(&query, PARTITIONS_AT_ONCE, models),
        key => host.answer(&query, key, models),
    };
    let (answer, rounds) = model_runs::ask(&answered, &|run, output| output_of(runs, run, output));
    Outcome { status: answer.status, body: answer.body, rounds: rounds.iter().map(Vec::len).collect() }
}

/// What the rows say an output of a run is.
fn output_of(runs: &[Json], wanted: &Wanted, output: &str) -> Output {
    let is_it = |run: &&Json| needed(run, "file") == wanted.file && inputs_of(run) == wanted.inputs;
    let found = runs.iter().find(is_it).map(|run| &run["outputs"][output]);
    let given = found.unwrap_or_else(|| panic!("no row says what {} makes of {:?}", wanted.file, wanted.inputs));
    match given["element"].as_u64() {
        Some(element) => (element as u8, numbers(&given["values"])),
        None => (FLOAT, numbers(given)),
    }
}

fn inputs_of(run: &Json) -> BTreeMap<String, Vec<f64>> {
    let inputs = run["inputs"].as_object().expect("a run has inputs");
    inputs.iter().map(|(name, values)| (name.clone(), numbers(values))).collect()
}

/// Numbers; JSON has none for what is not a number.
fn numbers(given: &Json) -> Vec<f64> {
    let number = |value: &Json| if value == "NaN" { f64::NAN } else { value.as_f64().expect("a number") };
    given.as_array().unwrap_or_else(|| panic!("no list of numbers: {given}")).iter().map(number).collect()
}

fn parameters_of(given: &Json) -> Vec<(&str, &str)> {
    match given {
        Json::Object(parameters) => parameters.iter().map(|(name, value)| (name.as_str(), parameter(value))).collect(),
        Json::Array(pairs) => pairs.iter().map(|pair| (parameter(&pair[0]), parameter(&pair[1]))).collect(),
        other => panic!("no step: {other}"),
    }
}

fn parameter(given: &Json) -> &str {
    given.as_str().expect("a parameter is text")
}
