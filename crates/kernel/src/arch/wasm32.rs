//! Lanes as WebAssembly simd128 registers (no relaxed SIMD: its bits differ between hosts). The widening of bfloat16 and
//! int8 is by shifts and masks, which every engine compiles to one instruction each, unlike most shuffles.

use crate::lanes::Lanes;
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
    fn array_i32(lanes: v128) -> [i32; 4] {
        [
            i32x4_extract_lane::<0>(lanes),
            i32x4_extract_lane::<1>(lanes),
            i32x4_extract_lane::<2>(lanes),
            i32x4_extract_lane::<3>(lanes),
        ]
    }
}
