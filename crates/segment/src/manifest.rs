//! What the host tells of a partition, and what it is told to change (docs/abi.md).
use brooklet_kernel::Bitmap;
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use crate::block::{HEADER_BLOCK, LIVENESS_BLOCK, open, seal};
use crate::header::Header;

/// A partition among all that one instance of the core sees: its key, and in which incarnation of a store it stands. A store
/// that is opened again is another incarnation: what was erased or restored meanwhile may have the same numbers as before
/// (docs/decisions/0066).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionName {
    incarnation: u32,
    key: String,
}

/// Which partition a task is about, and how far the host has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionVersion {
    /// The incarnation of its store: a number that no other store has that this instance of the core sees.
    pub incarnation: u32,
    /// Its number in its bucket; 0 if it does not exist yet.
    pub partition: u32,
    /// Its key: `g:alice` or `n:17`.
    pub key: String,
    /// Its layout number.
    pub layout: u32,
    /// The last operation of its tail; 0 if the tail is empty.
    pub operation: u64,
}

impl PartitionName {
    /// Of a key in a store.
    #[must_use]
    pub fn new(incarnation: u32, key: &str) -> PartitionName {
        PartitionName { incarnation, key: key.to_owned() }
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl PartitionVersion {
    /// Reads the start of a request.
    ///
    /// # Errors
    /// If it is cut short.
    pub fn read(reader: &mut Reader<'_>) -> Result<PartitionVersion, Rejection> {
        Ok(PartitionVersion {
            incarnation: reader.u32()?,
            partition: reader.u32()?,
            key: reader.text()?.to_owned(),
            layout: reader.u32()?,
            operation: reader.u64()?,
        })
    }

    /// Writes the start of a request.
    pub fn write(&self, writer: &mut Writer) {
        writer.u32(self.incarnation);
        writer.u32(self.partition);
        writer.text(&self.key);
        writer.u32(self.layout);
        writer.u64(self.operation);
    }

    /// Under which name it is kept in memory.
    #[must_use]
    pub fn name(&self) -> PartitionName {
        PartitionName { incarnation: self.incarnation, key: self.key.clone() }
    }
}

/// A segment as the host stores it.
#[derive(Clone, Debug)]
pub struct StoredSegment {
    /// Its number in the bucket.
    pub number: u32,
    /// Its header.
    pub header: Header,
    /// Which ordinals are alive.
    pub liveness: Bitmap,
}

/// A partition's segments and tail.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Layout number.
    pub layout: u32,
    /// The segments by ascending number; nothing if they are those already known.
    pub segments: Option<Vec<StoredSegment>>,
    /// Later operations, ascending: number and stored bytes.
    pub operations: Vec<(u64, Vec<u8>)>,
}

impl Manifest {
    /// Reads the host's answer for the partition of this key.
    ///
    /// # Errors
    /// If a header or liveness is damaged, or of another partition.
    pub fn read(key: &str, bytes: &[u8]) -> Result<Manifest, Rejection> {
        let mut reader = Reader::new(bytes);
        let layout = reader.u32()?;
        let mut segments = None;
        if reader.u8()? == 1 {
            let mut list = Vec::new();
            for _ in 0..reader.count(6)? {
                let number = reader.u32()?;
                let header = Header::decode(open(key, number, HEADER_BLOCK, reader.bytes()?)?)?;
                let liveness = read_liveness(key, number, header.documents, reader.bytes()?)?;
                list.push(StoredSegment { number, header, liveness });
            }
            segments = Some(list);
        }
        let mut operations = Vec::new();
        for _ in 0..reader.count(9)? {
            operations.push((reader.u64()?, reader.bytes()?.to_vec()));
        }
        reader.end()?;
        Ok(Manifest { layout, segments, operations })
    }
}

/// A segment's liveness, sealed for its place.
#[must_use]
pub fn write_liveness(key: &str, segment: u32, liveness: &Bitmap) -> Vec<u8> {
    let mut bytes = Vec::new();
    liveness.write_bytes(&mut bytes);
    seal(key, segment, LIVENESS_BLOCK, bytes)
}

/// Reads what [`write_liveness`] wrote.
///
/// # Errors
/// If it is damaged or of another segment.
pub fn read_liveness(key: &str, segment: u32, documents: u32, stored: &[u8]) -> Result<Bitmap, Rejection> {
    let payload = open(key, segment, LIVENESS_BLOCK, stored)?;
    Bitmap::from_bytes(documents as usize, payload)
        .ok_or_else(|| Rejection::corrupt(format!("The liveness of segment {segment} is of another length")))
}

/// A segment to store.
#[derive(Clone, Debug)]
pub struct NewSegment {
    /// Its number.
    pub number: u32,
    /// Its schema.
    pub schema: String,
    /// Its documents, dead ones included.
    pub documents: u32,
    /// Its sealed header.
    pub header: Vec<u8>,
    /// Its sealed liveness.
    pub liveness: Vec<u8>,
    /// Its sealed blocks.
    pub blocks: Vec<Vec<u8>>,
}

/// Blocks shorter than this are copied: each piece is asked for by its own.
const COPIED_BYTES: usize = 4_096;

/// What folding or compacting changes, to be committed as one.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Operations up to this number leave the tail.
    pub operation: u64,
    /// Segments that go.
    pub removed: Vec<u32>,
    /// Segments with documents that died.
    pub liveness: Vec<(u32, Vec<u8>)>,
    /// Segments that come.
    pub segments: Vec<NewSegment>,
    /// Not all was done that it was asked for: another compaction of the same reason goes on.
    pub more: bool,
}

impl Change {
    /// The bytes for the host behind those of `writer`, as pieces that follow each other. Blocks are pieces of their own unless
    /// they are short: a change is not in memory twice.
    #[must_use]
    pub fn into_pieces(self, mut writer: Writer) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        writer.u64(self.operation);
        writer.varint(self.removed.len() as u64);
        self.removed.iter().for_each(|segment| writer.u32(*segment));
        writer.varint(self.liveness.len() as u64);
        for (segment, liveness) in &self.liveness {
            writer.u32(*segment);
            writer.bytes(liveness);
        }
        writer.varint(self.segments.len() as u64);
        for segment in self.segments {
            writer.u32(segment.number);
            writer.text(&segment.schema);
            writer.u32(segment.documents);
            writer.bytes(&segment.header);
            writer.bytes(&segment.liveness);
            writer.varint(segment.blocks.len() as u64);
            for block in segment.blocks {
                if block.len() < COPIED_BYTES {
                    writer.bytes(&block);
                } else {
                    writer.varint(block.len() as u64);
                    pieces.push(std::mem::take(&mut writer).finish());
                    pieces.push(block);
                }
            }
        }
        writer.u8(u8::from(self.more));
        pieces.push(writer.finish());
        pieces
    }
}
