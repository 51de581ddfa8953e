//! Searching one partition: compile, load it, run the plan over each schema, order, summarise. What is found becomes the
//! answer if no other partition is addressed, and a partial result if others are.
mod lacking;
mod running;
mod timing;

use std::cell::RefCell;
use std::rc::Rc;

use brooklet_document::selection::Selection;
use brooklet_segment::{Halt, Place, read_id};
use brooklet_task::bytes::Reader;
use brooklet_task::{Block, Code, Issues, Rejection, Task, Want};

use crate::answer::{refuse, render, settle, wants_models};
use crate::compile::compile;
use crate::deployed::Deployed;
use crate::explain::{About, Explainer};
use crate::grouped::Grouped;
use crate::grouping::{Clock, Grouping, Kept, unknown, zone_offset};
use crate::lane::{Floor, Ranked};
use crate::partial::{Filled, Partial};
use crate::partition::{Loading, View};
use crate::period::Period;
use crate::phases::Later;
use crate::plan::Plan;
use crate::ranking::Spot;
use crate::reads::Reads;
use crate::render::{Rendering, Tree};
use crate::request::{Asked, Properties};
use crate::residency::Residency;
use crate::run::Run;
use crate::scope::Scope;
use crate::selecting::Selecting;
use crate::summary::{Summarizer, check_fields};

/// Where a hit was found, in the run of its schema.
pub(crate) struct Found {
    pub(crate) view: usize,
    pub(crate) ordinal: u32,
}

enum Stage {
    Load,
    /// The document that is asked about is looked for.
    Seek,
    Select,
    Run(usize),
    Group,
    Order,
    Judge,
    Summarize,
    Done,
}

/// What becomes of what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Answer,
    Partial,
}

/// The task. Rejections become answers, damage of the store is thrown.
pub struct Search {
    deployed: Rc<Deployed>,
    plan: Result<Rc<Plan>, Rejection>,
    rendering: Rendering,
    outcome: Outcome,
    /// The partition's.
    key: String,
    selection: Option<Rc<Selection>>,
    /// When documents were last written.
    period: Period,
    /// Of the schema whose run is begun next.
    selecting: Option<Selecting>,
    floor: Floor,
    now: i64,
    loading: Loading,
    reads: Reads,
    stage: Stage,
    runs: Vec<Run>,
    grouping: Option<Grouping>,
    hits: Vec<Ranked<Found>>,
    summarizers: Vec<Summarizer>,
    explainers: Vec<Explainer>,
    about: About,
    found: Partial,
    elapsed_ms: f64,
    has_begun: bool,
}

impl Search {
    /// Reads the request (docs/abi.md, search): the answer, from the only partition that is addressed.
    ///
    /// # Errors
    /// If the request is cut short; what is wrong with the query itself becomes the answer.
    pub fn open(
        deployed: Rc<Deployed>,
        residency: Rc<RefCell<Residency>>,
        request: &[u8],
    ) -> Result<Search, Rejection> {
        Search::begin(deployed, residency, &mut Reader::new(request), Outcome::Answer, Floor::default())
    }

    /// Reads the request (docs/abi.md, search a part): a partial result, from one of the partitions that are addressed.
    ///
    /// # Errors
    /// If the request is cut short; what is wrong with the query itself becomes the partial result.
    pub fn open_part(
        deployed: Rc<Deployed>,
        residency: Rc<RefCell<Residency>>,
        request: &[u8],
    ) -> Result<Search, Rejection> {
        let mut reader = Reader::new(request);
        let floor = Floor::read_optional(reader.bytes()?)?;
        Search::begin(deployed, residency, &mut reader, Outcome::Partial, floor)
    }

    fn begin(
        deployed: Rc<Deployed>,
        residency: Rc<RefCell<Residency>>,
        reader: &mut Reader<'_>,
        outcome: Outcome,
        floor: Floor,
    ) -> Result<Search, Rejection> {
        let place = Place::read(reader)?;
        let now = reader.u64()? as i64;
        let Asked { properties, rendering } = Properties::from_request(&deployed, reader)?;
        let plan = properties.and_then(|properties| {
            let scope = Scope::of(&deployed, &properties)?;
            match outcome {
                Outcome::Answer => scope.check_whole(&place.key)?,
                Outcome::Partial => scope.check_part(&place.key)?,
            }
            let plan = compile(&deployed, &properties, now)?;
            check_fields(&plan)?;
            if outcome == Outcome::Partial && plan.presentation.explain_id.is_some() {
                let message = "explain.id is answered where one group is searched: name it with streaming.groupname";
                return Err(Rejection::new(Code::Unsupported, message));
            }
            Ok((Rc::new(plan), scope.selection, Period::of(&properties)?))
        });
        let (plan, selection, period) = match plan {
            Ok((plan, selection, period)) => (Ok(plan), selection, period),
            Err(rejection) => (Err(rejection), None, Period::default()),
        };
        let mut reads = Reads::new(residency);
        let loading = Loading::begin(&place, &mut reads);
        let issues = plan.as_ref().map_or_else(|_| Issues::default(), |plan| plan.issues.clone());
        let application = deployed.application.fingerprint();
        let clock = plan.as_ref().map_or_else(|_| Clock { now, zone: 0 }, |plan| plan.clock(now));
        Ok(Search {
            deployed,
            plan,
            key: place.key,
            selection,
            period,
            selecting: None,
            rendering,
            outcome,
            floor,
            now,
            loading,
            reads,
            stage: Stage::Load,
            runs: Vec::new(),
            grouping: None,
            hits: Vec::new(),
            summarizers: Vec::new(),
            explainers: Vec::new(),
            about: About::default(),
            found: Partial { application, clock, issues, partitions: 1, ..Partial::default() },
            elapsed_ms: 0.0,
            has_begun: false,
        })
    }

    /// The views of a schema's documents.
    fn views(&self, plan: &Plan, schema: usize) -> Result<Vec<View>, Rejection> {
        let of = &plan.schemas[schema].schema;
        let (name, stored_as) = (&of.schema.name, &of.stored.name);
        let all = self.loading.done().map_or(&[][..], |partition| &partition.views);
        let views: Vec<View> = all.iter().filter(|view| view.segment.header.schema == *stored_as).cloned().collect();
        // The host rewrites such segments before it searches; answering from them could miss matches.
        if views.iter().any(|view| view.segment.header.fingerprint != of.stored.fingerprint) {
            let message = format!("Segments of schema '{name}' are of another deployment and must be rewritten first");
            return Err(Rejection::new(Code::Internal, message));
        }
        Ok(views)
    }

    /// Begins the run of the next schema, over those of its documents that are selected.
    fn select(&mut self, plan: &Plan) -> Result<(), Halt> {
        let schema = self.runs.len();
        let Some(of) = plan.schemas.get(schema) else {
            self.stage = Stage::Seek;
            return Ok(());
        };
        let views = match self.selecting.take() {
            None if self.selection.is_none() && self.period.is_always() => self.views(plan, schema)?,
            begun => {
                let mut selecting = match begun {
                    Some(selecting) => selecting,
                    None => {
                        let (name, views) = (&of.schema.schema.name, self.views(plan, schema)?);
                        Selecting::new(self.selection.as_ref(), self.period, &self.key, name, views, self.now)
                    }
                };
                let stepped = selecting.step(&mut self.reads);
                if !matches!(stepped, Ok(true)) {
                    self.selecting = Some(selecting);
                    return stepped.map(drop);
                }
                selecting.into_views()
            }
        };
        self.runs.push(Run::new(plan, schema, views, self.now, &self.floor)?);
        self.summarizers.push(Summarizer::new(plan, of, self.now)?);
        if plan.presentation.explain || plan.presentation.explain_id.is_some() {
            self.explainers.push(Explainer::new(of, self.now)?);
        }
        Ok(())
    }

    /// Collects the candidates of all schemas and leaves those that can be shown, ties included.
    fn gather(&mut self) {
        let Ok(plan) = self.plan.clone() else { return };
        for (schema, run) in self.runs.iter_mut().enumerate() {
            self.found.total += run.total;
            self.found.documents += run.scanned;
            self.found.unseen += run.unseen;
            for candidate in std::mem::take(&mut run.candidates) {
                let content = Found { view: candidate.view, ordinal: candidate.ordinal };
                let (keys, score, later) = (candidate.keys, candidate.score, Later::default());
                let hit = Ranked { schema, keys, score, id: None, later, content };
                if self.floor.admits(&plan, &hit) {
                    self.hits.push(hit);
                }
            }
        }
        if self.lacks_models_of_rankers() {
            return;
        }
        self.about.settle(&plan, &self.hits);
        plan.keep(&mut self.hits);
        self.stage = Stage::Order;
        if !plan.grouping.is_empty() {
            self.grouping = Some(Grouping::new(&plan.grouping, self.outcome == Outcome::Partial));
            self.stage = Stage::Group;
        }
    }

    /// Adds the documents that matched to the groups of the query.
    fn group(&mut self, plan: &Rc<Plan>) -> Result<Want, Rejection> {
        let Some(grouping) = &mut self.grouping else { return Ok(Want::Pause) };
        let mut grouped = Grouped::new(plan, &mut self.runs, &mut self.summarizers, self.rendering.format(), self.now);
        match grouping.step(&plan.grouping, plan.schemas.len(), &mut grouped, &mut self.reads) {
            Ok(Want::Nothing) => {}
            Err(rejection) if rejection.code == Code::BadRequest => {
                // Too many groups: that is the request's fault, and not damage.
                self.plan = Err(rejection);
                return Ok(Want::Nothing);
            }
            other => return other,
        }
        self.found.grouping = self.grouping.take().map(Grouping::finish).unwrap_or_default();
        self.runs.iter_mut().for_each(|run| run.kept = Kept::default());
        self.stage = Stage::Order;
        Ok(Want::Pause)
    }

    /// Reads the ids, which break the ties.
    fn order(&mut self, plan: &Plan) -> Result<(), Halt> {
        let mut missing = false;
        for hit in self.hits.iter_mut().filter(|hit| hit.id.is_none()) {
            let segment = &self.runs[hit.schema].views[hit.content.view].segment;
            match read_id(&segment.header, hit.content.ordinal, &mut self.reads.of(segment)) {
                Ok(id) => hit.id = Some(id),
                Err(Halt::Missing) => missing = true,
                Err(halt) => return Err(halt),
            }
        }
        if missing {
            return Err(Halt::Missing);
        }
        self.hits.retain(|hit| self.floor.admits(plan, hit));
        plan.keep(&mut self.hits);
        self.stage = Stage::Judge;
        Ok(())
    }

    /// Finds out what later phases want to know. If nobody else was searched, they decide, and the window is cut out.
    fn judge(&mut self, plan: &Plan) -> Result<(), Halt> {
        let mut missing = false;
        let mut known = Vec::with_capacity(self.hits.len());
        for hit in &self.hits {
            let run = &mut self.runs[hit.schema];
            if run.plan.phases.is_empty() {
                known.push(Later::default());
                continue;
            }
            let Found { view, ordinal } = hit.content;
            let spot = Spot { views: &run.views, matches: &run.matches, resolved: &run.resolved, view, ordinal };
            match run.ranker.later(spot, &mut self.reads) {
                Ok(later) => known.push(later),
                Err(Halt::Missing) => missing = true,
                Err(halt) => return Err(halt),
            }
        }
        if missing {
            return Err(Halt::Missing);
        }
        self.hits.iter_mut().zip(known).for_each(|(hit, later)| hit.later = later);
        if self.lacks_models_of_rankers() {
            return Ok(());
        }
        if self.outcome == Outcome::Answer {
            let settled = match settle(plan, std::mem::take(&mut self.hits)) {
                Ok(settled) => settled,
                Err(rejection) => {
                    // A phase failed: that is an answer, and no damage.
                    self.plan = Err(rejection);
                    self.stage = Stage::Done;
                    return Ok(());
                }
            };
            self.found.wanted.merge(settled.wanted);
            if self.lacks_models(Ok(())) {
                return Ok(());
            }
            self.hits = settled.hits;
            self.found.total -= settled.dropped;
        }
        self.stage = Stage::Summarize;
        Ok(())
    }

    fn summarize(&mut self, plan: &Plan) -> Result<(), Halt> {
        let explains = plan.presentation.explain;
        let mut shown = Vec::with_capacity(self.hits.len());
        let mut missing = false;
        for hit in &self.hits {
            let run = &mut self.runs[hit.schema];
            let of = run.plan.clone();
            let Found { view, ordinal } = hit.content;
            let spot = Spot { views: &run.views, matches: &run.matches, resolved: &run.resolved, view, ordinal };
            let id = hit.id.as_deref().unwrap_or_default();
            let summarizer = &mut self.summarizers[hit.schema];
            let format = self.rendering.format();
            let explanation = match self.explainers.get_mut(hit.schema).filter(|_| explains) {
                Some(explainer) => explainer.explain(spot, &mut self.reads).map(Some),
                None => Ok(None),
            };
            let fields = summarizer.fields(format, &of, id, spot, &mut run.ranker, &mut self.reads);
            let filled = fields.and_then(|fields| Ok((fields, explanation?)));
            match filled {
                Ok((fields, explanation)) => shown.push(Ranked {
                    schema: hit.schema,
                    keys: hit.keys.clone(),
                    score: hit.score,
                    id: hit.id.clone(),
                    later: hit.later.clone(),
                    content: Filled {
                        fields,
                        explanation: explanation.map(|of_hit| format.written(|out| Tree::object(of_hit).write(out))),
                    },
                }),
                Err(Halt::Missing) => missing = true,
                Err(halt) => return Err(halt),
            }
        }
        if missing {
            return Err(Halt::Missing);
        }
        if plan.presentation.explain_id.is_some() {
            let explanation =
                self.about.explanation(plan, &self.hits, &self.runs, &mut self.explainers, &mut self.reads)?;
            self.found.explanation = Some(explanation);
        }
        self.found.hits = shown;
        self.stage = Stage::Done;
        self.lacks_models_of_rankers();
        Ok(())
    }
}

impl Task for Search {
    fn wants(&mut self) -> Result<Want, Rejection> {
        if !self.begins() {
            return Ok(Want::Nothing);
        }
        if let Ok(plan) = &self.plan
            && let Some(name) = &plan.zone
        {
            return Ok(Want::Zone { name: name.clone(), at: self.now });
        }
        let Ok(plan) = self.plan.clone() else { return Ok(Want::Nothing) };
        if matches!(self.stage, Stage::Run(_)) && plan.soft_timeout_ms.is_some_and(|soft| self.elapsed_ms >= soft) {
            self.runs.iter_mut().for_each(Run::stop);
            self.gather();
        }
        loop {
            let stepped = match self.stage {
                Stage::Load => {
                    let want = self.loading.step(&self.deployed, &mut self.reads)?;
                    if want != Want::Nothing {
                        return Ok(want);
                    }
                    self.stage = Stage::Select;
                    continue;
                }
                Stage::Select => match self.select(&plan) {
                    // Time passes when every document is looked at.
                    Ok(()) if self.selecting.is_some() => return Ok(Want::Pause),
                    Err(Halt::Rejected(rejection)) if rejection.code != Code::StoreCorrupt => {
                        self.plan = Err(rejection);
                        return Ok(Want::Nothing);
                    }
                    selected => selected,
                },
                Stage::Seek => match self.about.seek(&plan, &self.runs, &mut self.reads) {
                    Ok(()) => {
                        self.stage = Stage::Run(0);
                        Ok(())
                    }
                    Err(halt) => Err(halt),
                },
                Stage::Run(index) => return self.run(index),
                Stage::Group => return self.group(&plan),
                Stage::Order => self.order(&plan),
                Stage::Judge => self.judge(&plan),
                Stage::Summarize => self.summarize(&plan),
                Stage::Done => return Ok(Want::Nothing),
            };
            match stepped {
                Ok(()) => {}
                Err(Halt::Missing) => return Ok(Want::Blocks(self.reads.take_missing())),
                Err(Halt::Rejected(rejection)) => return Err(rejection),
            }
        }
    }

    fn give(&mut self, answer: Block) -> Result<(), Rejection> {
        if let Ok(plan) = &mut self.plan
            && let Some(name) = plan.zone.clone()
        {
            let plan = Rc::get_mut(plan).ok_or_else(|| Rejection::new(Code::Internal, "a plan in use"))?;
            match zone_offset(answer.bytes())? {
                Some(offset) => plan.set_zone(offset),
                None => {
                    self.plan =
                        Err(Rejection::new(Code::IllegalQuery, format!("Could not set 'timezone': {}", unknown(&name))))
                }
            }
            self.found.clock = self.plan.as_ref().map_or(self.found.clock, |plan| plan.clock(self.now));
            return Ok(());
        }
        if self.loading.wants_manifest() {
            return self.loading.give(&self.deployed, answer.bytes());
        }
        self.reads.give(answer)
    }

    fn elapsed(&mut self, milliseconds: f64) {
        self.elapsed_ms = milliseconds;
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        self.found.bytes_read = self.reads.bytes_read;
        self.found.bytes_scanned = self.reads.bytes_scanned + self.reads.bytes_read;
        self.found.refusal = match &self.plan {
            Err(rejection) => Some(rejection.clone()),
            Ok(plan) => self.lateness(plan),
        };
        match (&self.plan, self.outcome) {
            (_, Outcome::Partial) => Ok(self.found.encode()),
            (Ok(plan), Outcome::Answer) if self.found.refusal.is_none() && !self.found.wanted.is_empty() => {
                Ok(wants_models(plan, &self.found.wanted)
                    .unwrap_or_else(|rejection| refuse(&rejection, &self.rendering)))
            }
            (Ok(plan), Outcome::Answer) => Ok(render(plan, &mut self.found, self.elapsed_ms, &self.rendering)),
            (Err(rejection), Outcome::Answer) => Ok(refuse(rejection, &self.rendering)),
        }
    }
}
