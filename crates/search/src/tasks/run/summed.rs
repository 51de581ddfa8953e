//! Ranking where a score is no more than a sum over terms that is known for every document of a segment.
use std::cmp::Reverse;

use brooklet_kernel::{Bitmap, SCORES, above, score_key, score_of_key};
use brooklet_segment::Halt;

use super::{Run, Stage};
use crate::resident::reads::Reads;

impl Run {
    /// Whether scores are sums that may be known, and nothing but the best is kept of the documents.
    pub(super) fn sums_scores(&self) -> bool {
        self.wanted > 0 && self.ranker.knows_sums() && self.bounds_scores()
    }

    /// Admits the documents of all views whose sums are known; what is left is scored one at a time.
    pub(super) fn sum(&mut self, reads: &mut Reads) -> Result<(), Halt> {
        self.ranker.sum_up(&self.views, &self.matches, reads)?;
        for (view, matching) in std::mem::take(&mut self.matching).iter().enumerate() {
            if !self.admit_summed(view, matching) {
                self.list(view, matching);
            }
        }
        reads.relax();
        if self.documents.is_empty() {
            self.finish();
        } else {
            self.scores = vec![None; self.documents.len()];
            self.stage = Stage::Rank;
        }
        Ok(())
    }

    /// Admits the documents of a view, if their sums are known.
    fn admit_summed(&mut self, view: usize, matching: &Bitmap) -> bool {
        let Some(sums) = self.ranker.sums_of(view) else { return false };
        let best = &mut self.best[view];
        let floor = self.floor.unwrap_or(0);
        let below_floor = self.floor.map(|floor| score_of_key(floor).next_down()).filter(|score| score.is_finite());
        let (whole, _) = sums.as_chunks::<SCORES>();
        for (number, word) in matching.words().iter().enumerate().filter(|(_, word)| **word != 0) {
            let mut left = *word;
            if self.drop_limit.is_none() {
                self.total += u64::from(word.count_ones());
                // What scores as the worst of the best so far comes after it.
                let worst = best.threshold().map(|(key, _)| score_of_key(*key));
                let limit = worst.into_iter().chain(below_floor).reduce(f64::max);
                if let (Some(limit), Some(sums)) = (limit, whole.get(number)) {
                    left &= above(sums, limit);
                }
            }
            while left != 0 {
                let ordinal = number * SCORES + left.trailing_zeros() as usize;
                left &= left - 1;
                let score = if sums[ordinal].is_finite() { sums[ordinal] } else { f64::NEG_INFINITY };
                let key = score_key(score);
                if let Some(limit) = self.drop_limit {
                    if score <= limit {
                        continue;
                    }
                    self.total += 1;
                }
                if key >= floor {
                    best.push((key, Reverse(ordinal as u32)));
                }
            }
        }
        true
    }
}
