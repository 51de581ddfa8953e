//! Payloads that are stored packed: deflated (RFC 1951), with the length that they have unpacked before it. What texts
//! are given as is half of what they take; everything else is small, or is not made smaller by it.
//!
//! A block is unpacked once, where it comes into memory, so that what reads columns knows nothing of it.
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Rejection, limits};
use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, TDEFLStatus, compress, create_comp_flags_from_zip_params,
};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// Bytes of the checksum that follows a payload where it is stored.
const CHECKSUM_BYTES: usize = size_of::<u64>();
/// How hard is looked for what stood before (1 to 10).
const LEVEL: i32 = 2;
/// Bits of the window, negative: without zlib's header and checksum.
const RAW_WINDOW_BITS: i32 = -15;
/// Payloads that are shorter stay as they are: a table of codes is as long as what they would save.
const PACKED_BYTES_MIN: usize = 512;
/// A payload is packed if that takes this part of it away at least, else to unpack it is not worth it.
const SAVED_SHARE: usize = 8;
/// Bytes that a deflated byte can become at most.
const UNPACKED_OF_BYTE: usize = 1_032;

/// Packs payloads, one after the other; none needs another to be unpacked.
pub struct Packer {
    deflate: CompressorOxide,
    room: Vec<u8>,
}

impl Default for Packer {
    fn default() -> Packer {
        // 0: the usual strategy. The same bytes come of the same payload, whatever was packed before and wherever.
        let flags = create_comp_flags_from_zip_params(LEVEL, RAW_WINDOW_BITS, 0);
        Packer { deflate: CompressorOxide::new(flags), room: Vec::new() }
    }
}

impl Packer {
    /// What is stored in place of `payload`; nothing if it stays as it is.
    pub fn pack(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        if payload.len() < PACKED_BYTES_MIN {
            return None;
        }
        self.room.resize(payload.len() - payload.len() / SAVED_SHARE, 0);
        self.deflate.reset();
        let (status, _, length) = compress(&mut self.deflate, payload, &mut self.room, TDEFLFlush::Finish);
        if status != TDEFLStatus::Done {
            return None;
        }
        let mut writer = Writer::new();
        writer.varint(payload.len() as u64);
        let mut packed = Vec::with_capacity(writer.as_bytes().len() + length + CHECKSUM_BYTES);
        packed.extend_from_slice(writer.as_bytes());
        packed.extend_from_slice(&self.room[..length]);
        Some(packed)
    }
}

/// The payload of which [`Packer::pack`] made `packed`. What it says of its length is held against what a block may have,
/// and what so many bytes can become, before memory is taken for it.
///
/// # Errors
/// [`brooklet_task::Code::StoreCorrupt`] if it is not what a packer made.
pub fn unpack(packed: &[u8]) -> Result<Block, Rejection> {
    let damaged = || Rejection::corrupt("a packed block that cannot be unpacked");
    let mut reader = Reader::new(packed);
    let length = reader.varint()?;
    let deflated = packed.get(reader.position()..).unwrap_or_default();
    let longest = deflated.len().saturating_mul(UNPACKED_OF_BYTE).min(limits::BLOCK_BYTES - CHECKSUM_BYTES);
    let length = usize::try_from(length).ok().filter(|length| *length <= longest).ok_or_else(damaged)?;
    let mut block = Block::to_overwrite(length);
    let mut inflate = DecompressorOxide::new();
    let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (status, read, written) = decompress(&mut inflate, deflated, block.bytes_mut(), 0, flags);
    let is_whole = status == TINFLStatus::Done && read == deflated.len() && written == length;
    if is_whole { Ok(block) } else { Err(damaged()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(payload: &[u8]) -> Option<Vec<u8>> {
        Packer::default().pack(payload)
    }

    fn words(count: usize) -> Vec<u8> {
        (0..count).flat_map(|number| format!("word{} ", number * number % 97).into_bytes()).collect()
    }

    #[test]
    fn only_what_becomes_smaller_is_packed() {
        let text = words(500);
        assert!(packed(&text).expect("a text").len() < text.len() / 2);
        assert_eq!(packed(&text[..PACKED_BYTES_MIN - 1]), None);
        let mut state = 7u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        assert_eq!(packed(&noise.take(4_000).collect::<Vec<u8>>()), None);
    }

    #[test]
    fn what_was_packed_before_changes_nothing() {
        let (text, other) = (words(700), words(300));
        let mut packer = Packer::default();
        let first = packer.pack(&text);
        assert!(first.is_some() && packer.pack(&other).is_some() && packer.pack(&[3; 9_000]).is_some());
        assert_eq!(packer.pack(&text), first);
    }

    #[test]
    fn a_length_that_is_not_that_of_the_payload_is_refused() {
        let text = words(500);
        let packed = packed(&text).expect("a text");
        assert_eq!(unpack(&packed).expect("what was packed").bytes(), text);
        let deflated = &packed[2..];
        for length in [0, 1, text.len() - 1, text.len() + 1, limits::BLOCK_BYTES, usize::MAX / 2] {
            let mut writer = Writer::new();
            writer.varint(length as u64);
            let other = [writer.as_bytes(), deflated].concat();
            assert!(unpack(&other).is_err(), "{length}");
        }
        assert!(unpack(&[&packed[..], &[0]].concat()).is_err(), "something after it");
        (0..packed.len()).for_each(|length| assert!(unpack(&packed[..length]).is_err(), "cut at {length}"));
    }

    #[test]
    fn a_few_bytes_take_no_memory_for_a_length_that_they_cannot_have() {
        // Two bytes of deflate, which say that a million come of them.
        let mut writer = Writer::new();
        writer.varint(1_000_000);
        assert!(unpack(&[writer.as_bytes(), &[3, 0]].concat()).is_err());
    }

    proptest! {
        #[test]
        fn every_payload_comes_back(
            pieces in prop::collection::vec((any::<u8>(), 1usize..300), 1..300),
            noise in prop::collection::vec(any::<u8>(), 0..2_000),
        ) {
            let mut payload: Vec<u8> = pieces.iter().flat_map(|(byte, count)| vec![*byte; *count]).collect();
            payload.extend_from_slice(&noise);
            if let Some(packed) = packed(&payload) {
                prop_assert!(packed.len() < payload.len());
                let unpacked = unpack(&packed).unwrap();
                prop_assert_eq!(unpacked.bytes(), payload);
            }
        }

        #[test]
        fn any_bytes_are_refused_or_have_the_length_they_say(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(block) = unpack(&bytes) {
                let mut reader = Reader::new(&bytes);
                prop_assert_eq!(reader.varint().unwrap(), block.len() as u64);
            }
        }
    }
}
