//! What the stages of a run are called where they are told.
use super::{Run, Stage};
use crate::found::stages::StageName;

impl Run {
    /// The stage that is under way.
    pub(crate) fn stage_name(&self) -> StageName {
        match self.stage {
            Stage::Match => StageName::Match,
            Stage::Nearest => self.resolving.as_ref().map_or(StageName::Scan, |resolving| resolving.stage_name()),
            Stage::Sum | Stage::Rank | Stage::Bound | Stage::Rescore | Stage::Done => StageName::Rank,
        }
    }
}
