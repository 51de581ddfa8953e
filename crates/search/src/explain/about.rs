//! `explain.id`: what became of one document, hit or not.
use std::cmp::Ordering;

use brooklet_segment::{Gaps, Halt, find_id};

use super::explainer::Explainer;
use super::query::failures;
use crate::found::hit::{HitLocation, Ranked};
use crate::plan::Plan;
use crate::ranking::spot::Spot;
use crate::render::Tree;
use crate::resident::reads::Reads;
use crate::tasks::run::Run;

/// The document that is asked about, as far as it is known.
#[derive(Default)]
pub(crate) struct ExplainedDocument {
    /// Schema, view and ordinal.
    place: Option<(usize, usize, u32)>,
    /// Its score, how many hits come before it, and how many are tied with it: known when all are ordered, if it is one.
    rank: Option<(f64, u64, u64)>,
}

impl ExplainedDocument {
    /// Looks for the document among those that are searched.
    pub(crate) fn seek(&mut self, plan: &Plan, runs: &[Run], reads: &mut Reads) -> Result<(), Halt> {
        let Some(id) = &plan.presentation.explain_id else { return Ok(()) };
        let mut gaps = Gaps::default();
        for (schema, run) in runs.iter().enumerate() {
            let id = &plan.schemas[schema].schema.schema.stored_id(id);
            for (index, view) in run.views.iter().enumerate() {
                let found = gaps.note(find_id(&view.segment.header, id, &mut reads.segment(&view.segment)))?.flatten();
                if let Some(ordinal) = found.filter(|ordinal| view.alive.get(*ordinal as usize)) {
                    self.place = Some((schema, index, ordinal));
                }
            }
        }
        gaps.check()
    }

    /// Takes note of the document's rank among all hits.
    pub(crate) fn note_rank(&mut self, plan: &Plan, hits: &[Ranked<HitLocation>]) {
        let is_it =
            |hit: &&Ranked<HitLocation>| self.place == Some((hit.schema, hit.content.view, hit.content.ordinal));
        let Some(own) = hits.iter().find(is_it) else { return };
        let (mut before, mut tied) = (0, 0);
        for hit in hits {
            match plan.compare(hit, own) {
                Ordering::Less => before += 1,
                Ordering::Equal => tied += 1,
                Ordering::Greater => {}
            }
        }
        self.rank = Some((own.score, before, tied - 1));
    }

    /// What is told of it. `shown` are the hits of the answer.
    pub(crate) fn explanation(
        &self,
        plan: &Plan,
        shown: &[Ranked<HitLocation>],
        runs: &[Run],
        explainers: &mut [Explainer],
        reads: &mut Reads,
    ) -> Result<Tree, Halt> {
        let id = plan.presentation.explain_id.as_deref().unwrap_or_default();
        let mut members = vec![("id", Tree::from(id))];
        let Some((schema, view, ordinal)) = self.place else {
            members.push(("outcome", "NOT_FOUND".into()));
            let reason = "No document of the searched group and schemas has this id";
            members.push(("reasons", Tree::List(vec![reason.into()])));
            return Ok(Tree::object(members));
        };
        let run = &runs[schema];
        let spot = Spot { views: &run.views, matches: &run.matches, resolved: &run.resolved, view, ordinal };
        let is_shown =
            shown.iter().any(|hit| (hit.schema, hit.content.view, hit.content.ordinal) == (schema, view, ordinal));
        let (outcome, reasons) = self.outcome(plan, run, spot, is_shown);
        members.push(("outcome", outcome.into()));
        members.push(("reasons", Tree::List(reasons.into_iter().map(Tree::Text).collect())));
        if let Some((score, before, tied)) = self.rank {
            members.push(("relevance", score.into()));
            members.push(("position", Tree::Integer(before as i64)));
            members.push(("tied", Tree::Integer(tied as i64)));
        }
        members.extend(explainers[schema].explain(spot, reads)?);
        Ok(Tree::object(members))
    }

    fn outcome(&self, plan: &Plan, run: &Run, spot: Spot<'_>, is_shown: bool) -> (&'static str, Vec<String>) {
        let failed = failures(&run.plan, &run.plan.root, spot);
        if !failed.is_empty() {
            return ("NOT_MATCHED", failed);
        }
        let (first, last) = (plan.offset, plan.offset + plan.hits);
        match self.rank {
            _ if is_shown => ("RETURNED", Vec::new()),
            _ if last == 0 => ("NOT_RANKED", vec!["The query asks for no hits".to_owned()]),
            Some((_, before, _)) if !plan.collapse.is_empty() && before < last as u64 => {
                let fields = plan.collapse.names();
                let message = format!("Better hits have its value in a field that hits are collapsed by: {fields}");
                ("COLLAPSED", vec![message])
            }
            Some((_, before, _)) => {
                let message =
                    format!("{before} hits come before it, and the answer shows those from {first} to {last}");
                ("OUTSIDE_WINDOW", vec![message])
            }
            None => {
                let limit = run.drop_limit().map_or_else(|| "the limit".to_owned(), |limit| limit.to_string());
                ("DROPPED", vec![format!("Its score is not above rank-score-drop-limit, which is {limit}")])
            }
        }
    }
}
