//! A query over several partitions: its scope, and the merge of what they found.
//!
//! The host asks for the scope, has each addressed partition searched for its partial result, and merges as they come:
//! some partial results into one, whose floor the next searches are given, and in the end into the answer. A merge may
//! be cut into steps in any way and order; the answer is the same.
use std::rc::Rc;

use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Code, Rejection, Task, Want};

use crate::answer::{refuse, render, settle, wants_models};
use crate::compile::compile;
use crate::deployed::Deployed;
use crate::grouping::Grouping;
use crate::lane::Floor;
use crate::late::{self, Progress};
use crate::model_runs::WantedRuns;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::render::Rendering;
use crate::request::{Asked, Properties};
use crate::scope::Scope;
use crate::summary::check_fields;

/// The scope of a query (docs/abi.md, scope): 0 and an answer if it is refused; else what [`Scope`] writes, then the
/// milliseconds the query may take.
///
/// # Errors
/// If the request is cut short; what is wrong with the query itself becomes the answer.
pub fn scope(deployed: &Deployed, request: &[u8]) -> Result<Vec<u8>, Rejection> {
    let mut reader = Reader::new(request);
    let Asked { properties: given, rendering } = Properties::from_request(deployed, &mut reader)?;
    reader.end()?;
    let scope = given.and_then(|properties| {
        let scope = Scope::of(deployed, &properties)?;
        let plan = compile(deployed, &properties, 0)?;
        check_fields(&plan)?;
        Ok((scope, plan.timeout_ms))
    });
    let mut writer = Writer::new();
    match scope {
        Err(rejection) => {
            writer.u8(0);
            writer.raw(&refuse(&rejection, &rendering));
        }
        Ok((scope, timeout_ms)) => {
            scope.write(&mut writer);
            writer.u32(timeout_ms);
        }
    }
    Ok(writer.finish())
}

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

/// The task that merges. It wants nothing.
pub struct Merge {
    plan: Result<Rc<Plan>, Rejection>,
    rendering: Rendering,
    merged: Partial,
    whole: bool,
    /// The floor under hits of others.
    floor: Floor,
    elapsed_ms: f64,
}

impl Merge {
    /// Reads the request (docs/abi.md, merge).
    ///
    /// # Errors
    /// If the request is cut short or a partial result is damaged; what is wrong with the query becomes the answer.
    pub fn open(deployed: &Deployed, request: &[u8]) -> Result<Merge, Rejection> {
        let mut reader = Reader::new(request);
        let Asked { properties, rendering } = Properties::from_request(deployed, &mut reader)?;
        let whole = reader.u8()? != 0;
        let floor = Floor::read_optional(reader.bytes()?)?;
        let parts = (0..reader.count(1)?).map(|_| reader.bytes()).collect::<Result<Vec<_>, _>>()?;
        let damaged = u64::from(reader.u32()?);
        reader.end()?;
        // The time of the merge is that of the searches.
        let clock = parts.first().map(|part| Partial::clock_of(part)).transpose()?.unwrap_or_default();
        let plan = properties.and_then(|properties| compile(deployed, &properties, clock.now)).map(|mut plan| {
            plan.set_zone(clock.zone);
            Rc::new(plan)
        });
        let application = deployed.application.fingerprint();
        let mut merged = Partial { application, clock, ..Partial::default() };
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
        Ok(Merge { plan, rendering, merged, whole, floor, elapsed_ms: 0.0 })
    }
}

impl Merge {
    /// Asks for the models that the answer depends on.
    fn wanting(&self, plan: &Plan, wanted: &WantedRuns) -> Result<Vec<u8>, Rejection> {
        Ok(wants_models(plan, wanted).unwrap_or_else(|rejection| refuse(&rejection, &self.rendering)))
    }
}

impl Task for Merge {
    fn wants(&mut self) -> Result<Want, Rejection> {
        Ok(Want::Nothing)
    }

    fn give(&mut self, _: Block) -> Result<(), Rejection> {
        Err(Rejection::new(Code::Internal, "A merge wants nothing"))
    }

    fn elapsed(&mut self, milliseconds: f64) {
        self.elapsed_ms = milliseconds;
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        let plan = match &self.plan {
            Ok(plan) => plan.clone(),
            Err(rejection) => return Ok(refuse(rejection, &self.rendering)),
        };
        if !self.whole {
            let mut writer = Writer::new();
            let mut floor = Writer::new();
            plan.floor(&self.merged.hits).or(&self.floor).write(&mut floor);
            writer.u8(u8::from(self.merged.refusal.is_some()));
            writer.bytes(&floor.finish());
            writer.bytes(&self.merged.encode());
            return Ok(writer.finish());
        }
        // Of nothing: it was not begun.
        let is_begun = self.merged.partitions + self.merged.damaged > 0 || self.merged.refusal.is_some();
        let progress = if is_begun { Progress::Done } else { Progress::Waiting };
        if late::is_over(&plan, self.elapsed_ms) && self.merged.refusal.is_none() {
            self.merged.refusal = late::refusal(&plan, self.elapsed_ms, progress);
        }
        if self.merged.grouping.is_empty() {
            // Nobody was searched: there are no groups, and every request has its root.
            self.merged.grouping = Grouping::new(&plan.grouping, true).finish();
        }
        if self.merged.refusal.is_none() && !self.merged.wanted.is_empty() {
            return self.wanting(&plan, &self.merged.wanted);
        }
        let settled = match settle(&plan, std::mem::take(&mut self.merged.hits)) {
            Ok(settled) => settled,
            Err(rejection) => return Ok(refuse(&rejection, &self.rendering)),
        };
        if !settled.wanted.is_empty() {
            return self.wanting(&plan, &settled.wanted);
        }
        self.merged.hits = settled.hits;
        tell_damage(&mut self.merged);
        // The total was counted elsewhere and may be less than what is dropped here.
        self.merged.total = self.merged.total.saturating_sub(settled.dropped);
        Ok(render(&plan, &mut self.merged, self.elapsed_ms, &self.rendering))
    }
}
