//! The time of a search: whether it was over before anything was begun, whether it is, and what each stage took of it.
use brooklet_task::Rejection;

use super::{Outcome, Search, Stage};
use crate::found::stages::StageName;
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

    /// The stage that is under way, as it is told; nothing when there is none any more.
    fn stage_name(&self) -> Option<StageName> {
        Some(match &self.stage {
            Stage::Load(_) => StageName::Load,
            Stage::Select(_) | Stage::Seek(_) => StageName::Match,
            Stage::Run(running, schema) => running.runs.get(*schema).map_or(StageName::Rank, |run| run.stage_name()),
            Stage::Group(..) => StageName::Group,
            Stage::Order(..) => StageName::Order,
            Stage::Judge(..) => StageName::Phases,
            Stage::Summarize(..) => StageName::Summary,
            Stage::Wait(_) => StageName::Models,
            Stage::Done | Stage::Refused(_) => return None,
        })
    }

    /// Goes over to the stage that is under way, where stages are measured. Whether its host has to look at the clock before: what
    /// passed until now is of another.
    pub(super) fn passes_stage(&mut self) -> bool {
        let name = self.stage_name();
        let (read, scanned) = (self.reads.bytes_read, self.reads.bytes_scanned + self.reads.bytes_read);
        self.meter.as_mut().is_some_and(|meter| meter.pass(name, read, scanned))
    }

    /// Tells what the stages took with what was found.
    pub(super) fn tell_stages(&mut self) {
        let (read, scanned) = (self.found.bytes_read, self.found.bytes_scanned);
        // What a part of several waited for is time of the others.
        let waits = self.outcome == Outcome::Answer;
        if let Some(meter) = &mut self.meter {
            self.found.stages = meter.costs(waits, read, scanned);
        }
    }
}
