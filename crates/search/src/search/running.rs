//! The runs of a search, one schema after the other, and what those that show hits learn of them.
use brooklet_task::{Rejection, Want};

use super::{Search, Stage};
use crate::explain::Explainer;
use crate::summary::Summarizer;

impl Search {
    /// A step of the run over a schema, or the end of all runs.
    pub(super) fn run(&mut self, index: usize) -> Result<Want, Rejection> {
        let Some(run) = self.runs.get_mut(index) else {
            self.gather();
            return Ok(Want::Pause);
        };
        let want = run.step(&mut self.reads)?;
        if want == Want::Nothing {
            self.learn(index)?;
            self.stage = Stage::Run(index + 1);
            return Ok(Want::Pause);
        }
        Ok(want)
    }

    /// What is shown of hits is told what matching found out: which words were looked for with slips, and the numbers of the
    /// group.
    fn learn(&mut self, index: usize) -> Result<(), Rejection> {
        let (run, Ok(plan)) = (&self.runs[index], &self.plan) else { return Ok(()) };
        let forgave = !run.plan.forgiven.is_empty();
        if forgave {
            self.summarizers[index] = Summarizer::new(plan, &run.plan, self.now)?;
        }
        if let Some(explainer) = self.explainers.get_mut(index) {
            if forgave {
                *explainer = Explainer::new(&run.plan, self.now)?;
            }
            explainer.learn_from(&run.ranker)?;
        }
        Ok(())
    }
}
