//! The runs of a search, a schema each, with what shows their hits.
use std::rc::Rc;

use brooklet_document::{Format, shown_id};
use brooklet_segment::{Gaps, Halt, StoredSchema, answers_as_rewritten, read_id};
use brooklet_task::{Code, Rejection};

use crate::explain::{ExplainedDocument, Explainer};
use crate::found::group_facts::SchemaFacts;
use crate::found::hit::{HitLocation, PhaseInputs, Ranked};
use crate::found::hit_list::Floor;
use crate::found::model_runs::WantedRuns;
use crate::found::partial::Filled;
use crate::plan::Plan;
use crate::ranking::spot::Spot;
use crate::render::Tree;
use crate::resident::partition::{ResidentPartition, View};
use crate::resident::reads::Reads;
use crate::summary::Summarizer;
use crate::tasks::grouped::NamedSummarizer;
use crate::tasks::query::Query;
use crate::tasks::run::Run;
use crate::tasks::selecting::Selecting;

/// Bytes of source of the documents in segments of an earlier deployment up to which they are looked at before a search: where they
/// have more, they are rewritten before it.
const LOOKED_AT_BYTES: usize = 64 << 10;

/// The runs over the schemas of a plan, in its order, as far as they are begun.
pub(crate) struct Running {
    partition: Rc<ResidentPartition>,
    /// Of the schema whose run is begun next.
    selecting: Option<Selecting>,
    pub(super) runs: Vec<Run>,
    /// By schema.
    pub(super) summarizers: Vec<Summarizer>,
    /// Those of classes that groupings name, as far as they were asked for.
    pub(super) named: Vec<NamedSummarizer>,
    /// By schema; none if nothing is explained.
    explainers: Vec<Explainer>,
    pub(super) about: ExplainedDocument,
    /// How many hits are told already what later phases want to know.
    judged: usize,
    /// The first hits with what they show, as far as that is made.
    pub(super) shown: Vec<Ranked<Filled>>,
}

impl Running {
    /// None of the runs over a partition is begun.
    pub(super) fn new(partition: Rc<ResidentPartition>) -> Running {
        let about = ExplainedDocument::default();
        let (runs, summarizers, named, explainers, shown) = Default::default();
        Running { partition, selecting: None, runs, summarizers, named, explainers, about, judged: 0, shown }
    }

    /// The views of a schema's documents.
    fn views(&self, plan: &Plan, schema: usize, reads: &mut Reads) -> Result<Vec<View>, Halt> {
        let of = &plan.schemas[schema].schema;
        let (name, stored_as) = (&of.schema.name, &of.stored.name);
        let views = self.partition.views.iter().filter(|view| view.segment.header.schema == *stored_as);
        let views: Vec<View> = views.cloned().collect();
        // The host rewrites such segments then, and searches anew; answering from them could miss matches.
        if !answer_as_rewritten(&views, &of.stored, reads)? {
            let message = format!("Segments of schema '{name}' are of another deployment and must be rewritten first");
            return Err(Rejection::new(Code::Internal, message).into());
        }
        Ok(views)
    }

    /// Begins the run of the next schema, in the partition of this key. Whether it is begun; if not, time passes until all of
    /// its documents were looked at.
    pub(super) fn select(
        &mut self,
        plan: &Plan,
        query: &Query,
        (key, floor, agreed): (&str, &Floor, &dyn Fn(usize) -> Option<SchemaFacts>),
        reads: &mut Reads,
    ) -> Result<bool, Halt> {
        let schema = self.runs.len();
        let selection = query.scope.as_ref().ok().and_then(|scope| scope.selection.as_ref());
        let views = match self.selecting.take() {
            None if selection.is_none() && plan.period.is_always() => self.views(plan, schema, reads)?,
            begun => {
                let mut selecting = match begun {
                    Some(selecting) => selecting,
                    None => {
                        let (name, views) =
                            (&plan.schemas[schema].schema.schema.name, self.views(plan, schema, reads)?);
                        Selecting::new(selection, plan.period, key, name, views, query.now)
                    }
                };
                let stepped = selecting.step(reads);
                if !matches!(stepped, Ok(true)) {
                    self.selecting = Some(selecting);
                    return stepped;
                }
                selecting.into_views()
            }
        };
        self.begin(plan, views, query.now, (floor, agreed(schema)))?;
        Ok(true)
    }

    /// Begins the run of the next schema over these views.
    fn begin(
        &mut self,
        plan: &Plan,
        views: Vec<View>,
        now: i64,
        (floor, agreed): (&Floor, Option<SchemaFacts>),
    ) -> Result<(), Rejection> {
        let schema = self.runs.len();
        let of = &plan.schemas[schema];
        let mut run = Run::new(plan, schema, views, now, floor)?;
        if let Some(agreed) = agreed {
            run.share(agreed, now)?;
        }
        self.runs.push(run);
        self.summarizers.push(Summarizer::new(plan, of, now)?);
        if plan.presentation.explain || plan.presentation.explain_id.is_some() {
            self.explainers.push(Explainer::new(of, now)?);
        }
        Ok(())
    }

    /// What is shown of hits is told what matching found out: which words were looked for with slips, and the numbers of the
    /// group.
    pub(super) fn learn(&mut self, schema: usize, plan: &Plan, now: i64) -> Result<(), Rejection> {
        let run = &self.runs[schema];
        let forgave = !run.plan.forgiven.is_empty();
        if forgave {
            self.summarizers[schema] = Summarizer::new(plan, &run.plan, now)?;
        }
        if let Some(explainer) = self.explainers.get_mut(schema) {
            if forgave {
                *explainer = Explainer::new(&run.plan, now)?;
            }
            explainer.learn_from(&run.ranker)?;
        }
        Ok(())
    }

    /// Makes anew what computes features, by what is known now that was not before. What matched stays.
    pub(crate) fn renew(&mut self, plan: &Plan, now: i64) -> Result<(), Rejection> {
        (self.judged, self.shown, self.named) = Default::default();
        for (schema, run) in self.runs.iter_mut().enumerate() {
            run.renew_ranker(now)?;
            self.summarizers[schema] = Summarizer::new(plan, &run.plan, now)?;
            if let Some(explainer) = self.explainers.get_mut(schema) {
                *explainer = Explainer::new(&run.plan, now)?;
                explainer.learn_from(&run.ranker)?;
            }
        }
        Ok(())
    }

    /// Adds the runs of models that were lacking until now.
    ///
    /// # Errors
    /// If an output was not what the model promised.
    pub(super) fn take_wanted(&mut self, wanted: &mut WantedRuns) -> Result<(), Rejection> {
        let of_runs = self.runs.iter_mut().map(|run| run.ranker.take_wanted());
        let of_explainers = self.explainers.iter_mut().map(Explainer::take_wanted);
        let named = self.named.iter_mut().map(|(.., summarizer)| summarizer);
        let of_summarizers = self.summarizers.iter_mut().chain(named).map(Summarizer::take_wanted);
        let mut all = of_runs.chain(of_explainers).chain(of_summarizers);
        all.try_for_each(|taken| taken.map(|taken| wanted.merge(taken)))
    }

    /// The candidates of all runs.
    pub(super) fn take_candidates(&mut self) -> Hits {
        let mut hits = Vec::new();
        for (schema, run) in self.runs.iter_mut().enumerate() {
            for candidate in std::mem::take(&mut run.candidates) {
                let content = HitLocation { view: candidate.view, ordinal: candidate.ordinal };
                let (keys, score, later) = (candidate.keys, candidate.score, PhaseInputs::default());
                hits.push(Ranked { schema, keys, score, id: None, later, content });
            }
        }
        hits
    }

    /// Reads the ids of hits that have none yet.
    pub(super) fn read_ids(&self, hits: &mut Hits, reads: &mut Reads) -> Result<(), Halt> {
        let mut gaps = Gaps::default();
        for hit in hits.iter_mut().filter(|hit| hit.id.is_none()) {
            let segment = &self.runs[hit.schema].views[hit.content.view].segment;
            if let Some(id) = gaps.note(read_id(&segment.header, hit.content.ordinal, &mut reads.segment(segment)))? {
                hit.id = Some(id);
            }
        }
        gaps.check()
    }

    /// Reads what later phases want to know of hits, as far as a step comes.
    pub(super) fn read_later(&mut self, hits: &mut Hits, reads: &mut Reads) -> Result<(), Halt> {
        let mut gaps = Gaps::default();
        for (number, hit) in hits.iter_mut().enumerate().skip(self.judged) {
            let run = &mut self.runs[hit.schema];
            if run.plan.phases.is_empty() {
                continue;
            }
            if !gaps.are_there() {
                self.judged = number;
                if reads.is_tired() {
                    return Err(Halt::Missing);
                }
            }
            let HitLocation { view, ordinal } = hit.content;
            let spot = Spot { views: &run.views, matches: &run.matches, resolved: &run.resolved, view, ordinal };
            if let Some(later) = gaps.note(run.ranker.later(spot, reads))? {
                hit.later = later;
            }
        }
        gaps.check()?;
        self.judged = 0;
        Ok(())
    }

    /// The hits with what they show, and with explanations if they are asked for, as far as a step comes.
    pub(super) fn summaries(
        &mut self,
        hits: &Hits,
        explains: bool,
        format: Format,
        reads: &mut Reads,
    ) -> Result<Vec<Ranked<Filled>>, Halt> {
        let mut gaps = Gaps::default();
        for hit in &hits[self.shown.len()..] {
            if reads.rests() {
                return Err(Halt::Missing);
            }
            let content = gaps.note(self.fill_hits(hit, explains, format, reads))?;
            // What comes after a gap is only asked for what it misses.
            if let Some(content) = content.filter(|_| !gaps.are_there()) {
                let Ranked { schema, keys, score, id, later, .. } = hit.clone();
                self.shown.push(Ranked { schema, keys, score, id, later, content });
            }
        }
        gaps.check()?;
        Ok(std::mem::take(&mut self.shown))
    }

    fn fill_hits(
        &mut self,
        hit: &Ranked<HitLocation>,
        explains: bool,
        format: Format,
        reads: &mut Reads,
    ) -> Result<Filled, Halt> {
        let run = &mut self.runs[hit.schema];
        let of = run.plan.clone();
        let HitLocation { view, ordinal } = hit.content;
        let spot = Spot { views: &run.views, matches: &run.matches, resolved: &run.resolved, view, ordinal };
        let id = &shown_id(hit.id.as_deref().unwrap_or_default());
        // Both note what they miss before one of them halts.
        let explanation = match self.explainers.get_mut(hit.schema).filter(|_| explains) {
            Some(explainer) => explainer.explain(spot, reads).map(Some),
            None => Ok(None),
        };
        let fields = self.summarizers[hit.schema].fields(format, &of, id, spot, &mut run.ranker, reads)?;
        let explanation = explanation?.map(|of_hit| format.write_with(|out| Tree::object(of_hit).write(out)));
        Ok(Filled { fields, explanation })
    }

    /// What is told of the document that is asked about.
    pub(super) fn explanation(&mut self, plan: &Plan, hits: &Hits, reads: &mut Reads) -> Result<Tree, Halt> {
        self.about.explanation(plan, hits, &self.runs, &mut self.explainers, reads)
    }
}

/// Whether views answer as they would if their segments were written anew for the schema.
fn answer_as_rewritten(views: &[View], stored: &StoredSchema, reads: &mut Reads) -> Result<bool, Halt> {
    let older = || views.iter().filter(|view| view.segment.header.fingerprint != stored.fingerprint);
    if older().map(|view| view.segment.header.source_bytes()).sum::<usize>() > LOOKED_AT_BYTES {
        return Ok(false);
    }
    let mut gaps = Gaps::default();
    for View { segment, alive } in older() {
        let answers = answers_as_rewritten(&segment.header, stored, alive, &mut reads.segment(segment));
        if gaps.note(answers)? == Some(false) {
            return Ok(false);
        }
    }
    gaps.check().map(|()| true)
}

/// Hits that are not shown yet.
pub(crate) type Hits = Vec<Ranked<HitLocation>>;
