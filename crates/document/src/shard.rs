//! Which documents of a large group are in which of its shards. A fact on disk: it must never change (docs/decisions/0079).

use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use crate::id::shown_id;

/// Most bits that tell the shards of a group apart.
pub const SHARD_BITS_MAX: u32 = 16;

/// The documents of a group whose ids have a hash with these low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    bits: u32,
    number: u32,
}

impl Shard {
    /// Reads how many bits tell the shard from others, and its number: these bits.
    ///
    /// # Errors
    /// If there is no such shard.
    pub fn read(reader: &mut Reader<'_>) -> Result<Shard, Rejection> {
        let (bits, number) = (u32::from(reader.u8()?), reader.u32()?);
        if bits > SHARD_BITS_MAX || number >> bits != 0 {
            return Err(Rejection::corrupt(format!("a shard {number} of {bits} bits")));
        }
        Ok(Shard { bits, number })
    }

    /// Writes what [`Shard::read`] reads.
    pub fn write(&self, writer: &mut Writer) {
        writer.u8(self.bits as u8);
        writer.u32(self.number);
    }

    /// Whether the document of this id is in it.
    #[must_use]
    pub fn holds(&self, id: &str) -> bool {
        // The documents of all content clusters that have one id are together.
        shard_hash(&shown_id(id)) & ((1 << self.bits) - 1) == self.number
    }
}

/// The hash of a document id by which it belongs to a shard: FNV-1a of its bytes, with all bits mixed into the low ones.
#[must_use]
pub fn shard_hash(id: &str) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    for byte in id.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_of_as_many_bits_share_the_documents_evenly() {
        let shards: Vec<Shard> = (0..8).map(|number| Shard { bits: 3, number }).collect();
        let mut counts = [0; 8];
        for number in 0..8_000 {
            let id = format!("id:mail:mail:g=alice:{}", number * 2);
            let holding: Vec<usize> = (0..8).filter(|at| shards[*at].holds(&id)).collect();
            assert_eq!(holding.len(), 1);
            counts[holding[0]] += 1;
        }
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_shard_that_cannot_be_is_refused() {
        let read = |bits: u8, number: u32| {
            let mut writer = Writer::new();
            writer.u8(bits);
            writer.u32(number);
            Shard::read(&mut Reader::new(&writer.finish()))
        };
        assert!(read(3, 7).is_ok() && read(0, 0).is_ok());
        assert!(read(3, 8).is_err() && read(0, 1).is_err() && read(17, 0).is_err());
    }
}
