//! A finished segment becomes what is stored, some blocks at a time: folding shares its thread with requests, and to pack
//! the source of a large segment takes longer than one of them should wait.
use crate::block::{HEADER_BLOCK, seal, seal_packed};
use crate::header::Header;
use crate::packed::Packer;

/// Bytes that are packed in a step: some milliseconds.
const STEP_BYTES: usize = 256 << 10;

/// A finished segment, in memory.
pub struct BuiltSegment {
    /// Its header.
    pub header: Header,
    /// The payloads of its blocks, by number.
    pub payloads: Vec<Vec<u8>>,
}

impl BuiltSegment {
    /// The header and blocks as they are stored ([`Sealing`]), all at once.
    #[must_use]
    pub fn seal(self, key: &str, segment: u32) -> (Vec<u8>, Vec<Vec<u8>>) {
        let mut sealing = Sealing::new(self, key, segment);
        loop {
            if let Some(stored) = sealing.step() {
                return stored;
            }
        }
    }
}

/// Seals the header and the blocks of a segment for a place, those of the source packed where that makes them smaller.
pub struct Sealing {
    key: String,
    segment: u32,
    header: Vec<u8>,
    payloads: std::vec::IntoIter<Vec<u8>>,
    /// The numbers of those that are packed.
    packed: std::ops::Range<u32>,
    packer: Option<Packer>,
    blocks: Vec<Vec<u8>>,
}

impl Sealing {
    /// Nothing is sealed yet but the header.
    #[must_use]
    pub fn new(built: BuiltSegment, key: &str, segment: u32) -> Sealing {
        let BuiltSegment { header, payloads } = built;
        Sealing {
            key: key.to_owned(),
            segment,
            packed: header.packed_blocks(),
            header: seal(key, segment, HEADER_BLOCK, header.encode()),
            blocks: Vec::with_capacity(payloads.len()),
            payloads: payloads.into_iter(),
            packer: None,
        }
    }

    /// Seals some blocks; the header and all blocks, with checksums bound to the place, when there is none left.
    pub fn step(&mut self) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
        let mut left = STEP_BYTES;
        for payload in self.payloads.by_ref() {
            let number = self.blocks.len() as u32;
            let length = payload.len();
            let packs = self.packed.contains(&number);
            let packed = if packs { self.packer.get_or_insert_default().pack(&payload) } else { None };
            self.blocks.push(match packed {
                Some(packed) => seal_packed(&self.key, self.segment, number, packed),
                None => seal(&self.key, self.segment, number, payload),
            });
            if packs && length >= left {
                return None;
            }
            left -= if packs { length } else { 0 };
        }
        Some((std::mem::take(&mut self.header), std::mem::take(&mut self.blocks)))
    }
}
