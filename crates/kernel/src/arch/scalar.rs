//! Lanes as plain arrays: the definition of what every other file beside this one must compute. Compilers turn most of
//! it into vector code by themselves.

use crate::cells::flush_f32;
use crate::lanes::{Lanes, Parts, Posting};
use std::array::from_fn;
use std::cmp::Ordering;

/// Lanes as arrays, on any machine.
pub(crate) struct Scalar;

impl Lanes for Scalar {
    type F32 = [f32; 4];
    type F64 = [f64; 2];
    type I16 = [i16; 8];
    type I32 = [i32; 4];
    type Tiny = ();

    #[inline(always)]
    fn tiny() {}

    #[inline(always)]
    fn zero_f32() -> [f32; 4] {
        [0.0; 4]
    }

    #[inline(always)]
    fn read_f32(bytes: &[u8; 16], tiny: ()) -> [f32; 4] {
        let cell = |i: usize| f32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        Self::flush_f32([cell(0), cell(4), cell(8), cell(12)], tiny)
    }

    #[inline(always)]
    fn read_bfloat16(bytes: &[u8; 16], tiny: ()) -> [[f32; 4]; 2] {
        let pairs: [u32; 4] =
            from_fn(|i| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]));
        let even = pairs.map(|pair| f32::from_bits(pair << 16));
        let odd = pairs.map(|pair| f32::from_bits(pair & 0xffff_0000));
        [Self::flush_f32(even, tiny), Self::flush_f32(odd, tiny)]
    }

    #[inline(always)]
    fn flush_f32(lanes: [f32; 4], (): ()) -> [f32; 4] {
        lanes.map(flush_f32)
    }

    #[inline(always)]
    fn add_f32(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn subtract_f32(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] - b[i])
    }

    #[inline(always)]
    fn multiply_f32(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn array_f32(lanes: [f32; 4]) -> [f32; 4] {
        lanes
    }

    #[inline(always)]
    fn load_f32(lanes: &[f32; 4]) -> [f32; 4] {
        *lanes
    }

    #[inline(always)]
    fn splat_f32(value: f32) -> [f32; 4] {
        [value; 4]
    }

    #[inline(always)]
    fn convert_i32(lanes: &[i32; 4]) -> [f32; 4] {
        lanes.map(|lane| lane as f32)
    }

    #[inline(always)]
    fn convert_u32(lanes: &[u32; 4]) -> [f32; 4] {
        lanes.map(|lane| lane as f32)
    }

    #[inline(always)]
    fn unless_less_f32(a: [f32; 4], b: [f32; 4]) -> u8 {
        (0..4).fold(0, |bits, i| bits | u8::from(a[i].partial_cmp(&b[i]) != Some(Ordering::Less)) << i)
    }

    #[inline(always)]
    fn zero_f64() -> [f64; 2] {
        [0.0; 2]
    }

    #[inline(always)]
    fn widen_f32(lanes: [f32; 4]) -> [[f64; 2]; 2] {
        let [a, b, c, d] = lanes.map(f64::from);
        [[a, b], [c, d]]
    }

    #[inline(always)]
    fn add_f64(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
        from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn multiply_f64(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
        from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn divide_f64(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
        from_fn(|i| a[i] / b[i])
    }

    #[inline(always)]
    fn load_f64(lanes: &[f64; 2]) -> [f64; 2] {
        *lanes
    }

    #[inline(always)]
    fn splat_f64(value: f64) -> [f64; 2] {
        [value; 2]
    }

    #[inline(always)]
    fn store_f64(lanes: [f64; 2], out: &mut [f64; 2]) {
        *out = lanes;
    }

    #[inline(always)]
    fn greater_f64(a: [f64; 2], b: [f64; 2]) -> u8 {
        u8::from(a[0] > b[0]) | u8::from(a[1] > b[1]) << 1
    }

    #[inline(always)]
    fn where_positive_f64(lanes: [f64; 2], others: [f64; 2]) -> [f64; 2] {
        from_fn(|i| if others[i] > 0.0 { lanes[i] } else { 0.0 })
    }

    #[inline(always)]
    fn widen_u8(bytes: &[u8; 8]) -> [[f64; 2]; 4] {
        from_fn(|i| [f64::from(bytes[2 * i]), f64::from(bytes[2 * i + 1])])
    }

    #[inline(always)]
    fn array_f64(lanes: [f64; 2]) -> [f64; 2] {
        lanes
    }

    #[inline(always)]
    fn load_i16(lanes: &[i16; 8]) -> [i16; 8] {
        *lanes
    }

    #[inline(always)]
    fn load_u16(lanes: &[u16; 8]) -> [i16; 8] {
        lanes.map(|lane| lane as i16)
    }

    #[inline(always)]
    fn splat_u16(value: u16) -> [i16; 8] {
        [value as i16; 8]
    }

    #[inline(always)]
    fn equal_i16(a: [i16; 8], b: [i16; 8]) -> [i16; 8] {
        from_fn(|i| if a[i] == b[i] { -1 } else { 0 })
    }

    #[inline(always)]
    fn and_i16(a: [i16; 8], b: [i16; 8]) -> [i16; 8] {
        from_fn(|i| a[i] & b[i])
    }

    #[inline(always)]
    fn or_i16(a: [i16; 8], b: [i16; 8]) -> [i16; 8] {
        from_fn(|i| a[i] | b[i])
    }

    #[inline(always)]
    fn any_i16(lanes: [i16; 8]) -> bool {
        lanes.iter().fold(0, |any, lane| any | lane) != 0
    }

    #[inline(always)]
    fn read_i8(bytes: &[u8; 16]) -> [[i16; 8]; 2] {
        let pairs: [i16; 8] = from_fn(|i| i16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]));
        [pairs.map(|pair| (pair << 8) >> 8), pairs.map(|pair| pair >> 8)]
    }

    #[inline(always)]
    fn subtract_i16(a: [i16; 8], b: [i16; 8]) -> [i16; 8] {
        from_fn(|i| a[i].wrapping_sub(b[i]))
    }

    #[inline(always)]
    fn dot_i16(a: [i16; 8], b: [i16; 8]) -> [i32; 4] {
        let product = |i: usize| i32::from(a[i]) * i32::from(b[i]);
        from_fn(|i| product(2 * i).wrapping_add(product(2 * i + 1)))
    }

    #[inline(always)]
    fn zero_i32() -> [i32; 4] {
        [0; 4]
    }

    #[inline(always)]
    fn add_i32(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        from_fn(|i| a[i].wrapping_add(b[i]))
    }

    #[inline(always)]
    fn sums_i32(lanes: [[i32; 4]; 4]) -> [i32; 4] {
        lanes.map(|lanes| lanes.into_iter().fold(0, i32::wrapping_add))
    }

    #[inline(always)]
    fn array_i32(lanes: [i32; 4]) -> [i32; 4] {
        lanes
    }

    #[inline(always)]
    fn equal_bytes(bytes: &[u8; 16], byte: u8) -> u16 {
        bytes.iter().rev().fold(0, |bits, it| bits << 1 | u16::from(*it == byte))
    }

    #[inline(always)]
    fn short_postings(bytes: &[u8; 16], before: u32, out: &mut [Posting; 8]) -> bool {
        if bytes.iter().fold(0, |any, byte| any | byte) > 0x7f {
            return false;
        }
        let mut number = before;
        for (posting, [distance, count]) in out.iter_mut().zip(bytes.as_chunks().0) {
            number = number.wrapping_add(u32::from(*distance)).wrapping_add(1);
            *posting = [number, u32::from(*count)];
        }
        true
    }

    #[inline(always)]
    fn decimals(parts: &Parts) -> Option<[f64; 4]> {
        let mut numbers = [0.0; 4];
        for (i, number) in numbers.iter_mut().enumerate() {
            let whole = parts.heads[i] ^ u32::from_le_bytes(*b"0.\0\0");
            let digits = parts.fractions[i].to_le_bytes();
            let power = parts.powers[i];
            if whole > 9 || power.is_nan() || digits.iter().any(|digit| *digit > 9) {
                return None;
            }
            let fraction = digits.iter().fold(0, |value, digit| 10 * value + u32::from(*digit));
            // Exact up to the division.
            *number = ((f64::from(whole) * power.abs() + f64::from(fraction)) / power.abs()).copysign(power);
        }
        Some(numbers)
    }
}
