//! Lanes as WebAssembly simd128 registers (no relaxed SIMD: its bits differ between hosts). The widening of bfloat16 and
//! int8 is by shifts and masks, which every engine compiles to one instruction each, unlike most shuffles.

use crate::lanes::{Lanes, Parts, Posting};
use std::arch::wasm32::*;
use std::hint::black_box;

/// Largest magnitude bits of a float below 2⁻⁶³.
const TINY_F32: i32 = 0x1fff_ffff;
/// The same of a bfloat16.
const TINY_BFLOAT16: i16 = 0x1fff;

/// Lanes as 128-bit registers.
pub(crate) struct Wasm32;

/// The limits of flushing, hidden from the optimiser, which would otherwise turn them into constants again.
#[derive(Clone, Copy)]
pub(crate) struct Tiny {
    magnitude_f32: v128,
    largest_f32: v128,
    magnitude_bfloat16: v128,
    largest_bfloat16: v128,
}

impl Wasm32 {
    #[inline(always)]
    fn load(bytes: &[u8; 16]) -> v128 {
        // SAFETY: sixteen readable bytes are borrowed; v128.load has no alignment requirement.
        unsafe { v128_load(bytes.as_ptr().cast()) }
    }
}

impl Lanes for Wasm32 {
    type F32 = v128;
    type F64 = v128;
    type I16 = v128;
    type I32 = v128;
    type Tiny = Tiny;

    #[inline(always)]
    fn tiny() -> Tiny {
        Tiny {
            magnitude_f32: black_box(i32x4_splat(0x7fff_ffff)),
            largest_f32: black_box(i32x4_splat(TINY_F32)),
            magnitude_bfloat16: black_box(i16x8_splat(0x7fff)),
            largest_bfloat16: black_box(i16x8_splat(TINY_BFLOAT16)),
        }
    }

    #[inline(always)]
    fn zero_f32() -> v128 {
        f32x4_splat(0.0)
    }

    #[inline(always)]
    fn read_f32(bytes: &[u8; 16], tiny: Tiny) -> v128 {
        Self::flush_f32(Self::load(bytes), tiny)
    }

    #[inline(always)]
    fn read_bfloat16(bytes: &[u8; 16], tiny: Tiny) -> [v128; 2] {
        let pairs = Self::load(bytes);
        let magnitudes = v128_and(pairs, tiny.magnitude_bfloat16);
        let pairs = v128_and(pairs, i16x8_gt(magnitudes, tiny.largest_bfloat16));
        [i32x4_shl(pairs, 16), v128_and(pairs, u32x4_splat(0xffff_0000))]
    }

    #[inline(always)]
    fn flush_f32(lanes: v128, tiny: Tiny) -> v128 {
        // Integer comparison: comparing floats could itself meet the slow path of subnormal operands.
        let magnitudes = v128_and(lanes, tiny.magnitude_f32);
        v128_and(lanes, i32x4_gt(magnitudes, tiny.largest_f32))
    }

    #[inline(always)]
    fn add_f32(a: v128, b: v128) -> v128 {
        f32x4_add(a, b)
    }

    #[inline(always)]
    fn subtract_f32(a: v128, b: v128) -> v128 {
        f32x4_sub(a, b)
    }

    #[inline(always)]
    fn multiply_f32(a: v128, b: v128) -> v128 {
        f32x4_mul(a, b)
    }

    #[inline(always)]
    fn array_f32(lanes: v128) -> [f32; 4] {
        [
            f32x4_extract_lane::<0>(lanes),
            f32x4_extract_lane::<1>(lanes),
            f32x4_extract_lane::<2>(lanes),
            f32x4_extract_lane::<3>(lanes),
        ]
    }

    #[inline(always)]
    fn load_f32(lanes: &[f32; 4]) -> v128 {
        // SAFETY: sixteen readable bytes are borrowed; v128.load has no alignment requirement.
        unsafe { v128_load(lanes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat_f32(value: f32) -> v128 {
        f32x4_splat(value)
    }

    #[inline(always)]
    fn convert_i32(lanes: &[i32; 4]) -> v128 {
        // SAFETY: sixteen readable bytes are borrowed; v128.load has no alignment requirement.
        f32x4_convert_i32x4(unsafe { v128_load(lanes.as_ptr().cast()) })
    }

    #[inline(always)]
    fn convert_u32(lanes: &[u32; 4]) -> v128 {
        // SAFETY: sixteen readable bytes are borrowed; v128.load has no alignment requirement.
        f32x4_convert_u32x4(unsafe { v128_load(lanes.as_ptr().cast()) })
    }

    #[inline(always)]
    fn unless_less_f32(a: v128, b: v128) -> u8 {
        u32x4_bitmask(v128_not(f32x4_lt(a, b)))
    }

    #[inline(always)]
    fn zero_f64() -> v128 {
        f64x2_splat(0.0)
    }

    #[inline(always)]
    fn widen_f32(lanes: v128) -> [v128; 2] {
        [f64x2_promote_low_f32x4(lanes), f64x2_promote_low_f32x4(i64x2_shuffle::<1, 1>(lanes, lanes))]
    }

    #[inline(always)]
    fn add_f64(a: v128, b: v128) -> v128 {
        f64x2_add(a, b)
    }

    #[inline(always)]
    fn multiply_f64(a: v128, b: v128) -> v128 {
        f64x2_mul(a, b)
    }

    #[inline(always)]
    fn divide_f64(a: v128, b: v128) -> v128 {
        f64x2_div(a, b)
    }

    #[inline(always)]
    fn load_f64(lanes: &[f64; 2]) -> v128 {
        // SAFETY: sixteen readable bytes are borrowed; v128.load has no alignment requirement.
        unsafe { v128_load(lanes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat_f64(value: f64) -> v128 {
        f64x2_splat(value)
    }

    #[inline(always)]
    fn store_f64(lanes: v128, out: &mut [f64; 2]) {
        // SAFETY: sixteen writable bytes are borrowed; v128.store has no alignment requirement.
        unsafe { v128_store(out.as_mut_ptr().cast(), lanes) }
    }

    #[inline(always)]
    fn greater_f64(a: v128, b: v128) -> u8 {
        u64x2_bitmask(f64x2_gt(a, b))
    }

    #[inline(always)]
    fn where_positive_f64(lanes: v128, others: v128) -> v128 {
        v128_and(lanes, f64x2_gt(others, f64x2_splat(0.0)))
    }

    #[inline(always)]
    fn widen_u8(bytes: &[u8; 8]) -> [v128; 4] {
        let words = u16x8_extend_low_u8x16(u64x2(u64::from_le_bytes(*bytes), 0));
        let (front, back) = (u32x4_extend_low_u16x8(words), u32x4_extend_high_u16x8(words));
        let upper = |lanes| i64x2_shuffle::<1, 1>(lanes, lanes);
        [front, upper(front), back, upper(back)].map(|lanes| f64x2_convert_low_i32x4(lanes))
    }

    #[inline(always)]
    fn array_f64(lanes: v128) -> [f64; 2] {
        [f64x2_extract_lane::<0>(lanes), f64x2_extract_lane::<1>(lanes)]
    }

    #[inline(always)]
    fn load_i16(lanes: &[i16; 8]) -> v128 {
        // SAFETY: sixteen readable bytes are borrowed; v128.load has no alignment requirement.
        unsafe { v128_load(lanes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn load_u16(lanes: &[u16; 8]) -> v128 {
        // SAFETY: sixteen readable bytes are borrowed; v128.load has no alignment requirement.
        unsafe { v128_load(lanes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat_u16(value: u16) -> v128 {
        u16x8_splat(value)
    }

    #[inline(always)]
    fn equal_i16(a: v128, b: v128) -> v128 {
        i16x8_eq(a, b)
    }

    #[inline(always)]
    fn and_i16(a: v128, b: v128) -> v128 {
        v128_and(a, b)
    }

    #[inline(always)]
    fn or_i16(a: v128, b: v128) -> v128 {
        v128_or(a, b)
    }

    #[inline(always)]
    fn any_i16(lanes: v128) -> bool {
        v128_any_true(lanes)
    }

    #[inline(always)]
    fn read_i8(bytes: &[u8; 16]) -> [v128; 2] {
        let pairs = Self::load(bytes);
        [i16x8_shr(i16x8_shl(pairs, 8), 8), i16x8_shr(pairs, 8)]
    }

    #[inline(always)]
    fn subtract_i16(a: v128, b: v128) -> v128 {
        i16x8_sub(a, b)
    }

    #[inline(always)]
    fn dot_i16(a: v128, b: v128) -> v128 {
        i32x4_dot_i16x8(a, b)
    }

    #[inline(always)]
    fn zero_i32() -> v128 {
        i32x4_splat(0)
    }

    #[inline(always)]
    fn add_i32(a: v128, b: v128) -> v128 {
        i32x4_add(a, b)
    }

    #[inline(always)]
    fn sums_i32([a, b, c, d]: [v128; 4]) -> [i32; 4] {
        // Halves of two are added, then the halves of those: the lanes that remain are the sums in order.
        let halves = |a, b| i32x4_add(i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b));
        let (front, back) = (halves(a, b), halves(c, d));
        let low = i32x4_shuffle::<0, 1, 4, 5>(front, back);
        Self::array_i32(i32x4_add(low, i32x4_shuffle::<2, 3, 6, 7>(front, back)))
    }

    #[inline(always)]
    fn array_i32(lanes: v128) -> [i32; 4] {
        [
            i32x4_extract_lane::<0>(lanes),
            i32x4_extract_lane::<1>(lanes),
            i32x4_extract_lane::<2>(lanes),
            i32x4_extract_lane::<3>(lanes),
        ]
    }

    #[inline(always)]
    fn equal_bytes(bytes: &[u8; 16], byte: u8) -> u16 {
        u8x16_bitmask(u8x16_eq(Self::load(bytes), u8x16_splat(byte)))
    }

    #[inline(always)]
    fn short_postings(bytes: &[u8; 16], before: u32, out: &mut [Posting; 8]) -> bool {
        let pairs = Self::load(bytes);
        if u8x16_bitmask(pairs) != 0 {
            return false;
        }
        let none = u16x8_splat(0);
        let steps = u16x8_add(v128_and(pairs, u16x8_splat(0xff)), u16x8_splat(1));
        // Each lane becomes the sum of those up to it.
        let twos = u16x8_add(steps, u16x8_shuffle::<8, 0, 1, 2, 3, 4, 5, 6>(steps, none));
        let fours = u16x8_add(twos, u16x8_shuffle::<8, 8, 0, 1, 2, 3, 4, 5>(twos, none));
        let sums = u16x8_add(fours, u16x8_shuffle::<8, 8, 8, 8, 0, 1, 2, 3>(fours, none));
        let counts = u16x8_shr(pairs, 8);
        let front = u16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(sums, counts);
        let back = u16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(sums, counts);
        let base = u32x4(before, 0, before, 0);
        let twos = out.as_mut_ptr().cast::<v128>();
        // SAFETY: four times sixteen writable bytes are borrowed; v128.store has no alignment requirement.
        unsafe {
            v128_store(twos, u32x4_add(u32x4_extend_low_u16x8(front), base));
            v128_store(twos.add(1), u32x4_add(u32x4_extend_high_u16x8(front), base));
            v128_store(twos.add(2), u32x4_add(u32x4_extend_low_u16x8(back), base));
            v128_store(twos.add(3), u32x4_add(u32x4_extend_high_u16x8(back), base));
        }
        true
    }

    #[inline(always)]
    fn decimals(Parts { heads, fractions, powers }: &Parts) -> Option<[f64; 4]> {
        let whole =
            v128_xor(u32x4(heads[0], heads[1], heads[2], heads[3]), u32x4_splat(u32::from_le_bytes(*b"0.\0\0")));
        let first = u64x2(fractions[0], fractions[1]);
        let last = u64x2(fractions[2], fractions[3]);
        let strange = v128_or(u8x16_gt(u8x16_max(first, last), u8x16_splat(9)), u32x4_gt(whole, u32x4_splat(9)));
        // Digits become pairs, pairs fours, fours eights; the last of one number and the first of the next never meet.
        let pairs = |digits| {
            let tens = i16x8_mul(v128_and(digits, u16x8_splat(0xff)), u16x8_splat(10));
            i16x8_add(tens, u16x8_shr(digits, 8))
        };
        let fours = |digits| i32x4_dot_i16x8(pairs(digits), i16x8(100, 1, 100, 1, 100, 1, 100, 1));
        let eights = i32x4_dot_i16x8(
            i16x8_narrow_i32x4(fours(first), fours(last)),
            i16x8(10_000, 1, 10_000, 1, 10_000, 1, 10_000, 1),
        );
        let divided = |whole, fraction, powers| {
            let power = f64x2_abs(powers);
            let mantissa =
                f64x2_add(f64x2_mul(f64x2_convert_low_i32x4(whole), power), f64x2_convert_low_i32x4(fraction));
            v128_or(f64x2_div(mantissa, power), v128_xor(power, powers))
        };
        let upper = |lanes| i64x2_shuffle::<1, 1>(lanes, lanes);
        let front = divided(whole, eights, f64x2(powers[0], powers[1]));
        let back = divided(upper(whole), upper(eights), f64x2(powers[2], powers[3]));
        let no_number = v128_or(f64x2_ne(front, front), f64x2_ne(back, back));
        if v128_any_true(v128_or(strange, no_number)) {
            return None;
        }
        Some([
            f64x2_extract_lane::<0>(front),
            f64x2_extract_lane::<1>(front),
            f64x2_extract_lane::<0>(back),
            f64x2_extract_lane::<1>(back),
        ])
    }
}
