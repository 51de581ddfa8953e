//! Vectors of every kind that has ever broken a kernel or a bound.

use brooklet_kernel::{Cells, FLUSH_FLOAT32};
use proptest::prelude::*;

/// A generator of its own, so that long vectors cost proptest one number.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Between 0 and 1.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normally distributed.
    pub fn gaussian(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// How the cells of a vector are made.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Uniform,
    Gaussian,
    /// One direction with a little noise: neighbours almost equal.
    Clustered,
    Zero,
    OneHot,
    /// Around the flushing limit, on both sides.
    Tiny,
    Subnormal,
    /// Squares overflow.
    Huge,
    /// Any magnitude from 2⁻¹⁴⁰ to 2¹²⁷.
    Mixed,
    /// Any bits: NaN and infinities too.
    Wild,
    /// Whole numbers, as int8 fields have them.
    Whole,
    /// One number in all cells: codes are exact, and the roundings of sums add up.
    Constant,
}

pub const SHAPES: [Shape; 12] = [
    Shape::Uniform,
    Shape::Gaussian,
    Shape::Clustered,
    Shape::Zero,
    Shape::OneHot,
    Shape::Tiny,
    Shape::Subnormal,
    Shape::Huge,
    Shape::Mixed,
    Shape::Wild,
    Shape::Whole,
    Shape::Constant,
];

impl Shape {
    pub fn vector(self, dimensions: usize, random: &mut Random) -> Vec<f64> {
        let hot = random.bits() as usize % dimensions;
        let constant = random.gaussian();
        let cell = |at| if let Shape::Constant = self { constant } else { self.cell(at, hot, random) };
        (0..dimensions).map(cell).map(|cell| f64::from(cell as f32)).collect()
    }

    fn cell(self, at: usize, hot: usize, random: &mut Random) -> f64 {
        match self {
            Shape::Uniform => random.uniform(),
            Shape::Gaussian => random.gaussian(),
            Shape::Clustered => (at as f64 * 0.37).sin() + 0.01 * random.gaussian(),
            Shape::Zero | Shape::Constant => 0.0,
            Shape::OneHot => f64::from(u8::from(at == hot)) * random.gaussian(),
            Shape::Tiny => random.gaussian() * f64::from(FLUSH_FLOAT32),
            Shape::Subnormal => random.gaussian() * 1e-40,
            Shape::Huge => random.gaussian() * 1e38,
            Shape::Mixed => random.gaussian() * ((random.bits() % 267) as f64 - 140.0).exp2(),
            Shape::Wild => f64::from(f32::from_bits(random.bits() as u32)),
            Shape::Whole => (random.gaussian() * 60.0).round(),
        }
    }
}

pub fn shape() -> impl Strategy<Value = Shape> {
    prop::sample::select(SHAPES.to_vec())
}

pub fn cells() -> impl Strategy<Value = Cells> {
    prop::sample::select(vec![Cells::Float64, Cells::Float32, Cells::Bfloat16, Cells::Int8])
}

/// Mostly short, sometimes long, around every multiple of a block.
pub fn dimensions() -> impl Strategy<Value = usize> {
    prop_oneof![3 => 1usize..40, 1 => 40usize..200, 1 => 200usize..1025, 1 => (1usize..64).prop_map(|blocks| blocks * 16)]
}

/// The vector as a row of cells.
pub fn row(cells: Cells, values: &[f64]) -> Vec<u8> {
    let mut row = Vec::new();
    for value in values {
        cells.write(*value, &mut row);
    }
    row
}
