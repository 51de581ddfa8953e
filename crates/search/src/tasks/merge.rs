//! The merge of what several partitions found for one query.
//!
//! The host has each partition that the scope addresses searched for its partial result, and merges as they come: some
//! partial results into one, whose floor the next searches are given, and in the end into the answer. A merge may be cut
//! into steps in any way and order; the answer is the same.
use std::rc::Rc;

use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Code, Rejection, Task, Want};

use super::answer::{final_hits, refuse, render};
use super::late;
use super::late::Progress;
use super::query::Query;
use crate::found::group_facts::GroupFacts;
use crate::found::hit_list::Floor;
use crate::found::model_runs::WantedRuns;
use crate::found::partial::Partial;
use crate::grouping::Grouping;
use crate::plan::Plan;

/// Partitions that are damaged refuse the query, unless it takes a part of an answer and there is one.
fn refuse_damage(merged: &mut Partial, plan: &Plan, whole: bool) {
    let takes_part = plan.soft_timeout_ms.is_some();
    if merged.damaged > 0 && merged.refusal.is_none() && (!takes_part || whole && merged.partitions == 0) {
        merged.refusal = Some(Rejection::new(Code::StoreCorrupt, "The stored data is damaged"));
    }
}

/// Says of an answer that it is not of all partitions.
fn tell_damage(merged: &mut Partial) {
    if merged.damaged > 0 {
        let of_all = merged.partitions + merged.damaged;
        let message =
            format!("The stored data of {} of {of_all} groups is damaged: they were not searched", merged.damaged);
        merged.issues.report(Code::StoreCorrupt, message);
    }
}

/// Facts as runs of models are wanted: there are none of those, and what stands behind them is given back as it is.
fn wanted_facts(facts: &GroupFacts) -> Vec<u8> {
    let mut writer = Writer::new();
    WantedRuns::default().write(&mut writer);
    facts.write(&mut writer);
    writer.finish()
}

enum Stage {
    /// Some partial results, of which others are made.
    Some,
    /// All of them: later phases decide about their hits.
    Judge,
    /// The window of hits is cut.
    Done,
}

/// The task that merges. It wants nothing but outputs of models.
pub struct Merge {
    query: Rc<Query>,
    plan: Result<Rc<Plan>, Rejection>,
    merged: Partial,
    stage: Stage,
    /// The floor under hits of others.
    floor: Floor,
    elapsed_ms: f64,
}

impl Merge {
    /// Reads the request (docs/abi.md, merge).
    ///
    /// # Errors
    /// If the request is cut short or a partial result is damaged.
    pub(crate) fn open(query: &Rc<Query>, request: &[u8]) -> Result<Merge, Rejection> {
        let mut reader = Reader::new(request);
        let whole = reader.u8()? != 0;
        let floor = Floor::read_optional(reader.bytes()?)?;
        let parts = (0..reader.count(1)?).map(|_| reader.bytes()).collect::<Result<Vec<_>, _>>()?;
        let damaged = u64::from(reader.u32()?);
        reader.end()?;
        // The time of the merge is that of the searches.
        let clock = parts.first().map(|part| Partial::clock_of(part)).transpose()?;
        if query.plan().is_ok()
            && let Some(clock) = clock
        {
            query.set_zone(clock)?;
        }
        let plan = query.plan();
        let application = query.deployed.fingerprint;
        let mut merged = Partial { application, clock: clock.unwrap_or_default(), ..Partial::default() };
        if let Ok(plan) = &plan {
            merged.issues = plan.issues.clone();
        }
        for (part, plan) in parts.into_iter().zip(plan.iter().cycle()) {
            merged.absorb(part, plan)?;
            // At once: what is kept stays small however many are merged.
            plan.keep(&mut merged.hits);
        }
        merged.damaged += damaged;
        if let Ok(plan) = &plan {
            merged.grouping.iter_mut().zip(&plan.grouping).for_each(|(groups, planned)| groups.cut_hits(planned));
            refuse_damage(&mut merged, plan, whole);
        }
        let stage = if whole { Stage::Judge } else { Stage::Some };
        Ok(Merge { query: query.clone(), plan, merged, stage, floor, elapsed_ms: 0.0 })
    }

    /// Later phases decide about the hits of all partitions. What they lack, if that is outputs of models.
    fn judge(&mut self, plan: &Plan) -> Result<Option<WantedRuns>, Rejection> {
        let undecided = if plan.has_global_phase() { self.merged.hits.clone() } else { Vec::new() };
        let settled = final_hits(plan, std::mem::take(&mut self.merged.hits))?;
        settled.wanted.check()?;
        if !settled.wanted.is_empty() {
            self.merged.hits = undecided;
            return Ok(Some(settled.wanted));
        }
        self.merged.hits = settled.hits;
        // The total was counted elsewhere and may be less than what is dropped here.
        self.merged.total = self.merged.total.saturating_sub(settled.dropped);
        self.stage = Stage::Done;
        Ok(None)
    }

    /// Some partial results as one, which is refused if the query is.
    fn part(mut self) -> Vec<u8> {
        let floor = match &self.plan {
            Ok(plan) => plan.floor(&self.merged.hits).or(&self.floor),
            Err(rejection) => {
                self.merged.refusal = Some(rejection.clone());
                self.floor
            }
        };
        let (mut writer, mut above) = (Writer::new(), Writer::new());
        floor.write(&mut above);
        writer.u8(u8::from(self.merged.refusal.is_some()));
        writer.bytes(&above.finish());
        writer.bytes(&self.merged.encode());
        writer.finish()
    }

    /// Why there is no answer if the time of the query is over.
    fn lateness(&self, plan: &Plan) -> Option<Rejection> {
        if !late::is_over(plan, self.elapsed_ms) {
            return None;
        }
        // Of nothing: it was not begun.
        let is_begun = self.merged.partitions + self.merged.damaged > 0;
        late::refusal(plan, self.elapsed_ms, if is_begun { Progress::Done } else { Progress::Waiting })
    }
}

impl Task for Merge {
    fn wants(&mut self) -> Result<Want, Rejection> {
        let Ok(plan) = self.plan.clone() else { return Ok(Want::Nothing) };
        if !matches!(self.stage, Stage::Judge) || self.merged.refusal.is_some() || self.lateness(&plan).is_some() {
            return Ok(Want::Nothing);
        }
        if !self.merged.facts.is_empty() {
            self.merged.give_costs(&mut self.query.spent.borrow_mut());
            return Ok(Want::ModelRuns { anew: true, runs: wanted_facts(&self.merged.facts) });
        }
        let (anew, wanted) = match self.merged.wanted.check() {
            Ok(()) if !self.merged.wanted.is_empty() => (true, Ok(Some(self.merged.wanted.to_bytes()))),
            Ok(()) => (false, self.judge(&plan).map(|wanted| wanted.map(|wanted| wanted.to_bytes()))),
            Err(rejection) => (false, Err(rejection)),
        };
        match wanted {
            Ok(Some(runs)) => {
                if anew {
                    self.merged.give_costs(&mut self.query.spent.borrow_mut());
                }
                return Ok(Want::ModelRuns { anew, runs });
            }
            Ok(None) => {}
            Err(rejection) => self.plan = Err(rejection),
        }
        Ok(Want::Nothing)
    }

    fn give(&mut self, outputs: Block) -> Result<(), Rejection> {
        self.query.give_outputs(outputs.bytes())
    }

    fn elapsed(&mut self, milliseconds: f64) {
        self.elapsed_ms = milliseconds;
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        let rendering = &self.query.rendering;
        if matches!(self.stage, Stage::Some) {
            return Ok(self.part());
        }
        let plan = match &self.plan {
            Ok(plan) => plan.clone(),
            Err(rejection) => return Ok(refuse(rejection, rendering)),
        };
        if self.merged.refusal.is_none() {
            self.merged.refusal = self.lateness(&plan);
        }
        if self.merged.refusal.is_none() && !matches!(self.stage, Stage::Done) {
            // Its host gave up waiting for models.
            self.merged.refusal = late::refusal(&plan, self.elapsed_ms, Progress::Begun);
        }
        if self.merged.grouping.is_empty() {
            // Nobody was searched: there are no groups, and every request has its root.
            self.merged.grouping = Grouping::new(&plan.grouping, true).finish();
        }
        tell_damage(&mut self.merged);
        self.merged.take_costs(self.query.spent.take());
        Ok(render(&plan, &mut self.merged, self.elapsed_ms, rendering))
    }
}

impl Query {
    /// A merge of partial results (docs/abi.md, merge).
    ///
    /// # Errors
    /// If a partial result is damaged; what is wrong with the query itself becomes the answer.
    pub fn merge(self: &Rc<Self>, request: &[u8]) -> Result<Merge, Rejection> {
        Merge::open(self, request)
    }
}
