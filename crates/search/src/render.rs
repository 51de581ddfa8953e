//! The answer as JSON (query-api, result JSON): members in Vespa's order, nothing empty.
use brooklet_document::json::JsonWriter;
use brooklet_task::{Issue, Rejection};

/// Content type of every answer.
pub(crate) const JSON: &str = "application/json; charset=utf-8";

/// A hit, ready to be shown.
pub(crate) struct ShownHit {
    pub(crate) id: String,
    pub(crate) relevance: f64,
    pub(crate) source: String,
    /// The `fields` object, if it has members.
    pub(crate) fields: Option<String>,
}

/// What an answer says beside its hits.
pub(crate) struct Answer<'a> {
    pub(crate) total: u64,
    /// Documents looked at.
    pub(crate) documents: u64,
    pub(crate) schemas: usize,
    pub(crate) hits: &'a [ShownHit],
    pub(crate) issues: &'a [Issue],
    pub(crate) timing: Option<Timing>,
    pub(crate) trace: &'a [String],
}

/// Times in milliseconds and bytes, shown when asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) elapsed_ms: f64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_scanned: u64,
}

/// The status and body of an answer.
pub(crate) fn answer(answer: &Answer<'_>) -> (u16, String) {
    let status = match answer.issues.first() {
        Some(issue) if answer.hits.is_empty() => issue.code.status(),
        _ => 200,
    };
    let mut json = JsonWriter::new();
    json.begin_object();
    write_trace(answer.trace, &mut json);
    if let Some(timing) = answer.timing {
        write_timing(timing, &mut json);
    }
    json.key("root");
    json.begin_object();
    begin_root(answer.total, &mut json);
    write_coverage(answer.documents, answer.schemas, &mut json);
    if !answer.issues.is_empty() {
        json.key("errors");
        json.begin_array();
        answer.issues.iter().for_each(|issue| {
            write_error(issue.code.number(), issue.code.summary(), &issue.message, issue.code.name(), &mut json);
        });
        json.end_array();
    }
    if !answer.hits.is_empty() {
        json.key("children");
        json.begin_array();
        answer.hits.iter().for_each(|hit| write_hit(hit, &mut json));
        json.end_array();
    }
    json.end_object();
    json.end_object();
    (status, json.finish())
}

/// The status and body of a refusal.
pub(crate) fn refusal(rejection: &Rejection) -> (u16, String) {
    let mut json = JsonWriter::new();
    json.begin_object();
    json.key("root");
    json.begin_object();
    begin_root(0, &mut json);
    json.key("errors");
    json.begin_array();
    let code = rejection.code;
    write_error(code.number(), code.summary(), &rejection.message, code.name(), &mut json);
    json.end_array();
    json.end_object();
    json.end_object();
    (code.status(), json.finish())
}

fn begin_root(total: u64, json: &mut JsonWriter) {
    json.key("id");
    json.string("toplevel");
    json.key("relevance");
    json.double(1.0);
    json.key("fields");
    json.begin_object();
    json.key("totalCount");
    json.integer(total as i64);
    json.end_object();
}

fn write_coverage(documents: u64, schemas: usize, json: &mut JsonWriter) {
    json.key("coverage");
    json.begin_object();
    for (name, value) in [("coverage", 100), ("documents", documents as i64)] {
        json.key(name);
        json.integer(value);
    }
    json.key("full");
    json.boolean(true);
    for (name, value) in [("nodes", 1), ("results", schemas as i64), ("resultsFull", schemas as i64)] {
        json.key(name);
        json.integer(value);
    }
    json.end_object();
}

fn write_error(code: u16, summary: &str, message: &str, name: &str, json: &mut JsonWriter) {
    json.begin_object();
    json.key("code");
    json.integer(i64::from(code));
    for (key, value) in [("summary", summary), ("message", message), ("name", name)] {
        json.key(key);
        json.string(value);
    }
    json.end_object();
}

fn write_hit(hit: &ShownHit, json: &mut JsonWriter) {
    json.begin_object();
    json.key("id");
    json.string(&hit.id);
    json.key("relevance");
    json.double(hit.relevance);
    json.key("source");
    json.string(&hit.source);
    if let Some(fields) = &hit.fields {
        json.key("fields");
        json.raw(fields);
    }
    json.end_object();
}

fn write_trace(messages: &[String], json: &mut JsonWriter) {
    if messages.is_empty() {
        return;
    }
    json.key("trace");
    json.begin_object();
    json.key("children");
    json.begin_array();
    for message in messages {
        json.begin_object();
        json.key("message");
        json.string(message);
        json.end_object();
    }
    json.end_array();
    json.end_object();
}

fn write_timing(timing: Timing, json: &mut JsonWriter) {
    let seconds = timing.elapsed_ms / 1_000.0;
    json.key("timing");
    json.begin_object();
    for (name, value) in [("querytime", seconds), ("summaryfetchtime", 0.0), ("searchtime", seconds)] {
        json.key(name);
        json.double(value);
    }
    for (name, value) in [("bytesread", timing.bytes_read), ("bytesscanned", timing.bytes_scanned)] {
        json.key(name);
        json.integer(value as i64);
    }
    json.end_object();
}
