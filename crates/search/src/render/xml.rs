//! The answer as markup (query-api §8): what `format=xml` asks for.
use brooklet_document::Format;
use brooklet_task::Issue;

use super::content::{Answer, Coverage, ShownHit, Timing};
use super::tree::Tree;
use crate::markup::{Markup, double_text};

/// An answer.
pub(super) fn answer(answer: &Answer<'_>, issues: &[Issue], charset: &str) -> Vec<u8> {
    let mut out = Markup::document(charset);
    let (total, coverage) = (answer.total.to_string(), coverage(answer.coverage));
    let timing = answer.timing.map_or_else(Vec::new, |of| timing(of, answer.hits.is_empty()));
    let told = coverage.iter().chain(&timing).map(|(name, value)| (*name, value.as_str()));
    out.begin("result", &std::iter::once(("total-hit-count", total.as_str())).chain(told).collect::<Vec<_>>());
    let is_empty = issues.is_empty()
        && answer.hits.is_empty()
        && answer.groups.is_empty()
        && answer.trace.is_empty()
        && answer.explanation.is_none();
    if is_empty {
        out.text("");
    }
    first_error(issues, &mut out);
    trace(answer.trace, &mut out);
    if let Some(explanation) = answer.explanation {
        let json = Format::Json.write_with(|json| explanation.write(json));
        out.element("meta", &[("type", "explanation")], &String::from_utf8_lossy(&json));
    }
    error_details(issues, &mut out);
    let (before, behind) = answer.hits.split_at(answer.hits_before_groups);
    before.iter().for_each(|hit| shown_hit(hit, &mut out));
    answer.groups.iter().for_each(|group| group.write_markup(answer.sources, &mut out));
    behind.iter().for_each(|hit| shown_hit(hit, &mut out));
    out.end();
    out.finish()
}

/// A refusal.
pub(super) fn refusal(issues: &[Issue], charset: &str) -> Vec<u8> {
    let mut out = Markup::document(charset);
    out.begin("result", &[("total-hit-count", "0")]);
    first_error(issues, &mut out);
    error_details(issues, &mut out);
    out.end();
    out.finish()
}

fn coverage(coverage: Coverage) -> [(&'static str, String); 6] {
    let full = coverage.unseen == 0 && coverage.damaged == 0;
    [
        ("coverage-docs", coverage.documents.to_string()),
        ("coverage-nodes", "1".to_owned()),
        ("coverage-full", full.to_string()),
        ("coverage", coverage.percent().to_string()),
        ("results-full", if full { coverage.results } else { 0 }.to_string()),
        ("results", coverage.results.to_string()),
    ]
}

/// Seconds with three decimals; what filling hits took only if there are any.
fn timing(of: Timing, no_hits: bool) -> Vec<(&'static str, String)> {
    let seconds = format!("{:.3}", of.elapsed_ms / 1_000.0);
    let all = [("querytime", seconds.clone()), ("summaryfetchtime", "0.000".to_owned()), ("searchtime", seconds)];
    all.into_iter().filter(|(name, _)| !no_hits || *name == "searchtime").collect()
}

fn first_error(issues: &[Issue], out: &mut Markup) {
    if let Some(issue) = issues.first() {
        out.element("error", &[("code", &issue.code.number().to_string())], issue.code.summary());
    }
}

fn error_details(issues: &[Issue], out: &mut Markup) {
    if issues.is_empty() {
        return;
    }
    out.begin("errordetails", &[]);
    for issue in issues {
        let code = issue.code.number().to_string();
        out.element("error", &[("error", issue.code.summary()), ("code", &code)], &issue.message);
    }
    out.end();
}

fn trace(children: &[Tree], out: &mut Markup) {
    if children.is_empty() {
        return;
    }
    out.begin("meta", &[("type", "context")]);
    children.iter().for_each(|child| render_trace(child, out));
    out.end();
}

/// A message, or a list of them.
fn render_trace(of: &Tree, out: &mut Markup) {
    let Tree::Object(members) = of else { return };
    let member = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    out.begin("p", &[]);
    if let Some(Tree::Text(message)) = member("message") {
        match member("timestamp") {
            Some(Tree::Integer(at)) => out.text(&format!("{at} ms: {message}")),
            _ => out.text(message),
        }
    }
    if let Some(Tree::List(children)) = member("children") {
        children.iter().for_each(|child| render_trace(child, out));
    }
    out.end();
}

fn shown_hit(hit: &ShownHit, out: &mut Markup) {
    let relevancy = double_text(hit.relevance);
    out.begin("hit", &[("relevancy", &relevancy), ("source", &hit.source)]);
    out.element("field", &[("name", "relevancy")], &relevancy);
    out.put(hit.fields.as_deref().unwrap_or_default());
    if let Some(explanation) = &hit.explanation {
        out.element("field", &[("name", "explain")], &String::from_utf8_lossy(explanation));
    }
    out.end();
}
