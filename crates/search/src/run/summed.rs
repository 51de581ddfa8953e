//! Ranking where a score is no more than a sum over terms that is known for every document of a segment.
use std::cmp::Reverse;

use brooklet_kernel::score_key;

use super::Run;

impl Run {
    /// Admits the next documents that are of one view, if their scores are known sums and nothing but the best is kept
    /// of them. Where they end; nothing if they must be scored one at a time.
    pub(super) fn admit_summed(&mut self) -> Option<usize> {
        if !self.bounds_scores() {
            return None;
        }
        let (view, _) = *self.documents.get(self.next)?;
        let sums = self.ranker.sums_of(view as usize)?;
        let rest = &self.documents[self.next..];
        let documents = &rest[..rest.partition_point(|(of, _)| *of == view)];
        let best = &mut self.best[view as usize];
        let floor = self.floor.unwrap_or(0);
        for (_, ordinal) in documents {
            let sum = sums[*ordinal as usize];
            let score = if sum.is_finite() { sum } else { f64::NEG_INFINITY };
            if self.drop_limit.is_none_or(|limit| score > limit) {
                self.total += 1;
                let key = score_key(score);
                if key >= floor {
                    best.push((key, Reverse(*ordinal)));
                }
            }
        }
        Some(self.next + documents.len())
    }
}
