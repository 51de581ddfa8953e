//! Runs rows of the vectors through the core and writes down everything it makes of them, so that two builds of the
//! core (native and WebAssembly) can be compared bit by bit.
//!
//! Whether an answer is *right* is not asked here: the crates' own tests compare with what was recorded, and
//! `tests/conversations.rs` with what the specification says. A row that is not understood panics: it is a defect of
//! the vectors.
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "names of exports are not mangled; nothing else in it is unsafe")]
mod border;
pub mod conversation;
mod documents;
mod expressions;
mod generated;
mod queries;
mod row;
mod schemas;
mod tokens;

// The surroundings the crates' own tests run the same rows in. They lie with those tests.
#[path = "../../../crates/query/tests/query/fixture/mod.rs"]
mod fixture;
#[path = "../../../crates/search/tests/search/host/mod.rs"]
mod host;
#[path = "../../../crates/document/tests/document/mail/mod.rs"]
mod mail;

use serde_json::Value as Json;

/// What the core makes of one row (a line of `test-vectors/<topic>/*.jsonl`, or a whole file of conversations).
///
/// # Panics
/// If the topic is unknown, or the row is not one of it.
#[must_use]
pub fn answer(topic: &str, row: &str) -> String {
    let row: Json = serde_json::from_str(row).expect("a row is JSON");
    match topic {
        "document-json" => documents::operation(&row),
        "selection" => documents::selection(&row),
        "tensor" => documents::tensor(&row),
        "query-profile" => schemas::query_profiles(&row),
        "schema" => schemas::schema(&row),
        "yql" => queries::statement(&row),
        "select-json" => queries::select(&row),
        "simple-query" => queries::simple_query(&row),
        "grouping" => queries::grouping(&row),
        "expression" => expressions::expression(&row),
        "generated" => generated::answers(&row),
        "tokens" => tokens::tokens(&row),
        "search" | "document-api" => conversation::answers(&row),
        other => panic!("no topic {other}"),
    }
}
