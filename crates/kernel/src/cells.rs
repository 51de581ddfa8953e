//! Cell types of vectors, how numbers become cells, and what counts as a tiny cell.

/// Float, bfloat16 and int8 kernels take cells below this magnitude (2⁻⁶³) as zero.
pub const FLUSH_FLOAT32: f32 = 1.0 / (1u64 << 63) as f32;

/// Double kernels take cells below this magnitude (2⁻⁵¹¹) as zero.
pub const FLUSH_FLOAT64: f64 = f64::from_bits((1023 - 511) << 52);

/// The type of a vector's cells. It decides the arithmetic: double cells accumulate in 64-bit floats, float and
/// bfloat16 cells in 32-bit floats, int8 cells exactly, rounded once to a 32-bit float.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cells {
    /// 64-bit floats.
    Float64,
    /// 32-bit floats.
    Float32,
    /// The upper halves of 32-bit floats.
    Bfloat16,
    /// Signed bytes.
    Int8,
}

impl Cells {
    /// Bytes of one cell.
    pub fn bytes(self) -> usize {
        match self {
            Cells::Float64 => 8,
            Cells::Float32 => 4,
            Cells::Bfloat16 => 2,
            Cells::Int8 => 1,
        }
    }

    /// Appends a number as a little-endian cell: floats by rounding to nearest, bfloat16 by dropping the lower half of
    /// that float, int8 by dropping the fraction and then all but the low eight bits (NaN is zero).
    pub fn write(self, value: f64, row: &mut Vec<u8>) {
        match self {
            Cells::Float64 => row.extend_from_slice(&value.to_le_bytes()),
            Cells::Float32 => row.extend_from_slice(&(value as f32).to_le_bytes()),
            Cells::Bfloat16 => row.extend_from_slice(&((value as f32).to_bits() >> 16).to_le_bytes()[..2]),
            Cells::Int8 => row.push(value as i64 as u8),
        }
    }

    /// The cells of a row as 32-bit floats, into `values` (cleared before). Exact but for double cells, which are
    /// rounded to nearest. An incomplete cell at the end is left out.
    pub fn read_floats(self, row: &[u8], values: &mut Vec<f32>) {
        values.clear();
        match self {
            Cells::Float64 => values.extend(row.as_chunks().0.iter().map(|cell| f64::from_le_bytes(*cell) as f32)),
            Cells::Float32 => values.extend(row.as_chunks().0.iter().map(|cell| f32::from_le_bytes(*cell))),
            Cells::Bfloat16 => values.extend(row.as_chunks().0.iter().map(|cell| bfloat16(u16::from_le_bytes(*cell)))),
            Cells::Int8 => values.extend(row.iter().map(|cell| f32::from(*cell as i8))),
        }
    }
}

/// The number whose upper half `bits` are.
#[inline(always)]
pub(crate) fn bfloat16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Zero for a tiny number, else the number. By integers: a comparison of floats could meet the slow path itself.
#[inline(always)]
pub(crate) fn flush_f32(value: f32) -> f32 {
    let tiny = value.to_bits() & 0x7fff_ffff < FLUSH_FLOAT32.to_bits();
    f32::from_bits(if tiny { 0 } else { value.to_bits() })
}

/// As [`flush_f32`], for doubles.
#[inline(always)]
pub(crate) fn flush_f64(value: f64) -> f64 {
    // Signed: WebAssembly compares 64-bit lanes only so, and for magnitudes it is the same.
    let tiny = ((value.to_bits() & (u64::MAX >> 1)) as i64) < FLUSH_FLOAT64.to_bits() as i64;
    f64::from_bits(if tiny { 0 } else { value.to_bits() })
}
