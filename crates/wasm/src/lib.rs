//! The core's face to JavaScript: three classes, coarse calls, bytes in and bytes out (docs/abi.md).
//!
//! The only crate that knows JavaScript. It gives every call a task, and every rejection a JSON text; it decides nothing.

mod memory;

use std::cell::RefCell;
use std::rc::Rc;

use brooklet_document::embedding::write_wanted;
use brooklet_document::json::JsonWriter;
use brooklet_feed::{Bounds, Compact, Load, Mutate, OperationRequest, Outlines, embeddings_wanted, encode, split};
use brooklet_schema::{Application, Change, History};
use brooklet_search::{Deployed, Evaluate, Get, Query as CoreQuery, Residency, open_visit};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Code, Rejection, Task as CoreTask, TaskKind, Want, limits};
use wasm_bindgen::prelude::*;

use memory::{comes_in, reserve};

/// One instance of the core: a deployed application and what is resident.
#[wasm_bindgen]
pub struct Core {
    deployed: Option<Rc<Deployed>>,
    residency: Rc<RefCell<Residency>>,
    outlines: Rc<RefCell<Outlines>>,
    /// What continuations are sealed with.
    seal_key: [u8; 16],
    /// Of what it writes.
    bounds: Bounds,
}

/// A unit of work under way.
#[wasm_bindgen]
pub struct Task {
    inner: Option<Inner>,
    incoming: Option<Block>,
    /// What was finished in pieces: the one that the host reads, and those after it.
    piece: Vec<u8>,
    pieces: std::vec::IntoIter<Vec<u8>>,
}

/// A query that is open (docs/abi.md, the query).
#[wasm_bindgen]
pub struct Query(Rc<CoreQuery>);

enum Inner {
    /// Finished when it was opened.
    Done(Vec<u8>),
    Running(Box<dyn CoreTask>),
}

#[wasm_bindgen]
impl Core {
    /// An instance whose resident blocks may take `cache_bytes`, that seals continuations with the 16 bytes of `seal_key`,
    /// and whose segments are of about `segment_bytes`; 0: as large as the limits let them be.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(cache_bytes: usize, seal_key: &[u8], segment_bytes: usize) -> Core {
        reserve(cache_bytes);
        let mut key = [0; 16];
        key.iter_mut().zip(seal_key).for_each(|(to, from)| *to = *from);
        let residency = Rc::new(RefCell::new(Residency::new(cache_bytes)));
        let bounds = if segment_bytes == 0 { Bounds::default() } else { Bounds::of_segments(segment_bytes) };
        let outlines = Rc::new(RefCell::new(Outlines::of_cache(cache_bytes)));
        Core { deployed: None, residency, outlines, seal_key: key, bounds }
    }

    /// Deploys a package, after checking it against the one deployed now.
    ///
    /// # Errors
    /// A rejection as JSON.
    pub fn deploy(&mut self, package: &[u8]) -> Result<String, JsValue> {
        let (deployed, report) = self.try_deploy(package).map_err(|rejection| throwable(&rejection))?;
        self.deployed = Some(Rc::new(deployed));
        self.residency.borrow_mut().forget_partitions();
        Ok(report)
    }

    /// The addresses of models that a package names, as JSON (docs/abi.md, package). Nothing is deployed.
    ///
    /// # Errors
    /// A rejection as JSON.
    pub fn models(&self, package: &[u8]) -> Result<String, JsValue> {
        let addresses =
            named_contents(&mut Reader::new(package)).and_then(|files| Application::model_addresses(&files));
        addresses.map(|addresses| addresses.to_json()).map_err(|rejection| throwable(&rejection))
    }

    /// The report of what is deployed; empty before.
    #[must_use]
    pub fn application(&self) -> String {
        self.deployed.as_ref().map_or_else(String::new, |deployed| deployed.application.report())
    }

    /// What the host has to keep of the deployed application beside its package; empty if nothing.
    #[must_use]
    pub fn history(&self) -> Vec<u8> {
        let history = self.deployed.as_ref().and_then(|deployed| deployed.application.history.as_ref());
        history.map_or_else(Vec::new, History::encode)
    }

    /// Whether stored bytes are what was sealed for a place: a block of a segment, its header (block 2³²−1), its liveness
    /// (2³²−2), or an operation (segment and block 2³²−1). Nothing of them is read.
    #[must_use]
    #[wasm_bindgen(js_name = isSealed)]
    pub fn is_sealed(&self, key: &str, segment: u32, block: u32, stored: &[u8]) -> bool {
        brooklet_segment::is_sealed(key, segment, block, stored)
    }

    /// Begins a task (docs/abi.md, task kinds). `input` is what a task keeps that is large.
    ///
    /// # Errors
    /// A rejection as JSON.
    pub fn open(&mut self, kind: u32, request: &[u8], input: Option<Vec<u8>>) -> Result<Task, JsValue> {
        let input = input.unwrap_or_default();
        comes_in(request.len() + input.len());
        self.try_open(kind, request, input).map_err(|rejection| throwable(&rejection))
    }

    /// Opens a query.
    ///
    /// # Errors
    /// A rejection as JSON, if nothing is deployed.
    pub fn query(&self, request: &[u8]) -> Result<Query, JsValue> {
        let deployed = self.deployed().map_err(|rejection| throwable(&rejection))?;
        let query = CoreQuery::open(deployed, self.residency.clone(), request);
        query.map(|query| Query(Rc::new(query))).map_err(|rejection| throwable(&rejection))
    }

    /// Numbers for the operator, and the limits the host must know, as JSON.
    #[must_use]
    pub fn statistics(&self) -> String {
        let numbers = self.residency.borrow().statistics();
        let mut json = JsonWriter::new();
        json.begin_object();
        for (name, value) in [
            ("blockBytes", numbers.block_bytes as i64),
            ("blocks", numbers.blocks as i64),
            ("budgetBytes", numbers.budget_bytes as i64),
            ("partitions", numbers.partitions as i64),
            ("partitionBytes", numbers.partition_bytes as i64),
            ("hits", numbers.hits as i64),
            ("misses", numbers.misses as i64),
            ("queriesCompiled", numbers.compiled as i64),
            ("runsMatched", numbers.matched as i64),
            ("documentBytesMax", limits::DOCUMENT_BYTES as i64),
            ("idBytesMax", limits::ID_BYTES as i64),
            ("groupBytesMax", limits::GROUP_BYTES as i64),
            ("queryBytesMax", limits::QUERY_BYTES as i64),
            ("timeoutMaxMs", i64::from(limits::TIMEOUT_MAX_MS)),
        ] {
            json.key(name);
            json.integer(value);
        }
        json.end_object();
        json.finish()
    }
}

/// What is said of a number that is no kind of task here.
fn unknown_kind(kind: u32) -> Rejection {
    Rejection::new(Code::BadRequest, format!("Unknown kind of task {kind}"))
}

/// Texts with bytes: the files of a package by path, outlines of models by address.
fn named_contents(reader: &mut Reader) -> Result<Vec<(String, Vec<u8>)>, Rejection> {
    let count = reader.count(2)?;
    (0..count).map(|_| Ok((reader.text()?.to_owned(), reader.bytes()?.to_vec()))).collect()
}

impl Core {
    fn try_deploy(&self, package: &[u8]) -> Result<(Deployed, String), Rejection> {
        let mut reader = Reader::new(package);
        let files = named_contents(&mut reader)?;
        let models = if reader.remaining() > 0 { named_contents(&mut reader)? } else { Vec::new() };
        let beside = if reader.remaining() > 0 { named_contents(&mut reader)? } else { Vec::new() };
        reader.end()?;
        let is_stored = beside.iter().any(|(name, _)| name == "history" || name == "stored");
        let read = if is_stored { Application::restore } else { Application::deploy_with };
        let mut application = read(&files, &models)?;
        let change = self.change_to(&mut application, &beside)?;
        application.warnings.extend(change.notes.iter().cloned());
        let mut deployed = if is_stored { Deployed::restore(application) } else { Deployed::compile(application)? };
        let report = deployed.application.report_of(&change);
        deployed.seal_key = self.seal_key;
        Ok((deployed, report))
    }

    /// What an application changes of the one deployed now, by what the host says beside the package: what is remembered of
    /// earlier deployments (it was looked at before, and the host acted on what it was told), or the number that this one
    /// will have and the day.
    fn change_to(&self, application: &mut Application, beside: &[(String, Vec<u8>)]) -> Result<Change, Rejection> {
        let of = |name: &str| beside.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes.as_slice());
        if let Some(history) = of("history") {
            application.remember(History::decode(history)?);
            return Ok(Change::default());
        }
        if of("stored").is_some() {
            return Ok(Change::default());
        }
        let number = |name: &str| of(name).map(|bytes| Reader::new(bytes).u32()).transpose();
        let (deployment, today) = (number("deployment")?, number("day")?.map(i64::from));
        let current = self.deployed.as_ref().map(|deployed| &deployed.application);
        if let Some(today) = today {
            application.check_overrides(today)?;
        }
        let change = current.map(|current| current.change_to(application, today)).transpose()?;
        let change = change.unwrap_or_default();
        match deployment {
            Some(number) => {
                let history = History::after(current, application, number);
                application.remember(history);
            }
            // Nobody looks whether there are values.
            None => change.demand_nothing()?,
        }
        Ok(change)
    }

    fn deployed(&self) -> Result<Rc<Deployed>, Rejection> {
        self.deployed.clone().ok_or_else(|| Rejection::new(Code::BadRequest, "No application is deployed"))
    }

    fn try_open(&self, kind: u32, request: &[u8], input: Vec<u8>) -> Result<Task, Rejection> {
        let kind = TaskKind::from_number(kind).ok_or_else(|| unknown_kind(kind))?;
        let (deployed, residency) = (self.deployed(), self.residency.clone());
        let inner = match kind {
            // Nothing of the application is asked for it.
            TaskKind::Split => Inner::Done(split(&input)?),
            TaskKind::Encode => {
                let (deployed, mut reader) = (deployed?, Reader::new(request));
                let time = reader.u64()?;
                let request = OperationRequest::read(reader.raw(reader.remaining())?)?;
                Inner::Done(encode(&deployed.application, &request, time)?.to_bytes())
            }
            TaskKind::Embeddings => {
                let (deployed, request) = (deployed?, OperationRequest::read(request)?);
                Inner::Done(write_wanted(&embeddings_wanted(&deployed.application, &request)?))
            }
            TaskKind::Get => {
                Inner::Running(Box::new(Get::open(&*deployed?, residency, self.outlines.clone(), request)?))
            }
            TaskKind::Compact => Inner::Running(Box::new(Compact::open(&deployed?.application, request, self.bounds)?)),
            TaskKind::Mutate => {
                Inner::Running(Box::new(Mutate::open(&deployed?.application, self.outlines.clone(), request)?))
            }
            TaskKind::Visit => Inner::Running(open_visit(deployed?, residency, request)?),
            TaskKind::Load => {
                Inner::Running(Box::new(Load::open(&deployed?.application, request, input, self.bounds)?))
            }
            TaskKind::Evaluate => Inner::Running(Box::new(Evaluate::open(&*deployed?, request)?)),
            TaskKind::Search | TaskKind::Merge | TaskKind::Part => return Err(unknown_kind(kind.number())),
        };
        Ok(Task::new(inner))
    }
}

#[wasm_bindgen]
impl Query {
    /// What the host must know of it: its scope, and the texts to embed.
    #[must_use]
    pub fn description(&self) -> Vec<u8> {
        self.0.description()
    }

    /// The answer, if it is refused whatever is stored.
    #[must_use]
    pub fn refusal(&self) -> Option<Vec<u8>> {
        self.0.refusal()
    }

    /// Milliseconds it may take; as many as there are if it is refused.
    #[must_use]
    pub fn timeout(&self) -> u32 {
        self.0.timeout_ms()
    }

    /// The value of a parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.0.parameter(name).map(str::to_owned)
    }

    /// Takes the embeddings of its texts.
    ///
    /// # Errors
    /// A rejection as JSON.
    pub fn give_embeddings(&self, embeddings: &[u8]) -> Result<(), JsValue> {
        self.0.give_embeddings(embeddings).map_err(|rejection| throwable(&rejection))
    }

    /// Takes outputs of models.
    ///
    /// # Errors
    /// A rejection as JSON.
    pub fn give_outputs(&self, outputs: &[u8]) -> Result<(), JsValue> {
        self.0.give_outputs(outputs).map_err(|rejection| throwable(&rejection))
    }

    /// Begins a task of it (docs/abi.md, task kinds).
    ///
    /// # Errors
    /// A rejection as JSON.
    pub fn open(&self, kind: u32, request: &[u8]) -> Result<Task, JsValue> {
        let task: Result<Box<dyn CoreTask>, Rejection> = match TaskKind::from_number(kind) {
            Some(TaskKind::Search) => self.0.search(request).map(|search| Box::new(search) as Box<dyn CoreTask>),
            Some(TaskKind::Merge) => self.0.merge(request).map(|merge| Box::new(merge) as Box<dyn CoreTask>),
            Some(TaskKind::Part) => self.0.part(request).map(|part| Box::new(part) as Box<dyn CoreTask>),
            _ => Err(unknown_kind(kind)),
        };
        task.map(|task| Task::new(Inner::Running(task))).map_err(|rejection| throwable(&rejection))
    }
}

impl Task {
    fn new(inner: Inner) -> Task {
        Task { inner: Some(inner), incoming: None, piece: Vec::new(), pieces: Vec::new().into_iter() }
    }
}

#[wasm_bindgen]
impl Task {
    /// Works until something is lacking; `undefined` means: finish me.
    ///
    /// # Errors
    /// A rejection as JSON.
    pub fn wants(&mut self) -> Result<Option<Vec<u8>>, JsValue> {
        let Some(Inner::Running(task)) = &mut self.inner else { return Ok(None) };
        let want = task.wants().map_err(|rejection| throwable(&rejection))?;
        Ok(encode_want(&want))
    }

    /// A place of `length` bytes for the next answer.
    pub fn buffer(&mut self, length: usize) -> *const u8 {
        comes_in(length);
        let block = self.incoming.insert(Block::to_overwrite(length));
        block.bytes_mut().as_ptr()
    }

    /// Takes the answer written to the buffer.
    ///
    /// # Errors
    /// A rejection as JSON, for damaged bytes.
    pub fn give(&mut self) -> Result<(), JsValue> {
        let (Some(Inner::Running(task)), Some(block)) = (&mut self.inner, self.incoming.take()) else {
            return Err(throwable(&Rejection::new(Code::Internal, "An answer nobody waits for")));
        };
        task.give(block).map_err(|rejection| throwable(&rejection))
    }

    /// Tells how long the request took so far, for answers that say it.
    pub fn elapsed(&mut self, milliseconds: f64) {
        if let Some(Inner::Running(task)) = &mut self.inner {
            task.elapsed(milliseconds);
        }
    }

    /// The result; called early, what the task makes of being out of time.
    ///
    /// # Errors
    /// A rejection as JSON.
    pub fn finish(&mut self) -> Result<Vec<u8>, JsValue> {
        match self.inner.take() {
            Some(Inner::Done(result)) => Ok(result),
            Some(Inner::Running(task)) => task.finish().map_err(|rejection| throwable(&rejection)),
            None => Err(throwable(&Rejection::new(Code::Internal, "The task was finished before"))),
        }
    }

    /// The same for a large result, which stays here in pieces that follow each other; how many bytes they have together. The host
    /// copies one after the other to memory it has already.
    ///
    /// # Errors
    /// A rejection as JSON.
    pub fn finish_in_pieces(&mut self) -> Result<usize, JsValue> {
        let pieces = match self.inner.take() {
            Some(Inner::Done(result)) => vec![result],
            Some(Inner::Running(task)) => task.finish_in_pieces().map_err(|rejection| throwable(&rejection))?,
            None => return Err(throwable(&Rejection::new(Code::Internal, "The task was finished before"))),
        };
        self.pieces = pieces.into_iter();
        Ok(self.pieces.as_slice().iter().map(Vec::len).sum())
    }

    /// Where the next piece stands, [`Task::piece_length`] bytes, until this is called again: then it is let go of. At the end there
    /// is one of no bytes.
    pub fn next_piece(&mut self) -> *const u8 {
        // Before the next one is looked for: who has little memory may need it at once.
        self.piece = Vec::new();
        self.piece = self.pieces.find(|piece| !piece.is_empty()).unwrap_or_default();
        self.piece.as_ptr()
    }

    /// Length of the piece.
    #[must_use]
    pub fn piece_length(&self) -> usize {
        self.piece.len()
    }
}

/// A want as bytes (docs/abi.md, wants).
fn encode_want(want: &Want) -> Option<Vec<u8>> {
    let mut writer = Writer::new();
    match want {
        Want::Nothing => return None,
        Want::Pause => writer.u8(1),
        Want::Manifest { layout, operation } => {
            writer.u8(2);
            writer.u32(*layout);
            writer.u64(*operation);
        }
        Want::Blocks(blocks) => {
            writer.u8(3);
            writer.varint(blocks.len() as u64);
            for block in blocks {
                writer.u32(block.segment);
                writer.u32(block.block);
            }
        }
        Want::Operation(number) => {
            writer.u8(5);
            writer.u64(*number);
        }
        Want::ModelRuns { anew, runs } => {
            writer.u8(6);
            writer.u8(u8::from(*anew));
            writer.raw(runs);
        }
        Want::Zone { name, at } => {
            writer.u8(4);
            writer.text(name);
            writer.u64(*at as u64);
        }
    }
    Some(writer.finish())
}

/// A rejection as it is thrown: JSON text.
fn throwable(rejection: &Rejection) -> JsValue {
    let mut json = JsonWriter::new();
    json.begin_object();
    json.key("code");
    json.string(rejection.code.name());
    json.key("number");
    json.integer(i64::from(rejection.code.number()));
    json.key("status");
    json.integer(i64::from(rejection.code.status()));
    json.key("message");
    json.string(&rejection.message);
    if let Some(span) = rejection.span {
        json.key("line");
        json.integer(i64::from(span.line));
        json.key("column");
        json.integer(i64::from(span.column));
    }
    json.end_object();
    JsValue::from_str(&json.finish())
}
