//! A partition and what the host does with it: takes operations, answers a compaction's wants, commits its change.
#![allow(dead_code, reason = "every test uses another part of it")]

use std::collections::BTreeMap;

use brooklet_document::{Document, DocumentId};
use brooklet_feed::{Bounds, Compact, Load, OperationRequest, encode};
use brooklet_schema::Application;
use brooklet_segment::{
    BlockSource, HEADER_BLOCK, Halt, Header, Operation, PartitionVersion, REMOVED, StoredOperation, open, open_block,
    read_document, read_id, read_liveness, read_time,
};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, BlockRef, Rejection, Task, Want};

pub const KEY: &str = "g:u";

/// The time of everything that is loaded, µs.
pub const NOW: u64 = 1_700_000_000_000_000;
/// Other operations are a second apart, the first at one second after the epoch: µs.
pub const SECOND: u64 = 1_000_000;

/// What came of an operation of a feed.
#[derive(Clone, Debug, PartialEq)]
pub enum Loaded {
    /// It is loaded; with its flags.
    Done(u8),
    /// It is to be written by its own, with this condition beside its body.
    Later(String),
    /// Status, code and message of its refusal.
    Refused(u16, String, String),
}

/// A stored segment.
#[derive(Clone)]
pub struct Segment {
    pub schema: String,
    pub documents: u32,
    pub header: Vec<u8>,
    pub liveness: Vec<u8>,
    pub blocks: Vec<Vec<u8>>,
}

/// One partition of an application.
pub struct Host {
    pub application: Application,
    pub segments: BTreeMap<u32, Segment>,
    pub operations: BTreeMap<u64, Vec<u8>>,
    pub layout: u32,
    /// Removes before this are forgotten by the next compaction, µs since the epoch. The tests begin with all.
    pub forget_before: u64,
    /// Of every task that it opens.
    pub bounds: Bounds,
    /// The last change left something for another compaction.
    pub has_more: bool,
    next_operation: u64,
    next_segment: u32,
}

/// The application with these schemas of one streaming cluster.
pub fn application(schemas: &[(&str, &str)]) -> Application {
    let names: Vec<&str> = schemas.iter().map(|(name, _)| *name).collect();
    let mut files = vec![("services.xml".to_owned(), services(&names).into_bytes())];
    files.extend(schemas.iter().map(|(name, sd)| (format!("schemas/{name}.sd"), sd.as_bytes().to_vec())));
    Application::deploy(&files).unwrap_or_else(|rejection| panic!("{rejection}"))
}

/// services.xml of an application with documents of these types.
pub fn services(types: &[&str]) -> String {
    let documents: String =
        types.iter().map(|name| format!("<document type=\"{name}\" mode=\"streaming\"/>")).collect();
    format!(
        "<services version=\"1.0\"><container id=\"default\" version=\"1.0\"><search/><document-api/></container>\
         <content id=\"c\" version=\"1.0\"><redundancy>1</redundancy><documents>{documents}</documents>\
         <nodes><node hostalias=\"n\" distribution-key=\"0\"/></nodes></content></services>"
    )
}

struct Blocks<'a>(u32, &'a Segment);

impl BlockSource for Blocks<'_> {
    fn block(&mut self, number: u32) -> Result<Block, Halt> {
        Ok(open_block(KEY, self.0, number, Block::copy_of(&self.1.blocks[number as usize]))?)
    }
}

impl Host {
    pub fn new(application: Application) -> Host {
        Host {
            application,
            segments: BTreeMap::new(),
            operations: BTreeMap::new(),
            layout: 1,
            forget_before: u64::MAX,
            bounds: Bounds::default(),
            has_more: false,
            next_operation: 1,
            next_segment: 1,
        }
    }

    pub fn put(&mut self, id: &str, fields: &str) {
        self.operation(1, id, &format!("{{\"fields\":{fields}}}"));
    }

    pub fn remove(&mut self, id: &str) {
        self.operation(3, id, "");
    }

    fn operation(&mut self, kind: u8, id: &str, body: &str) {
        let request =
            OperationRequest { kind, id, create: None, condition: "", body: body.as_bytes(), embeddings: &[] };
        let encoded = encode(&self.application, &request, self.next_operation * SECOND)
            .unwrap_or_else(|rejection| panic!("{rejection}"));
        self.operations.insert(self.next_operation, encoded.operation);
        self.next_operation += 1;
    }

    pub fn open(&self, reason: u8) -> Compact {
        let mut writer = Writer::new();
        let operation = self.operations.keys().last().copied().unwrap_or(0);
        PartitionVersion { incarnation: 1, partition: 1, key: KEY.into(), layout: self.layout, operation }
            .write(&mut writer);
        writer.u8(reason);
        writer.u32(self.next_segment);
        writer.u64(self.forget_before);
        Compact::open(&self.application, &writer.finish(), self.bounds)
            .unwrap_or_else(|rejection| panic!("{rejection}"))
    }

    pub fn manifest(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u32(self.layout);
        writer.u8(1);
        writer.varint(self.segments.len() as u64);
        for (number, segment) in &self.segments {
            writer.u32(*number);
            writer.bytes(&segment.header);
            writer.bytes(&segment.liveness);
        }
        writer.varint(self.operations.len() as u64);
        for (number, bytes) in &self.operations {
            writer.u64(*number);
            writer.bytes(bytes);
        }
        writer.finish()
    }

    pub fn block(&self, place: BlockRef) -> Block {
        Block::copy_of(&self.segments[&place.segment].blocks[place.block as usize])
    }

    /// Loads operations as a feed has them: into segments, or as operations of the tail. What came of each.
    pub fn load(&mut self, operations: &[String], into_segments: bool) -> Vec<Loaded> {
        let mut writer = Writer::new();
        let operation = self.operations.keys().last().copied().unwrap_or(0);
        PartitionVersion { incarnation: 1, partition: 1, key: KEY.into(), layout: self.layout, operation }
            .write(&mut writer);
        writer.u64(NOW);
        writer.u32(if into_segments { self.next_segment } else { 0 });
        writer.varint(operations.len() as u64);
        let mut input = Writer::new();
        operations.iter().for_each(|operation| input.text(operation));
        let task = Load::open(&self.application, &writer.finish(), input.finish(), self.bounds);
        let mut task = task.unwrap_or_else(|rejection| panic!("{rejection}"));
        assert!(self.drive(&mut task, usize::MAX).unwrap_or_else(|rejection| panic!("{rejection}")));
        let result = Box::new(task).finish().unwrap_or_else(|rejection| panic!("{rejection}"));
        self.take_loaded(&result).unwrap_or_else(|rejection| panic!("{rejection}"))
    }

    fn take_loaded(&mut self, result: &[u8]) -> Result<Vec<Loaded>, Rejection> {
        let mut reader = Reader::new(result);
        let mut outcomes = Vec::new();
        for _ in 0..reader.varint()? {
            outcomes.push(match reader.u8()? {
                0 => Loaded::Done(reader.u8()?),
                1 => {
                    let kind = reader.u8()?;
                    let condition = reader.text()?.to_owned();
                    assert!((1..=3).contains(&kind) && reader.bytes()?.starts_with(b"{"));
                    Loaded::Later(condition)
                }
                _ => Loaded::Refused(reader.u16()?, reader.text()?.to_owned(), reader.text()?.to_owned()),
            });
        }
        match reader.u8()? {
            0 => {}
            1 => {
                self.read_change(reader.raw(reader.remaining())?)?;
                self.layout += 1;
            }
            _ => {
                for _ in 0..reader.varint()? {
                    reader.text()?;
                    self.operations.insert(self.next_operation, reader.bytes()?.to_vec());
                    self.next_operation += 1;
                }
            }
        }
        reader.end()?;
        Ok(outcomes)
    }

    /// Answers wants until the task is done, at most `steps` of them; says whether it is done.
    pub fn drive(&self, task: &mut dyn Task, steps: usize) -> Result<bool, Rejection> {
        for _ in 0..steps {
            match task.wants()? {
                Want::Nothing => return Ok(true),
                Want::Pause => {}
                Want::Zone { .. } | Want::ModelRuns { .. } => panic!("only a query wants this"),
                Want::Manifest { .. } => task.give(Block::copy_of(&self.manifest()))?,
                Want::Operation(number) => task.give(Block::copy_of(&self.operations[&number]))?,
                Want::Blocks(places) => {
                    assert!(!places.is_empty(), "a task that wants no blocks at all would never end");
                    for place in places {
                        task.give(self.block(place))?;
                    }
                }
            }
        }
        Ok(false)
    }

    /// Compacts, and says whether anything changed.
    pub fn compact(&mut self, reason: u8) -> bool {
        let mut task = self.open(reason);
        let done = self.drive(&mut task, usize::MAX).unwrap_or_else(|rejection| panic!("{rejection}"));
        assert!(done);
        self.commit(task)
    }

    /// Commits the change of a finished task.
    pub fn commit(&mut self, task: Compact) -> bool {
        let change = Box::new(task).finish().unwrap_or_else(|rejection| panic!("{rejection}"));
        if change.is_empty() {
            return false;
        }
        self.read_change(&change).unwrap_or_else(|rejection| panic!("{rejection}"));
        self.layout += 1;
        true
    }

    fn read_change(&mut self, change: &[u8]) -> Result<(), Rejection> {
        let mut reader = Reader::new(change);
        let operation = reader.u64()?;
        self.operations.retain(|number, _| *number > operation);
        for _ in 0..reader.varint()? {
            assert!(self.segments.remove(&reader.u32()?).is_some(), "a segment that is there goes");
        }
        for _ in 0..reader.varint()? {
            let number = reader.u32()?;
            self.segments.get_mut(&number).expect("a segment that stays").liveness = reader.bytes()?.to_vec();
        }
        for _ in 0..reader.varint()? {
            let number = reader.u32()?;
            assert_eq!(number, self.next_segment, "numbers are given in order");
            self.next_segment += 1;
            let segment = Segment {
                schema: reader.text()?.to_owned(),
                documents: reader.u32()?,
                header: reader.bytes()?.to_vec(),
                liveness: reader.bytes()?.to_vec(),
                blocks: (0..reader.varint()?)
                    .map(|_| Ok(reader.bytes()?.to_vec()))
                    .collect::<Result<_, Rejection>>()?,
            };
            self.segments.insert(number, segment);
        }
        self.has_more = reader.u8()? == 1;
        reader.end()
    }

    pub fn header(&self, number: u32) -> Header {
        let stored = open(KEY, number, HEADER_BLOCK, &self.segments[&number].header).expect("a sealed header");
        Header::decode(stored).expect("a header")
    }

    /// Documents and living documents of each segment, in the order of their numbers.
    pub fn shape(&self) -> Vec<(u32, u32)> {
        let of = |number: &u32| {
            let (header, segment) = (self.header(*number), &self.segments[number]);
            let alive = read_liveness(KEY, *number, header.documents, &segment.liveness).expect("liveness");
            assert_eq!((segment.documents, &segment.schema), (header.documents, &header.schema));
            (header.documents, alive.count() as u32)
        };
        self.segments.keys().map(of).collect()
    }

    /// The ids that segments know as removed, each with the second of its remove.
    pub fn removed(&self) -> Vec<(String, u64)> {
        let mut removed = Vec::new();
        for (number, segment) in self.segments.iter().filter(|(_, segment)| segment.schema == REMOVED) {
            let header = self.header(*number);
            let alive = read_liveness(KEY, *number, header.documents, &segment.liveness).expect("liveness");
            for ordinal in alive.ones() {
                let mut blocks = Blocks(*number, segment);
                let id = read_id(&header, ordinal as u32, &mut blocks).expect("an id");
                removed.push((id, read_time(&header, ordinal as u32, &mut blocks).expect("a time") / SECOND));
            }
        }
        removed.sort();
        removed
    }

    /// What the partition holds: living documents of segments, then the tail over them. No id lives in two segments.
    pub fn content(&self) -> BTreeMap<String, Document> {
        let mut content = BTreeMap::new();
        for (number, segment) in self.segments.iter().filter(|(_, segment)| segment.schema != REMOVED) {
            let header = self.header(*number);
            let alive = read_liveness(KEY, *number, header.documents, &segment.liveness).expect("liveness");
            for ordinal in alive.ones() {
                let mut blocks = Blocks(*number, segment);
                let document = read_document(&header, ordinal as u32, &|_| true, &mut blocks).expect("a document");
                assert_eq!(DocumentId::parse(&document.id).expect("an id").document_type(), segment.schema);
                assert!(content.insert(document.id.clone(), document).is_none(), "a document lives once");
            }
        }
        for bytes in self.operations.values() {
            match StoredOperation::decode(KEY, bytes).expect("an operation").operation {
                Operation::Put(document) => content.insert(document.id.clone(), document),
                Operation::Remove(id) => content.remove(&id),
            };
        }
        content
    }
}
