//! From what was found to the answer: the window of hits is cut, and everything is rendered. One partition's answer and
//! that of many are made here, by the same steps.
use brooklet_document::shown_id;
use brooklet_kernel::sort_by;
use brooklet_task::Rejection;
use brooklet_task::bytes::Writer;

use crate::found::hit::Ranked;
use crate::found::model_runs::{Models, WantedRuns};
use crate::found::partial::{Filled, Partial};
use crate::found::phases::decide;
use crate::plan::Plan;
use crate::render::{Answer, Coverage, Rendered, Rendering, ShownHit, Timing, Tree};
use crate::{grouping, render};

/// The hits that are shown.
pub(crate) struct FinalHits<Content> {
    /// In the order of the answer.
    pub(crate) hits: Vec<Ranked<Content>>,
    /// How many a later phase dropped.
    pub(crate) dropped: u64,
    /// Runs of models without which this is not so: then nothing of it can be shown.
    pub(crate) wanted: WantedRuns,
}

/// Decides about the kept hits: later phases, then one order for all schemas, then the window.
#[inline(never)]
pub(crate) fn final_hits<Content>(plan: &Plan, kept: Vec<Ranked<Content>>) -> Result<FinalHits<Content>, Rejection> {
    let mut dropped = 0;
    let mut models = Models::new(&plan.models);
    let mut hits = Vec::with_capacity(kept.len());
    let mut of_schema: Vec<Vec<Ranked<Content>>> = plan.schemas.iter().map(|_| Vec::new()).collect();
    for hit in kept {
        if plan.schemas[hit.schema].phases.is_empty() { hits.push(hit) } else { of_schema[hit.schema].push(hit) }
    }
    for (schema, mut phased) in of_schema.into_iter().enumerate().filter(|(_, phased)| !phased.is_empty()) {
        dropped += decide(plan, schema, &mut phased, &mut models)? as u64;
        hits.append(&mut phased);
    }
    sort_by(&mut hits, |a, b| plan.compare(a, b));
    plan.collapse.leave(&mut hits, plan.order.descending.len(), |_| Some(0));
    hits.truncate(plan.hits + plan.offset);
    hits.drain(..plan.offset.min(hits.len()));
    Ok(FinalHits { hits, dropped, wanted: models.take_wanted()? })
}

/// Renders an answer whose hits are settled.
pub(crate) fn render(plan: &Plan, found: &mut Partial, elapsed_ms: f64, rendering: &Rendering) -> Vec<u8> {
    if let Some(refusal) = &found.refusal {
        return frame(&render::refusal(refusal, rendering), found.bytes_read, found.bytes_scanned);
    }
    let traced = trace(plan, found, elapsed_ms);
    let sources: Vec<&str> = plan.schemas.iter().map(|of| of.schema.cluster.as_str()).collect();
    let groups = match grouping::answers(&plan.grouping, &mut found.grouping, &plan.seal) {
        Ok(groups) => groups,
        Err(rejection) => return refuse(&rejection, rendering),
    };
    let shown: Vec<ShownHit> = found.hits.iter().map(|hit| hit_of(plan, hit)).collect();
    let timing =
        Timing { elapsed_ms, bytes_read: found.bytes_read, bytes_scanned: found.bytes_scanned, stages: &found.stages };
    let answer = Answer {
        total: found.total,
        coverage: Coverage {
            documents: found.documents,
            unseen: found.unseen,
            partitions: found.partitions,
            damaged: found.damaged,
            results: plan.schemas.len(),
        },
        groups: &groups,
        hits_before_groups: match plan.order.descending.is_empty() {
            true => shown.iter().take_while(|hit| hit.relevance >= 1.0).count(),
            false => shown.len(),
        },
        sources: &sources,
        hits: &shown,
        explanation: found.explanation.as_ref(),
        issues: found.issues.all(),
        timing: plan.presentation.timing.then_some(timing),
        trace: &traced,
    };
    frame(&render::answer(&answer, rendering), found.bytes_read, found.bytes_scanned)
}

/// A refusal, rendered.
pub(crate) fn refuse(rejection: &Rejection, rendering: &Rendering) -> Vec<u8> {
    frame(&render::refusal(rejection, rendering), 0, 0)
}

fn hit_of(plan: &Plan, hit: &Ranked<Filled>) -> ShownHit {
    ShownHit {
        id: shown_id(hit.id.as_deref().unwrap_or_default()).into_owned(),
        relevance: hit.score,
        source: plan.schemas[hit.schema].schema.cluster.clone(),
        fields: hit.content.fields.clone(),
        explanation: hit.content.explanation.clone(),
    }
}

/// What happened, as far as the request wants to know it: what was asked, then what came of it.
fn trace(plan: &Plan, found: &Partial, elapsed_ms: f64) -> Vec<Tree> {
    let level = plan.presentation.trace_level;
    if level < 1 {
        return Vec::new();
    }
    let asked = plan.traced.iter().map(|(from, text)| (*from, 0.0, text.clone()));
    let came = results_traced(plan, found).into_iter().map(|(from, text)| (from, elapsed_ms, text));
    let told = asked.chain(came).filter(|(from, ..)| *from <= level);
    let told: Vec<Tree> = told.map(|(_, at_ms, text)| message(plan, at_ms, text)).collect();
    let mut children = vec![Tree::object([("message", Tree::from("No query profile is used"))])];
    if !told.is_empty() {
        children.push(Tree::object([("children", Tree::List(told))]));
    }
    children
}

fn message(plan: &Plan, at_ms: f64, text: String) -> Tree {
    let timestamp = plan.presentation.trace_timestamps.then_some(("timestamp", Tree::Integer(at_ms as i64)));
    Tree::object(timestamp.into_iter().chain([("message", Tree::Text(text))]))
}

/// What the streaming backend tells when it is done, each from a level on.
fn results_traced(plan: &Plan, found: &Partial) -> Vec<(i32, String)> {
    let (returned, total) = (found.hits.len(), found.total);
    let bytes: usize = found.hits.iter().filter_map(|hit| hit.content.fields.as_ref()).map(Vec::len).sum();
    let answered = plan
        .schemas
        .iter()
        .map(|of| (1, format!("{} dispatch response: Result ({returned} of total {total} hits)", of.schema.cluster)));
    let class = plan.schemas.first().map_or("default", |of| of.summary_class.as_str());
    let told = [
        (
            2,
            format!(
                "Buckets visited: {}\nDocuments visited: {}\nBytes visited: {}\nDocuments returned: {returned}\nBytes \
                 returned: {bytes}\n",
                found.partitions, found.documents, found.bytes_read
            ),
        ),
        (7, format!("total hit count = {total}, returned hit count = {returned}, summary count = {returned}")),
        (2, format!("Ignoring fill({class}); streaming is single-pass")),
        (4, "All hits have been filled".to_owned()),
        (8, format!("Result is filled for summary class {class}")),
    ];
    answered.chain(told).collect()
}

/// An answer as the host takes it (docs/abi.md, search).
fn frame(rendered: &Rendered, bytes_read: u64, bytes_scanned: u64) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u16(rendered.status);
    writer.text(rendered.content_type);
    writer.u64(bytes_read);
    writer.u64(bytes_scanned);
    writer.bytes(&rendered.body);
    writer.finish()
}
