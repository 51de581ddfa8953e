//! A host of the core in memory: what TypeScript and SQLite are in the product, in a few lines for tests. It stores
//! what it is told to, answers wants, and can fold, compact and forget at any time.
#![allow(dead_code, reason = "every test uses another part of it")]

pub mod model_runs;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use brooklet_feed::{Bounds, Compact, Mutate, Outlines};
use brooklet_schema::Application;
use brooklet_search::{Deployed, Get, Query, Residency, Search, Visit};
use brooklet_segment::PartitionVersion;
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Rejection, Task, Want};
use serde_json::Value;

struct StoredSegment {
    header: Vec<u8>,
    liveness: Vec<u8>,
    blocks: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Partition {
    layout: u32,
    segments: BTreeMap<u32, StoredSegment>,
    operations: BTreeMap<u64, Vec<u8>>,
}

/// An answer of the core.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The body as it was rendered; CBOR, and what is no answer (status 0), in hexadecimal digits.
    pub body: String,
    /// The same body, read, if it is JSON.
    pub json: Value,
    pub bytes_read: u64,
}

impl Answer {
    fn new(status: u16, content_type: &str, body: &[u8], bytes_read: u64) -> Answer {
        let body = if content_type.starts_with("application/cbor") || status == 0 {
            body.iter().map(|byte| format!("{byte:02x}")).collect()
        } else {
            String::from_utf8(body.to_vec()).unwrap()
        };
        Answer { status, json: serde_json::from_str(&body).unwrap_or_default(), body, bytes_read }
    }
}

/// What models make of the runs that a query wants (docs/abi.md, runs of models).
pub type Models<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

/// How far the search of a partition came.
pub enum SearchStage {
    Answered(Box<Answer>),
    Waiting(Box<WaitingSearch>),
}

/// A search that waits for outputs of models.
pub struct WaitingSearch {
    search: Search,
    /// The partition's, when it was searched.
    layout: u32,
    /// The models that it waits for.
    pub runs: Vec<u8>,
}

/// Models that a task waits for.
#[derive(Debug, PartialEq, Eq)]
struct Lacking {
    anew: bool,
    runs: Vec<u8>,
}

fn run_none(_: &[u8]) -> Vec<u8> {
    panic!("the host of this test runs no models")
}

/// What a page of a visit asks for.
#[derive(Clone, Debug)]
pub struct VisitRequest<'a> {
    pub after: &'a str,
    pub types: &'a [&'a str],
    pub namespace: &'a str,
    pub selection: &'a str,
    pub field_set: &'a str,
    pub tensors: &'a str,
    /// 0 JSON, 1 JSON lines, 2 ids.
    pub format: u8,
    pub documents_max: u32,
    pub bytes_max: u32,
    /// µs since the epoch.
    pub from: u64,
    pub to: u64,
    pub includes_removes: bool,
}

impl Default for VisitRequest<'_> {
    fn default() -> Self {
        VisitRequest {
            after: "",
            types: &["mail", "note"],
            namespace: "",
            selection: "",
            field_set: "",
            tensors: "",
            format: 0,
            documents_max: 1_000,
            bytes_max: 1 << 20,
            from: 0,
            to: 0,
            includes_removes: false,
        }
    }
}

/// A page of a visit.
#[derive(Debug, PartialEq, Eq)]
pub struct VisitPage {
    pub complete: bool,
    pub last: String,
    pub documents: u32,
    pub body: Vec<u8>,
}

impl VisitPage {
    fn read(result: &[u8]) -> VisitPage {
        let mut reader = Reader::new(result);
        let complete = reader.u8().unwrap() == 1;
        let last = reader.text().unwrap().to_owned();
        let documents = reader.u32().unwrap();
        reader.u64().unwrap();
        let body = reader.bytes().unwrap().to_vec();
        reader.end().unwrap();
        VisitPage { complete, last, documents, body }
    }

    /// The documents of a page in JSON.
    pub fn json(&self) -> Vec<Value> {
        serde_json::from_str(&format!("[{}]", std::str::from_utf8(&self.body).unwrap())).unwrap()
    }
}

/// An operation on a document.
#[derive(Clone, Debug, Default)]
pub struct Write<'a> {
    /// 1 put, 2 update, 3 remove.
    pub kind: u8,
    pub id: &'a str,
    pub body: &'a str,
    pub condition: &'a str,
    /// `create` as the URL says it.
    pub create: Option<bool>,
}

/// The host.
pub struct Host {
    pub deployed: Rc<Deployed>,
    residency: Rc<RefCell<Residency>>,
    outlines: Rc<RefCell<Outlines>>,
    /// Of its store; another after the store was erased.
    incarnation: u32,
    /// Bytes that tasks were given of manifests and tails.
    pub given: Cell<usize>,
    partitions: BTreeMap<String, Partition>,
    next_operation: u64,
    next_segment: u32,
    next_layout: u32,
    /// The time of writes, µs since the epoch.
    pub now: u64,
    /// Removes before this are forgotten by the next compaction.
    pub forget_before: u64,
}

impl Host {
    /// A host with these files deployed and this much room for resident blocks.
    pub fn new(files: &[(&str, &str)], cache_bytes: usize) -> Host {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        Host::of_files(files, cache_bytes)
    }

    /// The same of files that are no texts.
    pub fn of_files(files: Vec<(String, Vec<u8>)>, cache_bytes: usize) -> Host {
        let application = Application::deploy(&files).unwrap_or_else(|rejection| panic!("{rejection}"));
        let deployed = Deployed::compile(application).unwrap_or_else(|rejection| panic!("{rejection}"));
        Host::of_deployed(deployed, cache_bytes)
    }

    /// The same with this deployed.
    pub fn of_deployed(deployed: Deployed, cache_bytes: usize) -> Host {
        Host {
            deployed: Rc::new(deployed),
            residency: Rc::new(RefCell::new(Residency::new(cache_bytes))),
            outlines: Rc::default(),
            incarnation: 1,
            given: Cell::new(0),
            partitions: BTreeMap::new(),
            next_operation: 1,
            next_segment: 1,
            next_layout: 1,
            now: 1_790_000_000_000_000,
            forget_before: 0,
        }
    }

    /// An empty store of its own that this one's core sees too: all numbers begin anew there.
    pub fn beside(&self) -> Host {
        Host {
            deployed: self.deployed.clone(),
            residency: self.residency.clone(),
            outlines: self.outlines.clone(),
            incarnation: self.incarnation + 1,
            given: Cell::new(0),
            partitions: BTreeMap::new(),
            next_operation: 1,
            next_segment: 1,
            next_layout: 1,
            now: self.now,
            forget_before: 0,
        }
    }

    /// Schema and services of one streaming type.
    pub fn with_schema(name: &str, sd: &str) -> Host {
        Host::new(&[("services.xml", &services(&[name])), (&format!("schemas/{name}.sd"), sd)], 64 << 20)
    }

    /// A put; the rejection if it was refused.
    pub fn put(&mut self, id: &str, fields: &str) -> Result<(), Rejection> {
        self.write(&Write { kind: 1, id, body: &format!("{{\"fields\":{fields}}}"), ..Write::default() })
    }

    /// A remove.
    pub fn remove(&mut self, id: &str) -> Result<(), Rejection> {
        self.write(&Write { kind: 3, id, ..Write::default() })
    }

    /// Any operation; the rejection if it was refused.
    pub fn write(&mut self, write: &Write) -> Result<(), Rejection> {
        let key = brooklet_document::DocumentId::parse(write.id)?.partition_key();
        let mut writer = Writer::new();
        self.place(&key).write(&mut writer);
        writer.u64(self.now);
        writer.bytes(&[]);
        writer.u8(write.kind);
        writer.text("/document/v1/x");
        writer.text(write.id);
        writer.u8(write.create.map_or(0, |create| if create { 1 } else { 2 }));
        writer.text(write.condition);
        writer.bytes(write.body.as_bytes());
        writer.bytes(&[]);
        let mut task = Box::new(Mutate::open(&self.deployed.application, self.outlines.clone(), &writer.finish())?);
        self.drive(&key, &mut *task)?;
        let result = task.finish()?;
        let mut reader = Reader::new(&result);
        reader.u8()?;
        let operation = reader.bytes()?;
        if operation.is_empty() {
            return Ok(());
        }
        let layout = self.next_layout;
        let partition = self.partitions.entry(key).or_insert_with(|| {
            self.next_layout += 1;
            Partition { layout, ..Partition::default() }
        });
        partition.operations.insert(self.next_operation, operation.to_vec());
        self.next_operation += 1;
        Ok(())
    }

    fn place(&self, key: &str) -> PartitionVersion {
        let partition = self.partitions.get(key);
        PartitionVersion {
            incarnation: self.incarnation,
            partition: u32::from(partition.is_some()),
            key: key.to_owned(),
            layout: partition.map_or(0, |partition| partition.layout),
            operation: partition.and_then(|p| p.operations.keys().last().copied()).unwrap_or(0),
        }
    }

    /// Answers the wants of a task until it wants nothing.
    fn drive(&self, key: &str, task: &mut dyn Task) -> Result<(), Rejection> {
        let lacking = self.advance(key, task)?;
        assert_eq!(lacking, None, "the host of this test runs no models");
        Ok(())
    }

    /// The same, or until it wants models to be run.
    fn advance(&self, key: &str, task: &mut dyn Task) -> Result<Option<Lacking>, Rejection> {
        let lacking = self.drive_for(key, task, 1_000_000)?;
        if lacking.is_none() {
            assert_eq!(task.wants()?, Want::Nothing, "the task does not end");
        }
        Ok(lacking)
    }

    /// Answers so many wants at most. The models that it wants to be run, if it came to that.
    fn drive_for(&self, key: &str, task: &mut dyn Task, steps: usize) -> Result<Option<Lacking>, Rejection> {
        for _ in 0..steps {
            match task.wants()? {
                Want::Nothing => return Ok(None),
                Want::Pause => {}
                // A host that knows one zone.
                Want::Zone { name, .. } => {
                    let offset = (name == "Europe/Oslo").then(|| 7_200i32.to_le_bytes());
                    task.give(Block::copy_of(offset.as_ref().map_or(&[][..], |offset| offset)))?;
                }
                Want::Manifest { layout, operation } => {
                    let manifest = self.manifest(key, layout, operation);
                    self.given.set(self.given.get() + manifest.len());
                    task.give(Block::copy_of(&manifest))?;
                }
                Want::Operation(number) => {
                    let stored = &self.partitions[key].operations[&number];
                    self.given.set(self.given.get() + stored.len());
                    task.give(Block::copy_of(stored))?;
                }
                Want::Blocks(blocks) => {
                    assert!(!blocks.is_empty(), "a task that wants no blocks at all would never end");
                    for block in blocks {
                        let segment = &self.partitions[key].segments[&block.segment];
                        task.give(Block::copy_of(&segment.blocks[block.block as usize]))?;
                    }
                }
                Want::ModelRuns { anew, runs } => return Ok(Some(Lacking { anew, runs })),
            }
        }
        Ok(None)
    }

    fn manifest(&self, key: &str, layout: u32, operation: u64) -> Vec<u8> {
        let partition = &self.partitions[key];
        let changed = partition.layout != layout;
        let mut writer = Writer::new();
        writer.u32(partition.layout);
        writer.u8(u8::from(changed));
        if changed {
            writer.varint(partition.segments.len() as u64);
            for (number, segment) in &partition.segments {
                writer.u32(*number);
                writer.bytes(&segment.header);
                writer.bytes(&segment.liveness);
            }
        }
        let after = if changed { 0 } else { operation };
        let operations: Vec<_> = partition.operations.range(after + 1..).collect();
        writer.varint(operations.len() as u64);
        for (number, bytes) in operations {
            writer.u64(*number);
            writer.bytes(bytes);
        }
        writer.finish()
    }

    /// A search in a group (`g:alice`), with these parameters.
    pub fn search(&self, key: &str, parameters: &[(&str, &str)]) -> Answer {
        let (kind, name) = key.split_once(':').unwrap_or(("g", key));
        let scope = if kind == "n" { "streaming.userid" } else { "streaming.groupname" };
        let mut all = vec![(scope, name)];
        all.extend_from_slice(parameters);
        self.search_raw(key, &all, "")
    }

    /// A search with exactly these parameters and this body.
    pub fn search_raw(&self, key: &str, parameters: &[(&str, &str)], body: &str) -> Answer {
        self.search_accepting(key, parameters, body, "")
    }

    /// The same with this `Accept` header.
    pub fn search_accepting(&self, key: &str, parameters: &[(&str, &str)], body: &str, accept: &str) -> Answer {
        self.answer(&self.query(parameters, body, accept), key, &run_none)
    }

    /// Opens a query.
    pub fn query(&self, parameters: &[(&str, &str)], body: &str, accept: &str) -> Rc<Query> {
        let mut writer = Writer::new();
        writer.u64(1_790_000_000);
        writer.varint(parameters.len() as u64);
        for (name, value) in parameters {
            writer.text(name);
            writer.text(value);
        }
        writer.text(body);
        writer.text(accept);
        Rc::new(Query::open(self.deployed.clone(), self.residency.clone(), &writer.finish()).unwrap())
    }

    /// The answer of a query in one partition.
    pub fn answer(&self, query: &Rc<Query>, key: &str, models: Models<'_>) -> Answer {
        let mut stage = self.go_on(query, key, None);
        loop {
            match stage {
                SearchStage::Answered(answer) => return *answer,
                SearchStage::Waiting(search) => {
                    let outputs = models(&search.runs);
                    stage = self.go_on(query, key, Some((search, &outputs)));
                }
            }
        }
    }

    /// Searches a partition as far as it comes. A search that waited for models goes on with their outputs; where the
    /// layout of the partition is another by now, one is begun anew, for which the query has them.
    pub fn go_on(&self, query: &Rc<Query>, key: &str, waited: Option<(Box<WaitingSearch>, &[u8])>) -> SearchStage {
        let layout = self.place(key).layout;
        let begin = || query.search(&self.place_bytes(key)).unwrap();
        let mut search = match waited {
            None => begin(),
            Some((waited, outputs)) if waited.layout == layout => {
                let mut search = waited.search;
                search.give(Block::copy_of(outputs)).unwrap();
                search
            }
            Some((_, outputs)) => {
                query.give_outputs(outputs).unwrap();
                begin()
            }
        };
        match self.advance(key, &mut search).unwrap_or_else(|rejection| panic!("{rejection}")) {
            None => SearchStage::Answered(Box::new(rendered(&Box::new(search).finish().unwrap()))),
            Some(Lacking { anew, runs }) => {
                assert!(!anew, "what one partition found is not found again");
                SearchStage::Waiting(Box::new(WaitingSearch { search, layout, runs }))
            }
        }
    }

    fn place_bytes(&self, key: &str) -> Vec<u8> {
        let mut writer = Writer::new();
        self.place(key).write(&mut writer);
        writer.finish()
    }

    /// A search whose clock jumps to `late_ms` after so many wants.
    pub fn search_late(&self, key: &str, parameters: &[(&str, &str)], steps: usize, late_ms: f64) -> Answer {
        let mut search = self.query(parameters, "", "").search(&self.place_bytes(key)).unwrap();
        self.drive_for(key, &mut search, steps).unwrap_or_else(|rejection| panic!("{rejection}"));
        search.elapsed(late_ms);
        self.drive(key, &mut search).unwrap_or_else(|rejection| panic!("{rejection}"));
        rendered(&Box::new(search).finish().unwrap())
    }

    /// A search as the gateway holds it: of the partitions its scope names, `at_once` of them between two merges.
    pub fn search_scoped(&self, parameters: &[(&str, &str)], body: &str, accept: &str, at_once: usize) -> Answer {
        self.answer_scoped(&self.query(parameters, body, accept), at_once, &run_none)
    }

    /// The answer of a query in the partitions its scope names. What they found is found again when its models have run.
    pub fn answer_scoped(&self, query: &Rc<Query>, at_once: usize, models: Models<'_>) -> Answer {
        let description = query.description();
        let mut reader = Reader::new(&description);
        let keys: Vec<String> = match reader.u8().unwrap() {
            0 => return rendered(reader.bytes().unwrap()),
            1 => (0..reader.count(1).unwrap()).map(|_| reader.text().unwrap().to_owned()).collect(),
            _ => self.partitions.keys().cloned().collect(),
        };
        loop {
            let found = self.found(query, &keys, at_once);
            let mut merge = query.merge(&merge_request(&[], &found, true, 0)).unwrap();
            loop {
                match self.advance("", &mut merge).unwrap_or_else(|rejection| panic!("{rejection}")) {
                    None => return rendered(&Box::new(merge).finish().unwrap()),
                    Some(Lacking { anew, runs }) => {
                        let outputs = models(&runs);
                        if anew {
                            query.give_outputs(&outputs).unwrap();
                            break;
                        }
                        merge.give(Block::copy_of(&outputs)).unwrap();
                    }
                }
            }
        }
    }

    /// What partitions find, merged.
    fn found(&self, query: &Rc<Query>, keys: &[String], at_once: usize) -> Vec<Vec<u8>> {
        let (mut floor, mut merged) = (Vec::new(), Vec::new());
        for some in keys.chunks(at_once.max(1)) {
            let mut parts = vec![std::mem::take(&mut merged)];
            parts.extend(some.iter().map(|key| self.search_part(key, query, &floor).unwrap()));
            parts.retain(|part| !part.is_empty());
            let result = self.merge(query, &floor, &parts, false).unwrap();
            let mut reader = Reader::new(&result);
            reader.u8().unwrap();
            (floor, merged) = (reader.bytes().unwrap().to_vec(), reader.bytes().unwrap().to_vec());
        }
        if merged.is_empty() { Vec::new() } else { vec![merged] }
    }

    /// What one partition finds that comes before the floor.
    pub fn search_part(&self, key: &str, query: &Rc<Query>, floor: &[u8]) -> Result<Vec<u8>, Rejection> {
        let mut search = self.part(key, query, floor, None)?;
        self.drive(key, &mut search)?;
        Box::new(search).finish()
    }

    /// What a partition finds as one of the shards of its group.
    pub fn search_shard(&self, key: &str, query: &Rc<Query>, number: u32) -> Result<Vec<u8>, Rejection> {
        let mut search = self.part(key, query, &[], Some(number))?;
        self.drive(key, &mut search)?;
        Box::new(search).finish()
    }

    /// What shards agree on that counted these, as a query is given it; nothing where they lack nothing.
    pub fn agreed(&self, query: &Rc<Query>, parts: &[Vec<u8>]) -> Option<Vec<u8>> {
        let mut merge = query.merge(&merge_request(&[], parts, true, 0)).expect("good parts");
        match merge.wants().expect("good parts") {
            Want::ModelRuns { runs, .. } => Some(runs[1..].to_vec()),
            _ => None,
        }
    }

    fn part(&self, key: &str, query: &Rc<Query>, floor: &[u8], shard: Option<u32>) -> Result<Search, Rejection> {
        let mut writer = Writer::new();
        writer.bytes(floor);
        self.place(key).write(&mut writer);
        if let Some(number) = shard {
            writer.u32(number);
        }
        query.part(&writer.finish())
    }

    /// The same, where the clock jumps to `late_ms` after so many wants.
    pub fn search_part_late(&self, key: &str, query: &Rc<Query>, steps: usize, late_ms: f64) -> Vec<u8> {
        let mut search = self.part(key, query, &[], None).unwrap();
        self.drive_for(key, &mut search, steps).unwrap_or_else(|rejection| panic!("{rejection}"));
        search.elapsed(late_ms);
        self.drive(key, &mut search).unwrap_or_else(|rejection| panic!("{rejection}"));
        Box::new(search).finish().unwrap()
    }

    /// What partitions found, merged: as one result with its floor, or as the answer.
    pub fn merge(&self, query: &Rc<Query>, floor: &[u8], parts: &[Vec<u8>], whole: bool) -> Result<Vec<u8>, Rejection> {
        self.merge_damaged(query, floor, parts, whole, 0)
    }

    /// The same, where so many partitions more could not be searched.
    pub fn merge_damaged(
        &self,
        query: &Rc<Query>,
        floor: &[u8],
        parts: &[Vec<u8>],
        whole: bool,
        damaged: u32,
    ) -> Result<Vec<u8>, Rejection> {
        let mut merge = query.merge(&merge_request(floor, parts, whole, damaged))?;
        assert_eq!(merge.wants()?, Want::Nothing);
        Box::new(merge).finish()
    }

    /// The answer made of parts, when the query took so many milliseconds.
    pub fn answer_late(&self, query: &Rc<Query>, parts: &[Vec<u8>], elapsed_ms: f64) -> Answer {
        let mut merge = query.merge(&merge_request(&[], parts, true, 0)).unwrap();
        assert_eq!(merge.wants().unwrap(), Want::Nothing);
        merge.elapsed(elapsed_ms);
        rendered(&Box::new(merge).finish().unwrap())
    }

    /// Gets a document.
    pub fn get(&self, id: &str) -> Answer {
        self.get_as(id, "", "")
    }

    /// Gets the fields of a field set, with tensors in a format.
    pub fn get_as(&self, id: &str, field_set: &str, tensors: &str) -> Answer {
        let key = key_of(id);
        let mut writer = Writer::new();
        self.place(&key).write(&mut writer);
        for text in ["/document/v1/x", id, field_set, tensors] {
            writer.text(text);
        }
        let mut get =
            Get::open(&self.deployed, self.residency.clone(), self.outlines.clone(), &writer.finish()).unwrap();
        self.drive(&key, &mut get).unwrap_or_else(|rejection| panic!("{rejection}"));
        let result = Box::new(get).finish().unwrap();
        let mut reader = Reader::new(&result);
        let status = reader.u16().unwrap();
        Answer::new(status, "application/json", reader.bytes().unwrap(), 0)
    }

    /// A page of a visit of a partition; the rejection if it was refused.
    pub fn visit(&self, key: &str, request: &VisitRequest) -> Result<VisitPage, Rejection> {
        self.visit_for(key, request, usize::MAX)
    }

    /// A page of a visit that is cut after so many steps.
    pub fn visit_for(&self, key: &str, request: &VisitRequest, steps: usize) -> Result<VisitPage, Rejection> {
        let mut writer = Writer::new();
        self.place(key).write(&mut writer);
        writer.u64(1_790_000_000);
        writer.text(request.after);
        writer.varint(request.types.len() as u64);
        request.types.iter().for_each(|name| writer.text(name));
        for text in [request.namespace, request.selection, request.field_set, request.tensors] {
            writer.text(text);
        }
        writer.u8(request.format);
        writer.u32(request.documents_max);
        writer.u32(request.bytes_max);
        writer.u64(request.from);
        writer.u64(request.to);
        writer.u8(u8::from(request.includes_removes));
        let mut visit = Visit::open(self.deployed.clone(), self.residency.clone(), &writer.finish())?;
        self.drive_for(key, &mut visit, steps)?;
        Ok(VisitPage::read(&Box::new(visit).finish()?))
    }

    /// Compacts a partition: 1 folds its tail, 2 rewrites, 3 settles. Says whether there was anything to do.
    pub fn compact(&mut self, key: &str, reason: u8) -> bool {
        if !self.partitions.contains_key(key) {
            return false;
        }
        let mut writer = Writer::new();
        self.place(key).write(&mut writer);
        writer.u8(reason);
        writer.u32(self.next_segment);
        writer.u64(self.forget_before);
        let mut compact = Compact::open(&self.deployed.application, &writer.finish(), Bounds::default()).unwrap();
        self.drive(key, &mut compact).unwrap_or_else(|rejection| panic!("{rejection}"));
        let change = Box::new(compact).finish().unwrap();
        if change.is_empty() {
            return false;
        }
        self.commit(key, &change);
        true
    }

    fn commit(&mut self, key: &str, change: &[u8]) {
        let partition = self.partitions.get_mut(key).unwrap();
        let mut reader = Reader::new(change);
        let operation = reader.u64().unwrap();
        partition.operations.retain(|number, _| *number > operation);
        for _ in 0..reader.varint().unwrap() {
            partition.segments.remove(&reader.u32().unwrap());
        }
        for _ in 0..reader.varint().unwrap() {
            let segment = reader.u32().unwrap();
            partition.segments.get_mut(&segment).unwrap().liveness = reader.bytes().unwrap().to_vec();
        }
        for _ in 0..reader.varint().unwrap() {
            let number = reader.u32().unwrap();
            reader.text().unwrap();
            reader.u32().unwrap();
            let (header, liveness) = (reader.bytes().unwrap().to_vec(), reader.bytes().unwrap().to_vec());
            let blocks = (0..reader.varint().unwrap()).map(|_| reader.bytes().unwrap().to_vec()).collect();
            partition.segments.insert(number, StoredSegment { header, liveness, blocks });
            self.next_segment = self.next_segment.max(number + 1);
        }
        assert_eq!(reader.u8().unwrap(), 0, "nothing is left for another compaction");
        reader.end().unwrap();
        partition.layout = self.next_layout + 1;
        self.next_layout += 1;
    }

    /// Lets go of the partitions in memory; their blocks stay, and can no longer be found.
    pub fn forget(&self) {
        self.residency.borrow_mut().forget_partitions();
    }

    /// How many queries were compiled until now, and how often documents of a schema were matched.
    pub fn counts(&self) -> (u64, u64) {
        let statistics = self.residency.borrow().statistics();
        (statistics.compiled, statistics.matched)
    }

    /// Flips a bit of a stored block.
    pub fn damage(&mut self, key: &str, segment_index: usize, block: usize, byte: usize) {
        let partition = self.partitions.get_mut(key).unwrap();
        let segment = partition.segments.values_mut().nth(segment_index).unwrap();
        segment.blocks[block][byte] ^= 1;
    }

    /// Segments and operations of a partition.
    pub fn shape(&self, key: &str) -> (usize, usize) {
        let partition = &self.partitions[key];
        (partition.segments.len(), partition.operations.len())
    }
}

fn merge_request(floor: &[u8], parts: &[Vec<u8>], whole: bool, damaged: u32) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u8(u8::from(whole));
    writer.bytes(floor);
    writer.varint(parts.len() as u64);
    parts.iter().for_each(|part| writer.bytes(part));
    writer.u32(damaged);
    writer.finish()
}

/// An answer that was rendered.
pub fn rendered(result: &[u8]) -> Answer {
    let mut reader = Reader::new(result);
    let status = reader.u16().unwrap();
    let content_type = reader.text().unwrap();
    let bytes_read = reader.u64().unwrap();
    reader.u64().unwrap();
    Answer::new(status, content_type, reader.bytes().unwrap(), bytes_read)
}

fn key_of(id: &str) -> String {
    brooklet_document::DocumentId::parse(id).unwrap().partition_key()
}

/// A services.xml with these streaming types in cluster `c`.
pub fn services(types: &[&str]) -> String {
    let documents: String =
        types.iter().map(|name| format!("<document type=\"{name}\" mode=\"streaming\"/>")).collect();
    format!(
        "<services version=\"1.0\"><container id=\"default\" version=\"1.0\"><search/><document-api/></container>\
         <content id=\"c\" version=\"1.0\"><redundancy>1</redundancy><documents>{documents}</documents>\
         <nodes><node hostalias=\"n\" distribution-key=\"0\"/></nodes></content></services>"
    )
}

/// The ids of an answer's hits, in order.
pub fn ids(answer: &Answer) -> Vec<String> {
    let children = answer.json["root"]["children"].as_array().cloned().unwrap_or_default();
    children.iter().map(|hit| hit["id"].as_str().unwrap_or_default().to_owned()).collect()
}
