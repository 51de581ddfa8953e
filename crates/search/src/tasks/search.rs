//! Searching one partition: load it, run the plan over each schema, order, summarise. What is found becomes the answer if no
//! other partition is addressed, and a partial result if others are.
//!
//! Each [`Stage`] owns what it works on, and hands it to the next. Outputs of models that a stage lacked are waited for
//! before it, so what was done before that is not done again.
mod running;
mod timing;

use std::rc::Rc;

use brooklet_segment::{Halt, PartitionVersion};
use brooklet_task::bytes::Reader;
use brooklet_task::{Block, Code, Rejection, Task, Want};

use super::answer::{final_hits, refuse, render};
use super::grouped::Grouped;
use super::query::Query;
use super::run::Run;
use crate::found::hit_list::Floor;
use crate::found::partial::Partial;
use crate::found::stages::Meter;
use crate::grouping::{Clock, Grouping, Kept};
use crate::plan::Plan;
use crate::resident::loading::Loading;
use crate::resident::reads::Reads;
use running::{Hits, Running};

/// What becomes of what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answer,
    Partial,
}

pub(crate) enum Stage {
    Load(Loading),
    /// The documents of one schema after the other are selected, and its run is begun.
    Select(Running),
    /// The document that is asked about is looked for.
    Seek(Running),
    /// The run over the schema with this number.
    Run(Running, usize),
    Group(Running, Hits, Grouping),
    /// The ids are read, which break the ties.
    Order(Running, Hits),
    /// Later phases decide.
    Judge(Running, Hits),
    Summarize(Running, Hits),
    /// Outputs of models are lacking for this stage.
    Wait(Box<Stage>),
    Done,
    Refused(Rejection),
}

/// What comes of a step: the stage to go on with, and what that lacks.
type Step = (Stage, Result<Option<Want>, Halt>);

/// The task. Rejections become answers, damage of the store is thrown.
pub struct Search {
    query: Rc<Query>,
    outcome: Outcome,
    /// The partition is one of the shards of its group.
    is_shard: bool,
    /// The partition's.
    key: String,
    floor: Floor,
    reads: Reads,
    stage: Stage,
    found: Partial,
    elapsed_ms: f64,
    has_begun: bool,
    /// Of its stages, where that is told.
    meter: Option<Meter>,
}

impl Search {
    /// Begins the search of a partition. What is wrong with the query becomes the answer.
    pub(crate) fn open(query: &Rc<Query>, place: &PartitionVersion, outcome: Outcome, floor: Floor) -> Search {
        let mut reads = Reads::new(query.residency.clone());
        let plan = Search::check(query, place, outcome);
        let application = query.deployed.fingerprint;
        let mut found =
            Partial { application, clock: Clock { now: query.now, zone: 0 }, partitions: 1, ..Partial::default() };
        let meter = plan.as_ref().is_ok_and(|plan| plan.presentation.timing).then(Meter::new);
        let stage = match plan {
            Ok(plan) => {
                found.clock = plan.clock(query.now);
                found.issues = plan.issues.clone();
                Stage::Load(Loading::begin(place, &mut reads))
            }
            Err(rejection) => Stage::Refused(rejection),
        };
        let (query, key) = (query.clone(), place.key.clone());
        let (elapsed_ms, is_shard, has_begun) = (0.0, false, false);
        Search { query, outcome, is_shard, key, floor, reads, stage, found, elapsed_ms, has_begun, meter }
    }

    /// The plan, if the query may be answered from this partition.
    fn check(query: &Query, place: &PartitionVersion, outcome: Outcome) -> Result<Rc<Plan>, Rejection> {
        let scope = query.scope.as_ref().map_err(Rejection::clone)?;
        match outcome {
            Outcome::Answer => scope.check_whole(&place.key)?,
            Outcome::Partial => scope.check_part(&place.key)?,
        }
        let plan = query.plan()?;
        if outcome == Outcome::Partial && plan.presentation.explain_id.is_some() {
            // Where this group is all that is addressed, it is one of its shards that is asked.
            let message = match scope.check_whole(&place.key) {
                Ok(()) => {
                    "explain.id is not answered for a group that has several shards; explain=true explains its hits"
                }
                Err(_) => "explain.id is answered where one group is searched: name it with streaming.groupname",
            };
            return Err(Rejection::new(Code::Unsupported, message));
        }
        Ok(plan)
    }

    /// One step of a stage.
    fn step(&mut self, stage: Stage, plan: &Rc<Plan>) -> Step {
        match stage {
            Stage::Load(loading) => self.load(loading),
            Stage::Select(running) => self.select(running, plan),
            Stage::Seek(running) => self.seek(running, plan),
            Stage::Run(running, schema) => self.run(running, schema, plan),
            Stage::Group(running, hits, grouping) => self.group(running, hits, grouping, plan),
            Stage::Order(running, hits) => self.order(running, hits, plan),
            Stage::Judge(running, hits) => self.judge(running, hits, plan),
            Stage::Summarize(running, hits) => self.summarize(running, hits, plan),
            Stage::Wait(stage) => {
                let runs = self.found.wanted.to_bytes();
                (Stage::Wait(stage), Ok(Some(Want::ModelRuns { anew: false, runs })))
            }
            Stage::Done | Stage::Refused(_) => (stage, Ok(Some(Want::Nothing))),
        }
    }

    fn load(&mut self, mut loading: Loading) -> Step {
        match loading.step(&self.query.deployed, &mut self.reads) {
            Ok(Want::Nothing) => {}
            Ok(want) => return (Stage::Load(loading), Ok(Some(want))),
            Err(rejection) => return (Stage::Load(loading), Err(Halt::Rejected(rejection))),
        }
        let Some(partition) = loading.done().cloned() else { return (Stage::Load(loading), Ok(None)) };
        (Stage::Select(Running::new(partition)), Ok(None))
    }

    /// Begins the run of the next schema, over those of its documents that are selected.
    fn select(&mut self, mut running: Running, plan: &Rc<Plan>) -> Step {
        if running.runs.len() == plan.schemas.len() {
            return (Stage::Seek(running), Ok(None));
        }
        let agreed = |schema: usize| {
            let facts = self.query.facts.borrow();
            self.is_shard.then(|| facts.of(&self.key, schema).cloned().unwrap_or_default())
        };
        match running.select(plan, &self.query, (&self.key, &self.floor, &agreed), &mut self.reads) {
            // Time passes when every document is looked at.
            Ok(true) => (Stage::Select(running), Ok(None)),
            Ok(false) => (Stage::Select(running), Ok(Some(Want::Pause))),
            Err(Halt::Rejected(rejection)) if !self.is_hosts(&rejection) => (Stage::Refused(rejection), Ok(None)),
            Err(halt) => (Stage::Select(running), Err(halt)),
        }
    }

    /// Whether a partition cannot be searched for what its host has to know: it is damaged; or, of several, to be rewritten first.
    fn is_hosts(&self, rejection: &Rejection) -> bool {
        rejection.code == Code::StoreCorrupt || (rejection.code == Code::Internal && self.outcome == Outcome::Partial)
    }

    fn seek(&mut self, mut running: Running, plan: &Rc<Plan>) -> Step {
        match running.about.seek(plan, &running.runs, &mut self.reads) {
            Ok(()) => (Stage::Run(running, 0), Ok(None)),
            Err(halt) => (Stage::Seek(running), Err(halt)),
        }
    }

    /// A step of the run over a schema, or the end of all runs.
    fn run(&mut self, mut running: Running, schema: usize, plan: &Rc<Plan>) -> Step {
        let Some(run) = running.runs.get_mut(schema) else {
            return (self.gather(running, plan), Ok(Some(Want::Pause)));
        };
        match run.step(&mut self.reads) {
            Ok(Want::Nothing) => match running.learn(schema, plan, self.query.now) {
                Ok(()) => (Stage::Run(running, schema + 1), Ok(Some(Want::Pause))),
                Err(rejection) => (Stage::Run(running, schema), Err(Halt::Rejected(rejection))),
            },
            stepped => (Stage::Run(running, schema), stepped.map(Some)),
        }
    }

    /// Collects the candidates of all schemas and leaves those that can be shown, ties included.
    fn gather(&mut self, mut running: Running, plan: &Rc<Plan>) -> Stage {
        self.found.total = running.runs.iter().map(|run| run.total).sum();
        self.found.documents = running.runs.iter().map(|run| run.scanned).sum();
        self.found.unseen = running.runs.iter().map(|run| run.unseen).sum();
        for (schema, run) in running.runs.iter_mut().enumerate() {
            if let Some(facts) = run.take_facts() {
                self.found.facts.insert(&self.key, schema, facts);
            }
        }
        if !self.found.facts.is_empty() {
            return Stage::Done;
        }
        match self.lacks_models(&mut running) {
            Ok(false) => {}
            Ok(true) => return self.wait(Stage::Run(running, 0)),
            Err(rejection) => return Stage::Refused(rejection),
        }
        let mut hits = running.take_candidates();
        hits.retain(|hit| self.floor.admits(plan, hit));
        running.about.note_rank(plan, &hits);
        plan.keep(&mut hits);
        if plan.grouping.is_empty() {
            return Stage::Order(running, hits);
        }
        Stage::Group(running, hits, self.new_grouping(plan))
    }

    fn new_grouping(&self, plan: &Plan) -> Grouping {
        Grouping::new(&plan.grouping, self.outcome == Outcome::Partial)
    }

    /// Adds the documents that matched to the groups of the query.
    #[inline(never)]
    fn group(&mut self, mut running: Running, hits: Hits, mut grouping: Grouping, plan: &Rc<Plan>) -> Step {
        let Running { runs, summarizers, named, .. } = &mut running;
        let format = self.query.rendering.format();
        let mut grouped = Grouped::new(plan, runs, (summarizers, named), format, self.query.now);
        match grouping.step(&plan.grouping, plan.schemas.len(), &mut grouped, &mut self.reads) {
            Ok(Want::Nothing) => {}
            Ok(want) => return (Stage::Group(running, hits, grouping), Ok(Some(want))),
            Err(rejection) => return (Stage::Group(running, hits, grouping), Err(Halt::Rejected(rejection))),
        }
        match self.lacks_models(&mut running) {
            Ok(false) => {}
            Ok(true) => {
                let anew = self.new_grouping(plan);
                return (self.wait(Stage::Group(running, hits, anew)), Ok(None));
            }
            Err(rejection) => return (Stage::Refused(rejection), Ok(None)),
        }
        self.found.grouping = grouping.finish();
        running.runs.iter_mut().for_each(|run| run.kept = Kept::default());
        (Stage::Order(running, hits), Ok(Some(Want::Pause)))
    }

    fn order(&mut self, running: Running, mut hits: Hits, plan: &Rc<Plan>) -> Step {
        if let Err(halt) = running.read_ids(&mut hits, &mut self.reads) {
            return (Stage::Order(running, hits), Err(halt));
        }
        hits.retain(|hit| self.floor.admits(plan, hit));
        plan.keep(&mut hits);
        (Stage::Judge(running, hits), Ok(None))
    }

    /// Finds out what later phases want to know. If nobody else was searched, they decide, and the window is cut out.
    fn judge(&mut self, mut running: Running, mut hits: Hits, plan: &Rc<Plan>) -> Step {
        if let Err(halt) = running.read_later(&mut hits, &mut self.reads) {
            return (Stage::Judge(running, hits), Err(halt));
        }
        match self.lacks_models(&mut running) {
            Ok(false) if self.outcome == Outcome::Partial => return (Stage::Summarize(running, hits), Ok(None)),
            Ok(false) => {}
            Ok(true) => return (self.wait(Stage::Judge(running, hits)), Ok(None)),
            Err(rejection) => return (Stage::Refused(rejection), Ok(None)),
        }
        // A global phase that lacks outputs of models decides once more about the same hits.
        let undecided = if plan.has_global_phase() { hits.clone() } else { Vec::new() };
        let settled = final_hits(plan, hits).and_then(|settled| settled.wanted.check().map(|()| settled));
        let settled = match settled {
            Ok(settled) => settled,
            // A phase failed: that is an answer, and no damage.
            Err(rejection) => return (Stage::Refused(rejection), Ok(None)),
        };
        if !settled.wanted.is_empty() {
            self.found.wanted = settled.wanted;
            return (self.wait(Stage::Judge(running, undecided)), Ok(None));
        }
        self.found.total -= settled.dropped;
        (Stage::Summarize(running, settled.hits), Ok(None))
    }

    fn summarize(&mut self, mut running: Running, hits: Hits, plan: &Rc<Plan>) -> Step {
        let format = self.query.rendering.format();
        let shown = running.summaries(&hits, plan.presentation.explain, format, &mut self.reads);
        let about = |running: &mut Running, reads: &mut Reads| match plan.presentation.explain_id {
            Some(_) => running.explanation(plan, &hits, reads).map(Some),
            None => Ok(None),
        };
        let (shown, explanation) = match shown {
            Ok(shown) => match about(&mut running, &mut self.reads) {
                Ok(explanation) => (shown, explanation),
                Err(halt) => {
                    running.shown = shown;
                    return (Stage::Summarize(running, hits), Err(halt));
                }
            },
            Err(halt) => return (Stage::Summarize(running, hits), Err(halt)),
        };
        match self.lacks_models(&mut running) {
            Ok(false) => {}
            Ok(true) => return (self.wait(Stage::Summarize(running, hits)), Ok(None)),
            Err(rejection) => return (Stage::Refused(rejection), Ok(None)),
        }
        (self.found.hits, self.found.explanation) = (shown, explanation);
        (Stage::Done, Ok(None))
    }

    /// Whether outputs of models were lacking for what was done: nothing made without them is right.
    fn lacks_models(&mut self, running: &mut Running) -> Result<bool, Rejection> {
        running.take_wanted(&mut self.found.wanted)?;
        self.found.wanted.check()?;
        Ok(!self.found.wanted.is_empty())
    }

    /// Waits for outputs of models before a stage. A part of several does not: all parts are searched anew with them.
    fn wait(&self, stage: Stage) -> Stage {
        match self.outcome {
            Outcome::Answer => Stage::Wait(Box::new(stage)),
            Outcome::Partial => Stage::Done,
        }
    }

    /// Ends the runs with what they have, if the time of a search that takes a part of an answer is nearly over.
    fn stop_softly(&mut self, plan: &Rc<Plan>) {
        if !plan.soft_timeout_ms.is_some_and(|soft| self.elapsed_ms >= soft) {
            return;
        }
        let stage = std::mem::replace(&mut self.stage, Stage::Done);
        self.stage = match stage {
            Stage::Run(mut running, _) => {
                running.runs.iter_mut().for_each(|run| run.stop());
                self.gather(running, plan)
            }
            other => other,
        };
    }
}

impl Task for Search {
    fn wants(&mut self) -> Result<Want, Rejection> {
        if matches!(self.stage, Stage::Refused(_)) {
            return Ok(Want::Nothing);
        }
        let plan = match self.query.plan() {
            Ok(plan) => plan,
            // The zone it names is unknown.
            Err(rejection) => {
                self.stage = Stage::Refused(rejection);
                return Ok(Want::Nothing);
            }
        };
        if !self.begins(&plan) {
            return Ok(Want::Nothing);
        }
        if let Some(name) = &plan.zone {
            return Ok(Want::Zone { name: name.clone(), at: self.query.now });
        }
        self.found.clock = plan.clock(self.query.now);
        self.stop_softly(&plan);
        self.reads.begin_step();
        loop {
            if self.passes_stage() {
                return Ok(Want::Pause);
            }
            let stage = std::mem::replace(&mut self.stage, Stage::Done);
            let (stage, stepped) = self.step(stage, &plan);
            self.stage = stage;
            match stepped {
                Ok(None) => {}
                Ok(Some(want)) => return Ok(want),
                // Nothing is missing where a step has worked enough.
                Err(Halt::Missing) if self.reads.missing() == 0 => return Ok(Want::Pause),
                Err(Halt::Missing) => return Ok(Want::Blocks(self.reads.take_missing())),
                // More than a query may ask, of a document or of groups: that is no damage.
                Err(Halt::Rejected(rejection)) if rejection.code == Code::BadRequest => {
                    self.stage = Stage::Refused(rejection);
                    return Ok(Want::Nothing);
                }
                Err(Halt::Rejected(rejection)) => return Err(rejection),
            }
        }
    }

    fn give(&mut self, answer: Block) -> Result<(), Rejection> {
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Wait(stage) => {
                self.query.give_outputs(answer.bytes())?;
                self.found.wanted = Default::default();
                self.stage = renew(*stage, &*self.query.plan()?, self.query.now)?;
                return Ok(());
            }
            other => self.stage = other,
        }
        if self.query.plan().is_ok_and(|plan| plan.zone.is_some()) {
            return self.query.give_zone(answer.bytes());
        }
        match &mut self.stage {
            Stage::Load(loading) if loading.wants_manifest() => loading.give(&self.query.deployed, answer.bytes()),
            _ => self.reads.give(answer),
        }
    }

    fn elapsed(&mut self, milliseconds: f64) {
        self.elapsed_ms = milliseconds;
        self.meter.iter_mut().for_each(|meter| meter.time(milliseconds));
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        self.found.bytes_read = self.reads.bytes_read;
        self.found.bytes_scanned = self.reads.bytes_scanned + self.reads.bytes_read;
        self.tell_stages();
        let plan = match (&self.stage, self.query.plan()) {
            (Stage::Refused(rejection), _) => Err(rejection.clone()),
            (_, plan) => plan,
        };
        self.found.refusal = match &plan {
            Err(rejection) => Some(rejection.clone()),
            Ok(plan) => self.lateness(plan),
        };
        if let Stage::Load(loading) = std::mem::replace(&mut self.stage, Stage::Done) {
            loading.keep(&self.query.deployed, &mut self.reads);
        }
        let rendering = &self.query.rendering;
        match (&plan, self.outcome) {
            (_, Outcome::Partial) => Ok(self.found.encode()),
            (Ok(plan), Outcome::Answer) => Ok(render(plan, &mut self.found, self.elapsed_ms, rendering)),
            (Err(rejection), Outcome::Answer) => Ok(refuse(rejection, rendering)),
        }
    }
}

impl Query {
    /// A search of the only partition that is addressed (docs/abi.md, search).
    ///
    /// # Errors
    /// If the bytes are cut short; what is wrong with the query itself becomes the answer.
    pub fn search(self: &Rc<Self>, request: &[u8]) -> Result<Search, Rejection> {
        let mut reader = Reader::new(request);
        let place = PartitionVersion::read(&mut reader)?;
        reader.end()?;
        Ok(Search::open(self, &place, Outcome::Answer, Floor::default()))
    }

    /// A search of one of the partitions that are addressed (docs/abi.md, part): a partial result.
    ///
    /// # Errors
    /// If the bytes are cut short; what is wrong with the query itself becomes the partial result.
    pub fn part(self: &Rc<Self>, request: &[u8]) -> Result<Search, Rejection> {
        let mut reader = Reader::new(request);
        let floor = Floor::read_optional(reader.bytes()?)?;
        let place = PartitionVersion::read(&mut reader)?;
        let shard = if reader.remaining() > 0 { Some(reader.u32()?) } else { None };
        reader.end()?;
        let mut search = Search::open(self, &place, Outcome::Partial, floor);
        // A group counts as one, however many shards it has.
        search.found.partitions = u64::from(shard.is_none_or(|number| number == 0));
        search.is_shard = shard.is_some();
        Ok(search)
    }
}

/// A stage that lacked outputs of models, once they are given.
#[inline(never)]
pub(crate) fn renew(stage: Stage, plan: &Plan, now: i64) -> Result<Stage, Rejection> {
    Ok(match stage {
        Stage::Run(mut running, schema) => {
            running.renew(plan, now)?;
            running.runs.iter_mut().for_each(Run::rank_again);
            Stage::Run(running, schema)
        }
        Stage::Group(mut running, hits, grouping) => {
            running.renew(plan, now)?;
            Stage::Group(running, hits, grouping)
        }
        Stage::Judge(mut running, hits) => {
            running.renew(plan, now)?;
            Stage::Judge(running, hits)
        }
        Stage::Summarize(mut running, hits) => {
            running.renew(plan, now)?;
            Stage::Summarize(running, hits)
        }
        other => other,
    })
}
