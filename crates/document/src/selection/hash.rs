//! MD5 (RFC 1321) and what the wire derives from it: `hash()`, global ids and buckets.
use crate::{DocumentId, Location};

/// Rotations of the four rounds.
const ROTATIONS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The whole parts of 2^32 times the sines of 1 to 64, without signs.
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

/// The MD5 sum of `bytes`.
pub fn md5(bytes: &[u8]) -> [u8; 16] {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() < bytes.len() + 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let length = padded.len();
    padded[length - 8..].copy_from_slice(&(bytes.len() as u64 * 8).to_le_bytes());
    for block in padded.as_chunks::<64>().0 {
        round(&mut state, block);
    }
    let mut sum = [0; 16];
    for (out, word) in sum.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *out = word.to_le_bytes();
    }
    sum
}

fn round(state: &mut [u32; 4], block: &[u8; 64]) {
    let words: [u32; 16] = std::array::from_fn(|index| {
        let at = index * 4;
        u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
    });
    let [mut a, mut b, mut c, mut d] = *state;
    for index in 0..64 {
        let (mixed, word) = match index / 16 {
            0 => ((b & c) | (!b & d), index),
            1 => ((d & b) | (!d & c), (5 * index + 1) % 16),
            2 => (b ^ c ^ d, (3 * index + 5) % 16),
            _ => (c ^ (b | !d), (7 * index) % 16),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(SINES[index]).wrapping_add(words[word]);
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(ROTATIONS[index / 16][index % 4]));
    }
    for (whole, part) in state.iter_mut().zip([a, b, c, d]) {
        *whole = whole.wrapping_add(part);
    }
}

/// `hash()`: the first eight bytes of the sum as a signed number.
pub(super) fn first_of_md5(bytes: &[u8]) -> i64 {
    let sum = md5(bytes);
    i64::from_le_bytes([sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6], sum[7]])
}

/// The number that documents of one group share (document ids, location).
fn location(id: &DocumentId) -> u64 {
    match id.location() {
        Location::Group(group) => first_of_md5(group.as_bytes()) as u64,
        Location::Number(number) => *number as u64,
        Location::None => first_of_md5(id.local().as_bytes()) as u64,
    }
}

/// The global id: four bytes of the location, then eight of the sum of the id.
fn global_id(id: &DocumentId) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes.copy_from_slice(&md5(id.as_str().as_bytes())[..12]);
    bytes[..4].copy_from_slice(&(location(id) as u32).to_le_bytes());
    bytes
}

/// `id.gid`: `gid(0x…)`.
pub(super) fn global_id_text(id: &DocumentId) -> String {
    let digits: String = global_id(id).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("gid(0x{digits})")
}

/// `id.bucket`: 58 bits, the location in the lower half.
pub(super) fn bucket(id: &DocumentId) -> u64 {
    let global = global_id(id);
    let high = u32::from_le_bytes([global[8], global[9], global[10], global[11]]);
    let low = u32::from_le_bytes([global[0], global[1], global[2], global[3]]);
    (u64::from(high) << 32 | u64::from(low)) & ((1 << BUCKET_BITS) - 1)
}

const BUCKET_BITS: u32 = 58;

/// Whether a bucket id, whose upper six bits tell how many of the others count, contains a document's bucket.
pub(super) fn bucket_contains(id: u64, bucket: u64) -> bool {
    let used = (id >> BUCKET_BITS).min(u64::from(BUCKET_BITS));
    let mask = (1_u64 << used) - 1;
    (id ^ bucket) & mask == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hexadecimal(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn sums_are_those_of_the_standard() {
        for (text, sum) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (&"1234567890".repeat(8), "57edf4a22be3c955ac49da2e2107b67a"),
        ] {
            assert_eq!(hexadecimal(&md5(text.as_bytes())), sum);
        }
    }

    #[test]
    fn a_bucket_contains_the_documents_of_its_group() {
        let id: DocumentId = "id:ns:mail:n=1:m1".parse().unwrap();
        assert!(bucket_contains(32 << 58 | 1, bucket(&id)));
        assert!(!bucket_contains(32 << 58 | 2, bucket(&id)));
        assert!(bucket_contains(0, bucket(&id)));
    }
}
