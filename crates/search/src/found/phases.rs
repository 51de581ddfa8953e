//! Phases that decide anew about the best hits of a schema: the global phase, and the second one where the extension
//! `brooklet.rerank` limits it to the best (in streaming mode it scores every match, which is no later phase).
//!
//! A phase gives its hits new scores. The hits after those keep their score, but are moved below the new ones if these
//! are lower than the old ones were: so a hit that was not looked at again does not pass one that was (ranking,
//! global-phase). Where their scores are equal then, they come after it in the order they had: an answer that is longer
//! has more of them, and its first hits are to be those of the shorter one. The second phase scores at least all hits that can be shown, so no answer mixes its scores with those
//! of the first phase.
use brooklet_kernel::{score_key, sort_by};
use brooklet_task::Rejection;

use super::global_scoring::Seen;
use super::hit::Ranked;
use super::model_runs::Models;
use crate::plan::Plan;

/// Has the later phases of a schema decide about its kept hits, which come in order. Returns how many were dropped.
/// Outputs of models that a phase lacks are noted in `models`; its scores are no good then.
pub(crate) fn decide<Content>(
    plan: &Plan,
    schema: usize,
    hits: &mut Vec<Ranked<Content>>,
    models: &mut Models,
) -> Result<usize, Rejection> {
    let of = &plan.schemas[schema];
    let before = hits.len();
    if let Some(second) = of.phases.second {
        let count = second.count.max(plan.hits + plan.offset).min(hits.len());
        let scores: Vec<f64> = hits[..count].iter().map(|hit| hit.later.second).collect();
        rerank(hits, &scores, second.drop_limit);
    }
    if let (Some(global), Some(phase)) = (of.phases.global, &of.profile.global) {
        let count = global.count.min(hits.len());
        let seen: Vec<Seen<'_>> =
            hits[..count].iter().map(|hit| Seen { relevance: hit.score, inputs: &hit.later.inputs }).collect();
        let scores = phase.scores(&seen, &of.inputs, models)?;
        rerank(hits, &scores, global.drop_limit);
    }
    Ok(before - hits.len())
}

/// Gives the first hits new scores, moves the others below them, drops, and sorts.
fn rerank<Content>(hits: &mut Vec<Ranked<Content>>, scores: &[f64], drop_limit: Option<f64>) {
    let old = Range::from_scores(hits[..scores.len()].iter().map(|hit| hit.score));
    let new = Range::from_scores(scores.iter().copied());
    for (hit, score) in hits.iter_mut().zip(scores) {
        hit.score = *score;
        hit.later.place = 0;
    }
    for (place, hit) in (1..).zip(&mut hits[scores.len()..]) {
        hit.later.place = place;
    }
    if old.low <= old.high && new.low <= new.high && new.low < old.low {
        let scale = (new.high - new.low).max(1.0) / (old.high - old.low).max(1.0);
        let bias = new.low - old.low * scale;
        // What ties with the lowest old score is not to be above the lowest new one by a rounding.
        hits[scores.len()..].iter_mut().for_each(|hit| hit.score = (hit.score * scale + bias).min(new.low));
    }
    for hit in &mut *hits {
        if hit.score.is_nan() {
            hit.score = f64::NEG_INFINITY;
        }
    }
    hits.retain(|hit| drop_limit.is_none_or(|limit| hit.score > limit));
    sort_by(hits, |a, b| {
        score_key(b.score).cmp(&score_key(a.score)).then_with(|| (a.later.place, &a.id).cmp(&(b.later.place, &b.id)))
    });
}

/// The finite scores of some hits; empty if its low is above its high.
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn from_scores(scores: impl Iterator<Item = f64>) -> Range {
        let start = Range { low: f64::INFINITY, high: f64::NEG_INFINITY };
        scores
            .filter(|score| score.is_finite())
            .fold(start, |range, score| Range { low: range.low.min(score), high: range.high.max(score) })
    }
}
