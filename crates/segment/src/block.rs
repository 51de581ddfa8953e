//! Blocks: what is stored, read, carried and cached as one. Each ends with a checksum that is bound to the partition's
//! key, the segment and the block's number, so that a damaged block, or an intact one from elsewhere, is never read.
//! The checksum of a block that is stored packed has all its bits inverted: that is how it is known.
use brooklet_task::{Block, Rejection, limits};

use crate::packed::unpack;

/// Number under which a segment's header is sealed.
pub const HEADER_BLOCK: u32 = u32::MAX;
/// Number under which a segment's liveness is sealed.
pub const LIVENESS_BLOCK: u32 = u32::MAX - 1;

/// Bytes of the checksum at the end of a block.
pub(crate) const CHECKSUM_BYTES: usize = 8;

fn checksum(key: &str, segment: u32, block: u32, payload: &[u8]) -> u64 {
    let place = u64::from(segment) << 32 | u64::from(block);
    let seed = brooklet_kernel::checksum(place, key.as_bytes());
    brooklet_kernel::checksum(seed, payload)
}

/// `payload` with its checksum, as it is stored.
#[must_use]
pub fn seal(key: &str, segment: u32, block: u32, mut payload: Vec<u8>) -> Vec<u8> {
    let sum = checksum(key, segment, block, &payload);
    payload.extend_from_slice(&sum.to_le_bytes());
    payload
}

/// A payload that was packed ([`crate::Packer`]) with its checksum, as it is stored.
#[must_use]
pub fn seal_packed(key: &str, segment: u32, block: u32, mut packed: Vec<u8>) -> Vec<u8> {
    let sum = !checksum(key, segment, block, &packed);
    packed.extend_from_slice(&sum.to_le_bytes());
    packed
}

/// How a payload is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    AsItIs,
    Packed,
}

/// What is stored without its checksum, and how; only blocks of columns may be packed.
fn check_block<'a>(key: &str, segment: u32, block: u32, stored: &'a [u8]) -> Result<(&'a [u8], Form), Rejection> {
    let damaged = || Rejection::corrupt(format!("Block {block} of segment {segment} is damaged"));
    let length = stored.len().checked_sub(CHECKSUM_BYTES).ok_or_else(damaged)?;
    let (payload, stored_sum) = stored.split_at(length);
    let sum = checksum(key, segment, block, payload);
    if sum.to_le_bytes() == stored_sum {
        Ok((payload, Form::AsItIs))
    } else if (!sum).to_le_bytes() == stored_sum && block < LIVENESS_BLOCK {
        Ok((payload, Form::Packed))
    } else {
        Err(damaged())
    }
}

/// The payload of a header, a liveness, an operation: of what is never packed.
///
/// # Errors
/// [`brooklet_task::Code::StoreCorrupt`] if the bytes are not what [`seal`] made for this very place.
pub fn open<'a>(key: &str, segment: u32, block: u32, stored: &'a [u8]) -> Result<&'a [u8], Rejection> {
    match check_block(key, segment, block, stored)? {
        (payload, Form::AsItIs) => Ok(payload),
        (_, Form::Packed) => Err(Rejection::corrupt(format!("Block {block} of segment {segment} is packed"))),
    }
}

/// The payload of a stored block of a column, in the same memory if it is stored as it is.
///
/// # Errors
/// [`brooklet_task::Code::StoreCorrupt`] if the bytes are not what [`seal`] or [`seal_packed`] made for this very place.
pub fn open_block(key: &str, segment: u32, block: u32, stored: Block) -> Result<Block, Rejection> {
    let (payload, form) = check_block(key, segment, block, stored.bytes())?;
    match form {
        Form::Packed => unpack(payload),
        Form::AsItIs => {
            let length = payload.len();
            Ok(stored.shortened(length))
        }
    }
}

/// Whether stored bytes are what was sealed for a place. Nothing of them is read.
#[must_use]
pub fn is_sealed(key: &str, segment: u32, block: u32, stored: &[u8]) -> bool {
    check_block(key, segment, block, stored).is_ok()
}

/// Collects the blocks of a segment while its columns are written.
#[derive(Default)]
pub struct BlockSink {
    blocks: Vec<Vec<u8>>,
}

impl BlockSink {
    /// The number the next block will have.
    #[must_use]
    pub fn next(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Adds a block.
    ///
    /// # Panics
    /// If it is larger than [`limits::BLOCK_BYTES`]: columns cut before that.
    pub fn push(&mut self, payload: Vec<u8>) {
        assert!(
            payload.len() + CHECKSUM_BYTES <= limits::BLOCK_BYTES,
            "a column wrote a block of {} bytes",
            payload.len()
        );
        self.blocks.push(payload);
    }

    /// All payloads, in the order of their numbers.
    #[must_use]
    pub fn into_payloads(self) -> Vec<Vec<u8>> {
        self.blocks
    }
}

/// `count` numbers at `offset` of a payload, read in place.
///
/// # Errors
/// If they are not all there or not aligned: the bytes passed their checksum, so we wrote something else than we read.
pub fn read_array<T: bytemuck::AnyBitPattern>(payload: &[u8], offset: usize, count: usize) -> Result<&[T], Rejection> {
    let bytes = count.checked_mul(size_of::<T>()).and_then(|length| offset.checked_add(length));
    bytes
        .and_then(|end| payload.get(offset..end))
        .and_then(|slice| bytemuck::try_cast_slice(slice).ok())
        .ok_or_else(|| Rejection::corrupt(format!("{count} values expected at {offset} of {}", payload.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_any_cut_and_any_other_place_is_noticed() {
        let stored = seal("g:alice", 7, 3, (0..200u8).collect());
        assert!(open("g:alice", 7, 3, &stored).is_ok());
        for bit in 0..stored.len() * 8 {
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(open("g:alice", 7, 3, &damaged).is_err());
        }
        for length in 0..stored.len() {
            assert!(open("g:alice", 7, 3, &stored[..length]).is_err());
        }
        assert!(open("g:bob", 7, 3, &stored).is_err());
        assert!(open("g:alice", 8, 3, &stored).is_err());
        assert!(open("g:alice", 7, 4, &stored).is_err());
    }

    #[test]
    fn a_block_is_with_its_checksum_as_large_as_may_be_and_no_larger() {
        let push = |length: usize| {
            let mut sink = BlockSink::default();
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sink.push(vec![0; length]))).is_ok()
        };
        assert!(push(limits::BLOCK_BYTES - CHECKSUM_BYTES));
        assert!(!push(limits::BLOCK_BYTES - CHECKSUM_BYTES + 1));
    }

    #[test]
    fn what_is_packed_is_known_by_its_checksum_and_only_where_columns_are() {
        let payload: Vec<u8> = (0..4_000u32).map(|number| (number % 7) as u8).collect();
        let packed = crate::Packer::default().pack(&payload).expect("it becomes smaller");
        let stored = seal_packed("g:alice", 7, 3, packed.clone());
        let opened = |block: u32, stored: &[u8]| open_block("g:alice", 7, block, Block::copy_of(stored));
        assert_eq!(opened(3, &stored).expect("a packed block").bytes(), payload);
        assert_eq!(opened(3, &seal("g:alice", 7, 3, payload.clone())).expect("a block").bytes(), payload);
        assert_eq!(opened(3, &seal("g:alice", 7, 3, packed.clone())).expect("not known as packed").bytes(), packed);
        assert!(opened(3, &seal_packed("g:alice", 7, 3, payload)).is_err(), "not packed, though it says so");
        assert!(open("g:alice", 7, 3, &stored).is_err() && opened(4, &stored).is_err());
        for bit in 0..stored.len() * 8 {
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(opened(3, &damaged).is_err());
        }
        assert!(is_sealed("g:alice", 7, 3, &stored) && !is_sealed("g:bob", 7, 3, &stored));
        for block in [HEADER_BLOCK, LIVENESS_BLOCK] {
            assert!(!is_sealed("g:alice", 7, block, &seal_packed("g:alice", 7, block, packed.clone())));
        }
    }
}
