//! Checksums and hashes: XXH3, which is fast in WebAssembly and stable. They protect against accidents, not attackers.

use xxhash_rust::xxh3;

/// 64-bit checksum of some bytes. The seed binds it to what the bytes belong to.
pub fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    xxh3::xxh3_64_with_seed(bytes, seed)
}

/// 128-bit hash of some bytes.
pub fn hash128(seed: u64, bytes: &[u8]) -> u128 {
    xxh3::xxh3_128_with_seed(bytes, seed)
}
