//! The time of a search: whether it was over before anything was begun, and whether it is.
use brooklet_task::Rejection;

use super::{Outcome, Search, Stage};
use crate::plan::Plan;
use crate::tasks::late;
use crate::tasks::late::Progress;

impl Search {
    /// Begins, unless its time was over while it waited.
    pub(super) fn begins(&mut self, plan: &Plan) -> bool {
        self.has_begun |= !late::is_over(plan, self.elapsed_ms);
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
