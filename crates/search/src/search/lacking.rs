//! What a search does when ranking lacks outputs of models: it ends with the runs that would make them.
use brooklet_task::Rejection;

use super::{Search, Stage};
use crate::explain::Explainer;
use crate::summary::Summarizer;

impl Search {
    /// As [`Search::lacks_models`], of what rankers lacked until now.
    pub(super) fn lacks_models_of_rankers(&mut self) -> bool {
        let Search { runs, explainers, summarizers, found, .. } = self;
        let of_runs = runs.iter_mut().map(|run| run.ranker.take_wanted());
        let of_explainers = explainers.iter_mut().map(Explainer::take_wanted);
        let of_summarizers = summarizers.iter_mut().map(Summarizer::take_wanted);
        let mut all = of_runs.chain(of_explainers).chain(of_summarizers);
        let taken = all.try_for_each(|wanted| wanted.map(|wanted| found.wanted.merge(wanted)));
        self.lacks_models(taken)
    }

    /// Ends with the runs of models that were lacking, if there are any: nothing made without them is right.
    pub(super) fn lacks_models(&mut self, taken: Result<(), Rejection>) -> bool {
        if let Err(rejection) = taken.and_then(|()| self.found.wanted.check()) {
            self.plan = Err(rejection);
        }
        let lacks = self.plan.is_err() || !self.found.wanted.is_empty();
        if lacks {
            self.stage = Stage::Done;
        }
        lacks
    }
}
