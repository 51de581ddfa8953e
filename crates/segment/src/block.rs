//! Blocks: what is stored, read, carried and cached as one. Each ends with a checksum that is bound to the partition's
//! key, the segment and the block's number, so that a damaged block, or an intact one from elsewhere, is never read.
use brooklet_task::{Rejection, limits};

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

/// The payload of a stored block.
///
/// # Errors
/// [`brooklet_task::Code::StoreCorrupt`] if the bytes are not what [`seal`] made for this very place.
pub fn open<'a>(key: &str, segment: u32, block: u32, stored: &'a [u8]) -> Result<&'a [u8], Rejection> {
    let damaged = || Rejection::corrupt(format!("Block {block} of segment {segment} is damaged"));
    let length = stored.len().checked_sub(CHECKSUM_BYTES).ok_or_else(damaged)?;
    let (payload, sum) = stored.split_at(length);
    if checksum(key, segment, block, payload).to_le_bytes() == sum { Ok(payload) } else { Err(damaged()) }
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
}
