//! From what was found to the answer: the window of hits is cut, and everything is rendered. One partition's answer and
//! that of many are made here, by the same steps.
use brooklet_task::Rejection;
use brooklet_task::bytes::Writer;

use crate::lane::Ranked;
use crate::partial::{Filled, Partial};
use crate::phases::decide;
use crate::plan::Plan;
use crate::render::{self, Answer, Coverage, Rendered, Rendering, ShownHit, Timing, Tree};

/// The hits that are shown.
pub(crate) struct Settled<Content> {
    /// In the order of the answer.
    pub(crate) hits: Vec<Ranked<Content>>,
    /// How many a later phase dropped.
    pub(crate) dropped: u64,
}

/// Decides about the kept hits: later phases, then one order for all schemas, then the window.
pub(crate) fn settle<Content>(plan: &Plan, kept: Vec<Ranked<Content>>) -> Result<Settled<Content>, Rejection> {
    let mut dropped = 0;
    let mut hits = Vec::with_capacity(kept.len());
    let mut of_schema: Vec<Vec<Ranked<Content>>> = plan.schemas.iter().map(|_| Vec::new()).collect();
    for hit in kept {
        if plan.schemas[hit.schema].phases.is_empty() { hits.push(hit) } else { of_schema[hit.schema].push(hit) }
    }
    for (schema, mut phased) in of_schema.into_iter().enumerate().filter(|(_, phased)| !phased.is_empty()) {
        dropped += decide(plan, schema, &mut phased)? as u64;
        hits.append(&mut phased);
    }
    hits.sort_by(|a, b| plan.compare(a, b));
    hits.truncate(plan.hits + plan.offset);
    hits.drain(..plan.offset.min(hits.len()));
    Ok(Settled { hits, dropped })
}

/// Renders an answer whose hits are settled.
pub(crate) fn render(plan: &Plan, found: &Partial, elapsed_ms: f64, rendering: &Rendering) -> Vec<u8> {
    if let Some(refusal) = &found.refusal {
        return framed(&render::refusal(refusal, rendering), found.bytes_read, found.bytes_scanned);
    }
    let shown: Vec<ShownHit> = found.hits.iter().map(|hit| shown(plan, hit)).collect();
    let timing = Timing { elapsed_ms, bytes_read: found.bytes_read, bytes_scanned: found.bytes_scanned };
    let answer = Answer {
        total: found.total,
        coverage: Coverage { documents: found.documents, results: plan.schemas.len() },
        groups: &[],
        hits: &shown,
        issues: found.issues.all(),
        timing: plan.presentation.timing.then_some(timing),
        trace: &trace(plan.presentation.trace_level, found),
    };
    framed(&render::answer(&answer, rendering), found.bytes_read, found.bytes_scanned)
}

/// A refusal, rendered.
pub(crate) fn refuse(rejection: &Rejection, rendering: &Rendering) -> Vec<u8> {
    framed(&render::refusal(rejection, rendering), 0, 0)
}

fn shown(plan: &Plan, hit: &Ranked<Filled>) -> ShownHit {
    ShownHit {
        id: hit.id.clone().unwrap_or_default(),
        relevance: hit.score,
        source: plan.schemas[hit.schema].schema.cluster.clone(),
        fields: hit.content.fields.clone(),
    }
}

fn trace(level: i32, found: &Partial) -> Vec<Tree> {
    let mut messages = Vec::new();
    if level >= 1 {
        messages.push("No query profile is used".to_owned());
    }
    if level >= 2 {
        messages.push(format!(
            "Buckets visited: {}\nDocuments visited: {}\nBytes visited: {}\nDocuments returned: {}\nBytes returned: {}\n",
            found.partitions,
            found.documents,
            found.bytes_read,
            found.hits.len(),
            found.hits.iter().filter_map(|hit| hit.content.fields.as_ref()).map(Vec::len).sum::<usize>(),
        ));
    }
    messages.into_iter().map(|message| Tree::object([("message", Tree::Text(message))])).collect()
}

/// An answer as the host takes it (docs/abi.md, search).
fn framed(rendered: &Rendered, bytes_read: u64, bytes_scanned: u64) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u16(rendered.status);
    writer.text(rendered.content_type);
    writer.u64(bytes_read);
    writer.u64(bytes_scanned);
    writer.bytes(&rendered.body);
    writer.finish()
}
