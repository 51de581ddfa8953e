//! A host of the core in memory: what TypeScript and SQLite are in the product, in a few lines for tests. It stores
//! what it is told to, answers wants, and can fold, compact and forget at any time.
#![allow(dead_code, unused_imports, reason = "every test uses another part of it")]

mod answer;
pub mod model_runs;
mod search;
mod visit;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use brooklet_feed::{Bounds, Compact, Mutate, Outlines};
use brooklet_schema::Application;
use brooklet_search::{Deployed, Residency};
use brooklet_segment::PartitionVersion;
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Rejection, Task, Want};

pub use answer::{Answer, ids, rendered};
pub use search::{SearchStage, WaitingSearch};
pub use visit::{VisitPage, VisitRequest};

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

/// What models make of the runs that a query wants (docs/abi.md, runs of models).
pub type Models<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

/// Models that a task waits for.
#[derive(Debug, PartialEq, Eq)]
struct Lacking {
    anew: bool,
    runs: Vec<u8>,
}

fn run_none(_: &[u8]) -> Vec<u8> {
    panic!("the host of this test runs no models")
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
        let mut task = self.open_write(&key, write)?;
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

    /// Any operation whose time is over before it is given anything: the rejection.
    pub fn write_late(&self, write: &Write) -> Rejection {
        let task = self.open_write(&key_of(write.id), write).unwrap();
        task.finish().unwrap_err()
    }

    fn open_write(&self, key: &str, write: &Write) -> Result<Box<Mutate>, Rejection> {
        let mut writer = Writer::new();
        self.place(key).write(&mut writer);
        writer.u64(self.now);
        writer.bytes(&[]);
        writer.u8(write.kind);
        writer.text("/document/v1/x");
        writer.text(write.id);
        writer.u8(write.create.map_or(0, |create| if create { 1 } else { 2 }));
        writer.text(write.condition);
        writer.bytes(write.body.as_bytes());
        writer.bytes(&[]);
        Ok(Box::new(Mutate::open(&self.deployed.application, self.outlines.clone(), &writer.finish())?))
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
                Want::ModelRuns { anew, runs } => return Ok(Some(Lacking { anew, runs })),
                want => self.satisfy(key, task, want)?,
            }
        }
        Ok(None)
    }

    /// Gives a task what it wants, unless that is nothing or a run of a model.
    fn satisfy(&self, key: &str, task: &mut dyn Task, want: Want) -> Result<(), Rejection> {
        match want {
            Want::Nothing | Want::Pause | Want::ModelRuns { .. } => {}
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
        }
        Ok(())
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

    /// Lets go of the partitions in memory, with their blocks.
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
