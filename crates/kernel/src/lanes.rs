//! The few 128-bit operations all kernels are written in. An implementation must give the same bits as `arch/scalar.rs`
//! for every input that is not a NaN; integer operations wrap.

/// Operations over lanes of a 128-bit register. Floats follow IEEE 754, one rounding an operation, never fused.
pub(crate) trait Lanes {
    /// Four 32-bit floats.
    type F32: Copy;
    /// Two 64-bit floats.
    type F64: Copy;
    /// Eight 16-bit integers.
    type I16: Copy;
    /// Four 32-bit integers.
    type I32: Copy;
    /// What flushing compares with, made once before a loop: engines would make such constants anew in every turn.
    type Tiny: Copy;

    /// The limits of flushing.
    fn tiny() -> Self::Tiny;
    /// Four zeros.
    fn zero_f32() -> Self::F32;
    /// Four floats from little-endian bytes; those below 2⁻⁶³ in magnitude become +0.
    fn read_f32(bytes: &[u8; 16], tiny: Self::Tiny) -> Self::F32;
    /// Eight bfloat16 from little-endian bytes, widened: the even ones and the odd ones; tiny ones become +0.
    fn read_bfloat16(bytes: &[u8; 16], tiny: Self::Tiny) -> [Self::F32; 2];
    /// Lanes below 2⁻⁶³ in magnitude become +0.
    fn flush_f32(lanes: Self::F32, tiny: Self::Tiny) -> Self::F32;
    /// `a + b`.
    fn add_f32(a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a - b`.
    fn subtract_f32(a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a · b`.
    fn multiply_f32(a: Self::F32, b: Self::F32) -> Self::F32;
    /// The lanes in order.
    fn array_f32(lanes: Self::F32) -> [f32; 4];

    /// Four floats as they are.
    fn load_f32(lanes: &[f32; 4]) -> Self::F32;
    /// The same float four times.
    fn splat_f32(value: f32) -> Self::F32;
    /// The floats that are nearest to four integers.
    fn convert_i32(lanes: &[i32; 4]) -> Self::F32;
    /// The floats that are nearest to four integers without a sign.
    fn convert_u32(lanes: &[u32; 4]) -> Self::F32;
    /// A bit for each lane unless `a < b`, the first one lowest.
    fn unless_less_f32(a: Self::F32, b: Self::F32) -> u8;
    /// Two zeros.
    fn zero_f64() -> Self::F64;
    /// The first two lanes and the last two, as 64-bit floats.
    fn widen_f32(lanes: Self::F32) -> [Self::F64; 2];
    /// `a + b`.
    fn add_f64(a: Self::F64, b: Self::F64) -> Self::F64;
    /// `a · b`.
    fn multiply_f64(a: Self::F64, b: Self::F64) -> Self::F64;
    /// `a / b`.
    fn divide_f64(a: Self::F64, b: Self::F64) -> Self::F64;
    /// Two floats as they are.
    fn load_f64(lanes: &[f64; 2]) -> Self::F64;
    /// The same float twice.
    fn splat_f64(value: f64) -> Self::F64;
    /// Puts two floats down as they are.
    fn store_f64(lanes: Self::F64, out: &mut [f64; 2]);
    /// A bit for each lane where `a > b`, the first one lowest.
    fn greater_f64(a: Self::F64, b: Self::F64) -> u8;
    /// Lanes of the first where the other's are above 0, and 0 elsewhere.
    fn where_positive_f64(lanes: Self::F64, others: Self::F64) -> Self::F64;
    /// Eight bytes without a sign, widened in order.
    fn widen_u8(bytes: &[u8; 8]) -> [Self::F64; 4];
    /// The lanes in order.
    fn array_f64(lanes: Self::F64) -> [f64; 2];

    /// Eight integers.
    fn load_i16(lanes: &[i16; 8]) -> Self::I16;
    /// Eight integers without a sign, as they are.
    fn load_u16(lanes: &[u16; 8]) -> Self::I16;
    /// The same integer eight times.
    fn splat_u16(value: u16) -> Self::I16;
    /// All bits of a lane where `a = b`, none elsewhere.
    fn equal_i16(a: Self::I16, b: Self::I16) -> Self::I16;
    /// Bits of both.
    fn and_i16(a: Self::I16, b: Self::I16) -> Self::I16;
    /// Bits of either.
    fn or_i16(a: Self::I16, b: Self::I16) -> Self::I16;
    /// Whether there is a bit.
    fn any_i16(lanes: Self::I16) -> bool;
    /// Sixteen signed bytes, widened: the even ones and the odd ones.
    fn read_i8(bytes: &[u8; 16]) -> [Self::I16; 2];
    /// `a - b`, wrapping.
    fn subtract_i16(a: Self::I16, b: Self::I16) -> Self::I16;
    /// Products of 16-bit lanes, neighbours added: lane `i` is `a[2i]·b[2i] + a[2i+1]·b[2i+1]`, wrapping.
    fn dot_i16(a: Self::I16, b: Self::I16) -> Self::I32;
    /// Four zeros.
    fn zero_i32() -> Self::I32;
    /// `a + b`, wrapping.
    fn add_i32(a: Self::I32, b: Self::I32) -> Self::I32;
    /// The sum of the lanes of each, wrapping.
    fn sums_i32(lanes: [Self::I32; 4]) -> [i32; 4];
    /// The lanes in order.
    fn array_i32(lanes: Self::I32) -> [i32; 4];

    /// A bit for each byte that equals `byte`, the first one lowest.
    fn equal_bytes(bytes: &[u8; 16], byte: u8) -> u16;
    /// Eight pairs of a distance and a count, a byte each, as numbers and counts: a number is the one in front of it
    /// (`before` the first), the distance and one, wrapping. False, and nothing is read, if a byte is above 127.
    fn short_postings(bytes: &[u8; 16], before: u32, out: &mut [Posting; 8]) -> bool;
    /// The numbers that four parts make; nothing if one of them is no number.
    fn decimals(parts: &Parts) -> Option<[f64; 4]>;
}

/// Four numbers with one digit before the point, in parts.
pub(crate) struct Parts {
    /// The first two bytes of each without its sign: a digit and a point, if it is one.
    pub heads: [u32; 4],
    /// The digits after the point, `'0'` taken off each, at the end of a word (little-endian); zeros before them.
    pub fractions: [u64; 4],
    /// Ten to the number of those digits, negated where the number is; NaN if there are none or too many.
    pub powers: [f64; 4],
}

/// The ordinal of a document, and how often something comes in it.
pub type Posting = [u32; 2];
