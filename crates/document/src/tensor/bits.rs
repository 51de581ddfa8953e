//! Bits of cells that are the same everywhere: a NaN has one pattern, wherever it came from.

/// The one NaN we ever write, so that bytes do not depend on where a NaN came from.
const NAN_F32: u32 = 0x7fc0_0000;
const NAN_F64: u64 = 0x7ff8_0000_0000_0000;

/// The number whose upper 16 bits as a float32 are `bits`.
#[must_use]
pub fn widen_bfloat16(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// The float32 nearest to `value`; every NaN has the same bits. Without a jump, so that many are done at once.
#[must_use]
pub fn nearest_f32(value: f64) -> f32 {
    let nearest = value as f32;
    if nearest.is_nan() { f32::from_bits(NAN_F32) } else { nearest }
}

/// The bits of `value` as a float32; every NaN has the same.
#[must_use]
pub fn bits_f32(value: f64) -> u32 {
    nearest_f32(value).to_bits()
}

/// The bits of `value`; every NaN has the same.
#[must_use]
pub fn bits_f64(value: f64) -> u64 {
    if value.is_nan() { NAN_F64 } else { value.to_bits() }
}
