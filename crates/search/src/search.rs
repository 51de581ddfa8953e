//! Answering a query: compile, load the partition, run the plan over each schema, order, summarise, render.
use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

use brooklet_kernel::score_key;
use brooklet_segment::{Halt, Place, read_id};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Code, Issues, Rejection, Task, Want};

use crate::compile::compile;
use crate::deployed::Deployed;
use crate::partition::{Loading, View};
use crate::plan::Plan;
use crate::ranking::Spot;
use crate::reads::Reads;
use crate::render::{self, Answer, JSON, ShownHit, Timing};
use crate::request::Properties;
use crate::residency::Residency;
use crate::run::{Candidate, Run};
use crate::sorting::compare;
use crate::summary::{Summarizer, check_fields};

/// A hit on its way to being shown.
struct Hit {
    run: usize,
    candidate: Candidate,
    id: Option<String>,
}

enum Stage {
    Load,
    Run(usize),
    Order,
    Summarize,
    Done,
}

/// The task. Rejections become answers, damage of the store is thrown.
pub struct Search {
    deployed: Rc<Deployed>,
    plan: Result<Rc<Plan>, Rejection>,
    now: i64,
    loading: Loading,
    reads: Reads,
    stage: Stage,
    runs: Vec<Run>,
    issues: Issues,
    hits: Vec<Hit>,
    summarizers: Vec<Summarizer>,
    shown: Vec<ShownHit>,
    elapsed_ms: f64,
}

impl Search {
    /// Reads the request (docs/abi.md, search).
    ///
    /// # Errors
    /// If the request is cut short; what is wrong with the query itself becomes the answer.
    pub fn open(
        deployed: Rc<Deployed>,
        residency: Rc<RefCell<Residency>>,
        request: &[u8],
    ) -> Result<Search, Rejection> {
        let mut reader = Reader::new(request);
        let place = Place::read(&mut reader)?;
        let now = reader.u64()? as i64;
        let mut properties = Vec::new();
        for _ in 0..reader.count(2)? {
            properties.push((reader.text()?.to_owned(), reader.text()?.to_owned()));
        }
        let body = reader.bytes()?;
        let plan =
            Properties::read(&properties, body).and_then(|properties| compile(&deployed, &properties, &place.key));
        let plan = plan.and_then(|plan| check_fields(&plan).map(|()| Rc::new(plan)));
        let mut reads = Reads::new(residency);
        let loading = Loading::begin(&place, &mut reads);
        let issues = plan.as_ref().map_or_else(|_| Issues::default(), |plan| plan.issues.clone());
        Ok(Search {
            deployed,
            plan,
            now,
            loading,
            reads,
            stage: Stage::Load,
            runs: Vec::new(),
            issues,
            hits: Vec::new(),
            summarizers: Vec::new(),
            shown: Vec::new(),
            elapsed_ms: 0.0,
        })
    }

    /// Milliseconds the request may take; 0 if it was refused and takes none.
    #[must_use]
    pub fn timeout_ms(&self) -> u32 {
        // A timeout of nothing is over at once; 0 would mean none.
        self.plan.as_ref().map_or(0, |plan| plan.timeout_ms.max(1))
    }

    fn begin_runs(&mut self, plan: &Plan) -> Result<(), Rejection> {
        let Some(partition) = self.loading.done().cloned() else { return Ok(()) };
        for of in &plan.schemas {
            let name = &of.schema.schema.name;
            let views: Vec<View> =
                partition.views.iter().filter(|view| view.segment.header.schema == *name).cloned().collect();
            // The host rewrites such segments before it searches; answering from them could miss matches.
            if views.iter().any(|view| view.segment.header.fingerprint != of.schema.fingerprint) {
                let message =
                    format!("Segments of schema '{name}' are of another deployment and must be rewritten first");
                return Err(Rejection::new(Code::Internal, message));
            }
            self.runs.push(Run::new(plan, of, views, self.now, &mut self.issues)?);
            self.summarizers.push(Summarizer::new(plan, of));
        }
        self.stage = Stage::Run(0);
        Ok(())
    }

    fn run(&mut self, index: usize) -> Result<Want, Rejection> {
        let Some(run) = self.runs.get_mut(index) else {
            self.gather();
            return Ok(Want::Pause);
        };
        let want = run.step(&mut self.reads)?;
        if want == Want::Nothing {
            self.stage = Stage::Run(index + 1);
            return Ok(Want::Pause);
        }
        Ok(want)
    }

    /// Collects the candidates of all schemas and leaves those that can be shown, ties included.
    fn gather(&mut self) {
        let Ok(plan) = self.plan.clone() else { return };
        let wanted = plan.hits + plan.offset;
        for (run, of) in self.runs.iter_mut().enumerate() {
            let candidates = std::mem::take(&mut of.candidates);
            self.hits.extend(candidates.into_iter().map(|candidate| Hit { run, candidate, id: None }));
        }
        let descending = self.descending();
        self.hits.sort_by(|a, b| order(a, b, &descending));
        if let Some(last) = wanted.checked_sub(1).and_then(|last| self.hits.get(last)) {
            let tied = self.hits.iter().rposition(|hit| order(hit, last, &descending) == Ordering::Equal);
            self.hits.truncate(tied.map_or(wanted, |tied| tied + 1));
        }
        self.stage = Stage::Order;
    }

    fn descending(&self) -> Vec<bool> {
        self.runs.first().map_or_else(Vec::new, |run| run.keys.iter().map(|key| key.descending).collect())
    }

    /// Reads the ids, which break the ties, and cuts the window out.
    fn order(&mut self, plan: &Plan) -> Result<(), Halt> {
        let mut missing = false;
        for hit in self.hits.iter_mut().filter(|hit| hit.id.is_none()) {
            let segment = &self.runs[hit.run].views[hit.candidate.view].segment;
            match read_id(&segment.header, hit.candidate.ordinal, &mut self.reads.of(segment)) {
                Ok(id) => hit.id = Some(id),
                Err(Halt::Missing) => missing = true,
                Err(halt) => return Err(halt),
            }
        }
        if missing {
            return Err(Halt::Missing);
        }
        let descending = self.descending();
        self.hits.sort_by(|a, b| order(a, b, &descending).then_with(|| a.id.cmp(&b.id)));
        self.hits.truncate(plan.hits + plan.offset);
        self.hits.drain(..plan.offset.min(self.hits.len()));
        self.stage = Stage::Summarize;
        Ok(())
    }

    fn summarize(&mut self, plan: &Plan) -> Result<(), Halt> {
        let mut shown = Vec::with_capacity(self.hits.len());
        let mut missing = false;
        for hit in &self.hits {
            let run = &mut self.runs[hit.run];
            let of = run.plan.clone();
            let (view, ordinal) = (hit.candidate.view, hit.candidate.ordinal);
            let spot = Spot { views: &run.views, matches: &run.matches, resolved: &run.resolved, view, ordinal };
            let id = hit.id.as_deref().unwrap_or_default();
            let summarizer = &self.summarizers[hit.run];
            match summarizer.fields(&plan.presentation, &of, id, spot, &mut run.ranker, &mut self.reads) {
                Ok(fields) => shown.push(ShownHit {
                    id: id.to_owned(),
                    relevance: hit.candidate.score,
                    source: of.schema.cluster.clone(),
                    fields,
                }),
                Err(Halt::Missing) => missing = true,
                Err(halt) => return Err(halt),
            }
        }
        if missing {
            return Err(Halt::Missing);
        }
        self.shown = shown;
        self.stage = Stage::Done;
        Ok(())
    }

    fn trace(&self, level: i32) -> Vec<String> {
        let documents: u64 = self.runs.iter().map(|run| run.scanned).sum();
        let mut messages = Vec::new();
        if level >= 1 {
            messages.push("No query profile is used".to_owned());
        }
        if level >= 2 {
            messages.push(format!(
                "Buckets visited: 1\nDocuments visited: {documents}\nBytes visited: {}\nDocuments returned: {}\nBytes returned: {}\n",
                self.reads.bytes_read,
                self.shown.len(),
                self.shown.iter().filter_map(|hit| hit.fields.as_ref()).map(String::len).sum::<usize>(),
            ));
        }
        messages
    }

    fn render(&self, plan: &Plan) -> (u16, String) {
        let timing = Timing {
            elapsed_ms: self.elapsed_ms,
            bytes_read: self.reads.bytes_read,
            bytes_scanned: self.reads.bytes_scanned + self.reads.bytes_read,
        };
        render::answer(&Answer {
            total: self.runs.iter().map(|run| run.total).sum(),
            documents: self.runs.iter().map(|run| run.scanned).sum(),
            schemas: self.runs.len(),
            hits: &self.shown,
            issues: self.issues.all(),
            timing: plan.presentation.timing.then_some(timing),
            trace: &self.trace(plan.presentation.trace_level),
        })
    }
}

/// The order of hits before their ids are known: by their keys, then by score.
fn order(a: &Hit, b: &Hit, descending: &[bool]) -> Ordering {
    compare(&a.candidate.keys, &b.candidate.keys, descending)
        .then_with(|| score_key(b.candidate.score).cmp(&score_key(a.candidate.score)))
}

impl Task for Search {
    fn wants(&mut self) -> Result<Want, Rejection> {
        let Ok(plan) = self.plan.clone() else { return Ok(Want::Nothing) };
        loop {
            let stepped = match self.stage {
                Stage::Load => {
                    let want = self.loading.step(&self.deployed, &mut self.reads)?;
                    if want != Want::Nothing {
                        return Ok(want);
                    }
                    if let Err(rejection) = self.begin_runs(&plan) {
                        self.plan = Err(rejection);
                        return Ok(Want::Nothing);
                    }
                    continue;
                }
                Stage::Run(index) => return self.run(index),
                Stage::Order => self.order(&plan),
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
        if self.loading.wants_manifest() {
            return self.loading.give(&self.deployed, answer.bytes());
        }
        self.reads.give(answer)
    }

    fn elapsed(&mut self, milliseconds: f64) {
        self.elapsed_ms = milliseconds;
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        let (status, body) = match &self.plan {
            Err(rejection) => render::refusal(rejection),
            Ok(plan) if matches!(self.stage, Stage::Done) => self.render(plan),
            Ok(_) => render::refusal(&Rejection::new(Code::TimedOut, "Query timed out in streaming visitor")),
        };
        let mut writer = Writer::new();
        writer.u16(status);
        writer.text(JSON);
        writer.u64(self.reads.bytes_read);
        writer.u64(self.reads.bytes_scanned + self.reads.bytes_read);
        writer.bytes(body.as_bytes());
        Ok(writer.finish())
    }
}
