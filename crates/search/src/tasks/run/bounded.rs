//! Ranking by bounds, where a score depends on distances that are dear to measure: every document is bounded first, and
//! only those are measured that can still be shown.
use std::cmp::Reverse;

use brooklet_kernel::{Bitmap, TopK, score_key};
use brooklet_rank::Interval;
use brooklet_segment::{Gaps, Halt};

use super::{RANK_BATCH, Run, Stage};
use crate::matching::tree::{MatchedView, evaluate};
use crate::ranking::spot::Spot;
use crate::resident::reads::Reads;

/// Documents for which bounds are worth it: below, measuring all of them reads less.
const BOUNDED_MIN: usize = 64;

impl Run {
    /// Whether there are many documents whose distance matters and is not known.
    pub(super) fn is_bounded(&self) -> bool {
        let unknown = |item: &usize| {
            let known: usize = self.resolved[*item].views.iter().map(Vec::len).sum();
            self.documents.len() > known + BOUNDED_MIN
        };
        self.bounds_scores() && self.ranker.nearest_of_score().iter().any(unknown)
    }

    /// Whether bounds of a score can spare documents: those that cannot be shown are not asked for.
    pub(super) fn bounds_scores(&self) -> bool {
        self.keys.is_empty() && !self.keeps_all && self.keeps.is_none()
    }

    /// The documents of each view that may match although a neighbour operator does not hold for them: of all others only what
    /// it finds is ever scored.
    pub(super) fn matching_without(&self, index: usize) -> Vec<Bitmap> {
        let unresolved = self.unresolved.iter().copied().filter(|other| *other != index).collect();
        let matching = |view| {
            let known = MatchedView { unresolved: &unresolved, ..self.known_view(view) };
            let mut documents = evaluate(&self.plan.root, &self.plan, &known);
            documents.and(&self.views[view].alive);
            documents
        };
        (0..self.views.len()).map(matching).collect()
    }

    /// Bounds the scores of documents in order, all of them.
    #[inline(never)]
    pub(super) fn bound(&mut self, reads: &mut Reads) -> Result<(), Halt> {
        self.ranker.sum_up(&self.views, &self.matches, reads)?;
        let end = (self.next + RANK_BATCH).min(self.documents.len());
        let mut bounds = Vec::with_capacity(end - self.next);
        let mut gaps = Gaps::default();
        let suits_blocks = self.ranker.suits_blocks();
        let mut index = self.next;
        while index < end {
            // The batch ends with what is bounded, so that the deadline is looked at.
            if index > self.next && reads.is_tired() && !gaps.are_there() {
                break;
            }
            let after = if suits_blocks { self.block_end(index, end) } else { index + 1 };
            let bounded = if suits_blocks {
                self.bounds_of_block(index, after, &mut bounds, reads)
            } else {
                self.bounds_of(index, reads).map(|of_document| bounds.push(of_document))
            };
            gaps.note(bounded)?;
            index = after;
        }
        gaps.check()?;
        for (low, _) in &bounds {
            if self.drop_limit.is_none_or(|limit| *low > limit) {
                self.threshold.push(score_key(*low));
            }
        }
        self.bounds.extend(bounds);
        self.next = index;
        reads.relax();
        if index == self.documents.len() {
            self.begin_rescoring();
        }
        Ok(())
    }

    /// Between which scores a document is; NaN and infinities count as −∞, as in [`Ranker::score`].
    fn bounds_of(&mut self, index: usize, reads: &mut Reads) -> Result<(f64, f64), Halt> {
        let (view, ordinal) = self.documents[index];
        let Run { ranker, views, matches, resolved, .. } = self;
        let spot = Spot { views, matches, resolved, view: view as usize, ordinal };
        let interval = ranker.bounds(spot, reads)?;
        self.within(index, interval, reads)
    }

    /// Between which scores a document is whose score has these bounds. It is scored if that does not follow from them.
    fn within(&mut self, index: usize, interval: Option<Interval>, reads: &mut Reads) -> Result<(f64, f64), Halt> {
        match interval {
            Some(interval) if interval.lo <= interval.hi && interval.hi < f64::INFINITY => {
                let low = if interval.may_be_nan { f64::NEG_INFINITY } else { interval.lo };
                Ok((low, interval.hi))
            }
            // A score that may be infinite may be −∞; one that is not bounded may be anything.
            _ => {
                let score = self.score(index, reads)?;
                self.scores[index] = Some(score);
                Ok((score, score))
            }
        }
    }

    /// The same for the documents from one number to another, which are a block.
    fn bounds_of_block(
        &mut self,
        from: usize,
        to: usize,
        bounds: &mut Vec<(f64, f64)>,
        reads: &mut Reads,
    ) -> Result<(), Halt> {
        let Some(intervals) = self.bound_block(from, to, reads)? else {
            self.score_block(from, to, reads)?;
            bounds.extend(self.scores[from..to].iter().flatten().map(|score| (*score, *score)));
            return Ok(());
        };
        for (index, interval) in (from..to).zip(intervals) {
            bounds.push(self.within(index, Some(interval), reads)?);
        }
        Ok(())
    }

    #[inline(never)]
    fn begin_rescoring(&mut self) {
        self.threshold.tighten();
        let threshold = self.threshold.threshold().copied().max(self.floor);
        let limit = self.drop_limit;
        let straddles = |low: f64, high: f64| limit.is_some_and(|limit| low <= limit && high > limit);
        let shown = |high: f64| threshold.is_none_or(|threshold| score_key(high) >= threshold);
        let mut order = Vec::new();
        for (index, (low, high)) in self.bounds.iter().enumerate() {
            if limit.is_some_and(|limit| *high <= limit) {
                continue;
            }
            if shown(*high) || straddles(*low, *high) {
                order.push(index as u32);
            } else {
                self.total += 1;
            }
        }
        order.sort_unstable_by_key(|index| {
            let (low, high) = self.bounds[*index as usize];
            (straddles(low, high), Reverse(score_key(high)), *index)
        });
        // Documents at the limit come first: each of them must be measured to be counted.
        let first =
            order.partition_point(|index| !straddles(self.bounds[*index as usize].0, self.bounds[*index as usize].1));
        order.rotate_left(first);
        self.order = order;
        self.next = 0;
        self.threshold = TopK::new(self.wanted);
        self.stage = Stage::Rescore;
    }

    /// Scores the documents that can be shown, most promising first.
    pub(super) fn rescore(&mut self, reads: &mut Reads) -> Result<(), Halt> {
        let end = (self.next + BOUNDED_MIN).min(self.order.len());
        let batch: Vec<usize> = self.order[self.next..end].iter().map(|index| *index as usize).collect();
        let mut gaps = Gaps::default();
        for index in &batch {
            if self.scores[*index].is_none() {
                if reads.is_tired() {
                    return Err(Halt::Missing);
                }
                if let Some(score) = gaps.note(self.score(*index, reads))? {
                    self.scores[*index] = Some(score);
                }
            }
        }
        gaps.check()?;
        for index in batch {
            self.admit(index, Vec::new());
        }
        self.threshold.tighten();
        self.next = end;
        reads.relax();
        let threshold = self.threshold.threshold().copied().max(self.floor);
        let rest = &self.order[self.next..];
        let promising = |index: &u32| {
            let (low, high) = self.bounds[*index as usize];
            let counted = self.drop_limit.is_some_and(|limit| low <= limit && high > limit);
            counted || threshold.is_none_or(|threshold| score_key(high) >= threshold)
        };
        if !rest.iter().any(promising) {
            self.total += rest.len() as u64;
            self.finish();
        }
        Ok(())
    }
}
