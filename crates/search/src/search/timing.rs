//! The time of a search: what it may take, and whether it was over before anything was begun.
use brooklet_task::Rejection;

use super::{Outcome, Search, Stage};
use crate::late::{self, Progress};
use crate::plan::Plan;

impl Search {
    /// Milliseconds the request may take; 0 if it was refused and takes none.
    #[must_use]
    pub fn timeout_ms(&self) -> u32 {
        // 0 would mean none; that a timeout of nothing is over at once is seen before anything is begun.
        self.plan.as_ref().map_or(0, |plan| plan.timeout_ms.max(1))
    }

    /// Begins, unless its time was over while it waited.
    pub(super) fn begins(&mut self) -> bool {
        if !self.has_begun {
            self.has_begun = !self.plan.as_ref().is_ok_and(|plan| late::is_over(plan, self.elapsed_ms));
        }
        self.has_begun
    }

    /// Why it is refused if its time is over.
    pub(super) fn lateness(&self, plan: &Plan) -> Option<Rejection> {
        let progress = match self.stage {
            Stage::Done => Progress::Done,
            // What is a part of several was begun with the first of them.
            _ if self.has_begun || self.outcome == Outcome::Partial => Progress::Begun,
            _ => Progress::Waiting,
        };
        late::refusal(plan, self.elapsed_ms, progress)
    }
}
