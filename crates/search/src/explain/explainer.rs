//! What is told of the score of a hit: its phases, its features, and the terms of the query.
use std::rc::Rc;

use brooklet_segment::Halt;
use brooklet_task::Rejection;

use super::formula::Formula;
use super::{formula, query};
use crate::deployed::compile::with_features;
use crate::found::model_runs::WantedRuns;
use crate::plan::SchemaPlan;
use crate::ranking::Ranker;
use crate::ranking::spot::Spot;
use crate::render::Tree;
use crate::resident::reads::Reads;

/// What explains documents of one schema.
pub(crate) struct Explainer {
    plan: Rc<SchemaPlan>,
    /// The phases by name, with their expressions.
    phases: Vec<(&'static str, Formula)>,
    ranker: Ranker,
}

impl Explainer {
    pub(crate) fn new(of: &Rc<SchemaPlan>, now: i64) -> Result<Explainer, Rejection> {
        let mut names = Vec::new();
        let phases = formula::phases(&of.profile.profile, &mut names);
        // A profile with all parts of the expressions as features: their values are what is shown.
        let profile = Rc::new(with_features(&of.schema.schema, &of.profile, &names)?);
        let ranker = Ranker::new(&Rc::new(SchemaPlan { profile, ..SchemaPlan::clone(of) }), now)?;
        Ok(Explainer { plan: of.clone(), phases, ranker })
    }

    /// The runs of models that were lacking since this was last asked.
    pub(crate) fn take_wanted(&mut self) -> Result<WantedRuns, Rejection> {
        self.ranker.take_wanted()
    }

    /// Takes into account what ranking the hits has learned of the group.
    pub(crate) fn learn_from(&mut self, ranker: &Ranker) -> Result<(), Rejection> {
        self.ranker.learn_from(ranker)
    }

    /// Members of an explanation: how the query and the rank profile see a document.
    pub(crate) fn explain(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<Vec<(&'static str, Tree)>, Halt> {
        // Both note what they miss before one of them halts.
        let query = query::tree(&self.plan, &self.plan.root, spot, reads);
        let values = self.ranker.match_features(spot, reads);
        let (query, values) = (query?, values?);
        let names = self.ranker.match_feature_names();
        let mut ranking = vec![("profile", Tree::from(self.plan.profile.profile.name.as_str()))];
        for (phase, formula) in &self.phases {
            ranking.push((
                phase,
                formula.tree(&|name| {
                    let at = names.iter().position(|known| *known == name)?;
                    values.get(at)
                }),
            ));
        }
        Ok(vec![("query", query), ("ranking", Tree::object(ranking))])
    }
}
