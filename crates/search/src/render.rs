//! The answer as it goes over the wire (query-api, result JSON): members in Vespa's order, nothing empty. JSON and CBOR
//! have one shape, markup (`xml`) another; an event stream carries only what went wrong, as there is no language model that speaks yet.
mod content;
mod rendering;
mod tree;
mod xml;

use brooklet_document::{Format, ValueWriter};
use brooklet_task::{Issue, Rejection};

pub(crate) use content::{Answer, Coverage, ShownHit, Timing};
pub(crate) use rendering::{Rendered, Rendering};
pub(crate) use tree::Tree;

/// Renders an answer.
pub(crate) fn answer(answer: &Answer<'_>, rendering: &Rendering) -> Rendered {
    let mut issues = answer.issues.to_vec();
    issues.extend(rendering.issue());
    let status = match answer.issues.first() {
        Some(issue) if answer.hits.is_empty() && answer.groups.is_empty() => issue.code.status(),
        _ => 200,
    };
    if rendering.is_stream() {
        return rendering.finish(status, events(&issues));
    }
    if let Some(charset) = rendering.charset() {
        return rendering.finish(status, xml::answer(answer, &issues, charset));
    }
    let body = rendering.format().write_with(|out| {
        out.begin_object();
        write_trace(answer.trace, out);
        if let Some(timing) = answer.timing {
            write_timing(timing, out);
        }
        if let Some(explanation) = answer.explanation {
            out.key("explain");
            explanation.write(out);
        }
        out.key("root");
        out.begin_object();
        begin_root(answer.total, out);
        write_coverage(answer.coverage, out);
        write_errors(&issues, out);
        if !answer.hits.is_empty() || !answer.groups.is_empty() {
            out.key("children");
            out.begin_array();
            let (before, behind) = answer.hits.split_at(answer.hits_before_groups);
            before.iter().for_each(|hit| write_hit(hit, out));
            answer.groups.iter().for_each(|group| group.write(answer.sources, out));
            behind.iter().for_each(|hit| write_hit(hit, out));
            out.end_array();
        }
        out.end_object();
        out.end_object();
    });
    rendering.finish(status, body)
}

/// Renders a refusal.
pub(crate) fn refusal(rejection: &Rejection, rendering: &Rendering) -> Rendered {
    let mut issues = vec![Issue { code: rejection.code, message: rejection.message.clone() }];
    issues.extend(rendering.issue());
    let status = rejection.code.status();
    if rendering.is_stream() {
        return rendering.finish(status, events(&issues));
    }
    if let Some(charset) = rendering.charset() {
        return rendering.finish(status, xml::refusal(&issues, charset));
    }
    let body = rendering.format().write_with(|out| {
        out.begin_object();
        out.key("root");
        out.begin_object();
        begin_root(0, out);
        write_errors(&issues, out);
        out.end_object();
        out.end_object();
    });
    rendering.finish(status, body)
}

fn begin_root(total: u64, out: &mut dyn ValueWriter) {
    out.key("id");
    out.string("toplevel");
    out.key("relevance");
    out.double(1.0);
    out.key("fields");
    out.begin_object();
    out.key("totalCount");
    out.integer(total as i64);
    out.end_object();
}

fn write_coverage(coverage: Coverage, out: &mut dyn ValueWriter) {
    let results = coverage.results as i64;
    out.key("coverage");
    out.begin_object();
    for (name, value) in [("coverage", coverage.percent()), ("documents", coverage.documents)] {
        out.key(name);
        out.integer(value as i64);
    }
    let (late, damaged) = (coverage.unseen > 0, coverage.damaged > 0);
    let full = !late && !damaged;
    if !full {
        out.key("degraded");
        out.begin_object();
        for (name, value) in
            [("match-phase", false), ("timeout", late), ("adaptive-timeout", false), ("non-ideal-state", damaged)]
        {
            out.key(name);
            out.boolean(value);
        }
        out.end_object();
    }
    out.key("full");
    out.boolean(full);
    for (name, value) in [("nodes", 1), ("results", results), ("resultsFull", if full { results } else { 0 })] {
        out.key(name);
        out.integer(value);
    }
    out.end_object();
}

fn write_errors(issues: &[Issue], out: &mut dyn ValueWriter) {
    if issues.is_empty() {
        return;
    }
    out.key("errors");
    out.begin_array();
    issues.iter().for_each(|issue| write_error(issue, out));
    out.end_array();
}

fn write_error(issue: &Issue, out: &mut dyn ValueWriter) {
    out.begin_object();
    out.key("code");
    out.integer(i64::from(issue.code.number()));
    for (key, value) in [("summary", issue.code.summary()), ("message", &issue.message), ("name", issue.code.name())] {
        out.key(key);
        out.string(value);
    }
    out.end_object();
}

fn write_hit(hit: &ShownHit, out: &mut dyn ValueWriter) {
    out.begin_object();
    out.key("id");
    out.string(&hit.id);
    out.key("relevance");
    out.double(hit.relevance);
    out.key("source");
    out.string(&hit.source);
    if let Some(fields) = &hit.fields {
        out.key("fields");
        out.fragment(fields);
    }
    if let Some(explanation) = &hit.explanation {
        out.key("explain");
        out.fragment(explanation);
    }
    out.end_object();
}

fn write_trace(children: &[Tree], out: &mut dyn ValueWriter) {
    if children.is_empty() {
        return;
    }
    out.key("trace");
    out.begin_object();
    out.key("children");
    out.begin_array();
    children.iter().for_each(|child| child.write(out));
    out.end_array();
    out.end_object();
}

fn write_timing(timing: Timing<'_>, out: &mut dyn ValueWriter) {
    let seconds = timing.elapsed_ms / 1_000.0;
    out.key("timing");
    out.begin_object();
    for (name, value) in [("querytime", seconds), ("summaryfetchtime", 0.0), ("searchtime", seconds)] {
        out.key(name);
        out.double(value);
    }
    write_bytes(timing.bytes_read, timing.bytes_scanned, out);
    out.key("stages");
    out.begin_object();
    for (stage, cost) in timing.stages.all() {
        out.key(stage.as_str());
        out.begin_object();
        out.key("time");
        out.double(cost.ms / 1_000.0);
        write_bytes(cost.bytes_read, cost.bytes_scanned, out);
        out.end_object();
    }
    out.end_object();
    out.end_object();
}

fn write_bytes(read: u64, scanned: u64, out: &mut dyn ValueWriter) {
    for (name, value) in [("bytesread", read), ("bytesscanned", scanned)] {
        out.key(name);
        out.integer(value as i64);
    }
}

/// An event stream without anything but errors (query-api §6).
fn events(issues: &[Issue]) -> Vec<u8> {
    let mut body = Vec::new();
    for issue in issues {
        body.extend(b"event: error\ndata: ");
        body.extend(Format::Json.write_with(|out| write_error(issue, out)));
        body.extend(b"\n\n");
    }
    body.extend(b"event: end\n");
    body
}
