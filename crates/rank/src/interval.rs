//! Bounds: what a program can yield when its features are only known to lie between two numbers.
//!
//! The natural interval extension: every operation maps bounds of its operands to bounds of its result. The operations
//! that IEEE 754 rounds correctly are monotone where the exact ones are, so their values at the ends are bounds bit by
//! bit; `libm`'s are within an ulp or two of the exact value, so theirs are widened. Zero stands for both zeros.
use std::f64::consts::{FRAC_PI_2, PI};

use crate::operation::{Binary, Unary};

/// How far a value of `libm` at the end of an interval may be exceeded inside of it: twice its error.
const WIDENING_ULPS: u32 = 4;

/// Every number from `lo` to `hi`, both included, and NaN if said so. No number at all if `lo` is above `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The smallest value.
    pub lo: f64,
    /// The largest value.
    pub hi: f64,
    /// Whether the value may also be NaN. (A score that is NaN counts as −∞.)
    pub may_be_nan: bool,
}

/// What is known of the features of one document before they are computed.
pub trait IntervalSource {
    /// Bounds of the number feature with this index in [`crate::Program::features`]; nothing if they are not known.
    fn interval(&mut self, feature: usize) -> Option<Interval>;
}

impl Interval {
    pub(crate) const NOTHING: Interval = Interval { lo: f64::INFINITY, hi: f64::NEG_INFINITY, may_be_nan: false };
    const NAN: Interval = Interval { may_be_nan: true, ..Interval::NOTHING };
    pub(crate) const ANYTHING: Interval = Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY, may_be_nan: true };

    /// Exactly this number.
    #[must_use]
    pub fn exactly(value: f64) -> Interval {
        if value.is_nan() { Interval::NAN } else { Interval::between(value, value) }
    }

    /// Any number from `lo` to `hi`.
    #[must_use]
    pub fn between(lo: f64, hi: f64) -> Interval {
        Interval { lo, hi, may_be_nan: false }
    }

    /// Whether the value is one of it; NaN if it may be.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        if value.is_nan() { self.may_be_nan } else { self.lo <= value && value <= self.hi }
    }

    /// Whatever is in either.
    #[must_use]
    pub fn union(self, other: Interval) -> Interval {
        Interval {
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
            may_be_nan: self.may_be_nan || other.may_be_nan,
        }
    }

    fn or_nan(self, may_be_nan: bool) -> Interval {
        Interval { may_be_nan: self.may_be_nan || may_be_nan, ..self }
    }

    fn is_nothing(&self) -> bool {
        self.lo > self.hi
    }

    fn is_unbounded(&self) -> bool {
        !self.is_nothing() && (self.lo == f64::NEG_INFINITY || self.hi == f64::INFINITY)
    }

    /// Whether the value can count as true: anything but zero does.
    pub(crate) fn can_be_true(&self) -> bool {
        self.may_be_nan || self.lo < 0.0 || self.hi > 0.0
    }

    pub(crate) fn can_be_false(&self) -> bool {
        self.contains(0.0)
    }

    /// The largest absolute value.
    fn magnitude(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    fn widen(self) -> Interval {
        let mut widened = self;
        for _ in 0..WIDENING_ULPS {
            widened.lo = widened.lo.next_down();
            widened.hi = widened.hi.next_up();
        }
        widened
    }

    /// 1 if it can be true, 0 if it can be false.
    fn truth(can_be_true: bool, can_be_false: bool) -> Interval {
        let lo = if can_be_false { 0.0 } else { 1.0 };
        let hi = if can_be_true { 1.0 } else { 0.0 };
        Interval::between(lo, hi)
    }

    /// Whether it is true, as a number.
    pub(crate) fn as_truth(&self) -> Interval {
        Interval::truth(self.can_be_true(), self.can_be_false())
    }

    /// Whether it is one of these numbers.
    pub(crate) fn is_in(&self, set: &[f64]) -> Interval {
        let can_be_in = set.iter().any(|element| !element.is_nan() && self.contains(*element));
        let is_in = !self.may_be_nan && self.lo == self.hi && set.contains(&self.lo);
        Interval::truth(can_be_in, !is_in)
    }

    /// Whether it is no more than one value.
    pub(crate) fn is_exact(&self) -> bool {
        if self.may_be_nan { self.is_nothing() } else { self.lo.to_bits() == self.hi.to_bits() }
    }

    /// Itself if its ends are numbers; otherwise nothing is known.
    pub(crate) fn or_anything(self) -> Interval {
        if self.lo.is_nan() || self.hi.is_nan() { Interval::ANYTHING } else { self }
    }

    /// The smallest interval with all of these; NaNs among them are left out.
    fn hull(values: &[f64]) -> Interval {
        let numbers = values.iter().filter(|value| !value.is_nan());
        numbers.fold(Interval::NOTHING, |hull, value| hull.union(Interval::exactly(*value)))
    }
}

/// Bounds of a function of one number.
pub(crate) fn unary(function: Unary, x: Interval) -> Interval {
    match function {
        Unary::Not => return Interval::truth(x.can_be_false(), x.can_be_true()),
        Unary::IsNan => return Interval::truth(x.may_be_nan, !x.is_nothing()),
        // What is not at least 0 has sign −1, NaN too.
        Unary::Sign => {
            let numbers =
                if x.is_nothing() { x } else { Interval::between(function.apply(x.lo), function.apply(x.hi)) };
            return if x.may_be_nan { numbers.union(Interval::exactly(-1.0)) } else { numbers }.numbers();
        }
        _ if x.is_nothing() => return x,
        // Where angles between vectors are, cosines fall. Of several angles they need not be known to the last digit.
        Unary::Cos if x.lo >= 0.0 && x.hi <= PI && x.hi - x.lo > COSINE_ERROR => {
            let (lo, hi) = (cosine_about(x.hi) - COSINE_ERROR, cosine_about(x.lo) + COSINE_ERROR);
            return Interval::between(lo.max(-1.0), hi.min(1.0)).or_nan(x.may_be_nan);
        }
        _ => {}
    }
    let ends = Interval::hull(&[function.apply(x.lo), function.apply(x.hi)]);
    let numbers = match function {
        Unary::Negate | Unary::Ceil | Unary::Floor | Unary::Relu | Unary::Round => ends,
        Unary::Abs | Unary::Fabs | Unary::Square if x.contains(0.0) => ends.union(Interval::exactly(0.0)),
        Unary::Abs | Unary::Fabs | Unary::Square => ends,
        Unary::Sqrt => within_domain(function, x, 0.0, f64::INFINITY),
        Unary::Log | Unary::Log10 => within_domain(function, x, 0.0, f64::INFINITY).widen(),
        Unary::Acos | Unary::Asin => within_domain(function, x, -1.0, 1.0).widen(),
        Unary::Cosh if x.contains(0.0) => ends.union(Interval::exactly(1.0)).widen(),
        Unary::Cosh | Unary::Atan | Unary::Erf | Unary::Exp | Unary::Sinh | Unary::Tanh => ends.widen(),
        Unary::Elu => elu(x),
        // The sum takes the error of `exp` in without enlarging it.
        Unary::Sigmoid => ends.widen(),
        Unary::Cos if x.lo >= 0.0 && x.hi <= PI => ends.widen(),
        Unary::Cos | Unary::Sin => Interval::between(-1.0, 1.0).or_nan(x.is_unbounded()),
        Unary::Tan => Interval::ANYTHING,
        Unary::Not | Unary::IsNan | Unary::Sign => ends,
    };
    numbers.or_nan(x.may_be_nan)
}

impl Interval {
    /// The same without NaN.
    fn numbers(self) -> Interval {
        Interval { may_be_nan: false, ..self }
    }
}

/// More than [`cosine_about`] is wrong by: the first term that it leaves out is (π/2)¹⁴/14!, below 6.4·10⁻⁹.
const COSINE_ERROR: f64 = 6.5e-9;

/// The cosine of an angle from 0 to π by the first terms of its series, in the half where these fall fastest.
fn cosine_about(angle: f64) -> f64 {
    let folded = angle.min(PI - angle);
    let square = folded * folded;
    let last = 1.0 / 40_320.0 - square * (1.0 / 3_628_800.0 - square / 479_001_600.0);
    let sum = 1.0 - square * (0.5 - square * (1.0 / 24.0 - square * (1.0 / 720.0 - square * last)));
    if angle > FRAC_PI_2 { -sum } else { sum }
}

/// Bounds of `elu`. Its difference enlarges the error of `exp`, so that is widened before.
fn elu(x: Interval) -> Interval {
    let positive = if x.hi >= 0.0 { Interval::between(x.lo.max(0.0), x.hi) } else { Interval::NOTHING };
    if x.lo >= 0.0 {
        return positive;
    }
    let powers = Interval::between(libm::exp(x.lo), libm::exp(x.hi.min(0.0))).widen();
    positive.union(Interval::between(powers.lo - 1.0, powers.hi - 1.0))
}

/// Bounds of a monotone function that is NaN outside of its domain.
fn within_domain(function: Unary, x: Interval, lowest: f64, highest: f64) -> Interval {
    let is_outside = x.lo < lowest || x.hi > highest;
    let (lo, hi) = (x.lo.max(lowest), x.hi.min(highest));
    let inside = if lo > hi { Interval::NOTHING } else { Interval::hull(&[function.apply(lo), function.apply(hi)]) };
    // The function of −0 is that of 0, but for the sign of a zero.
    inside.or_nan(is_outside)
}

/// Bounds of a sum, difference or product of finite numbers, which is most of what is bounded; nothing for others.
#[inline]
fn finite(function: Binary, a: &Interval, b: &Interval) -> Option<Interval> {
    let are_finite = |of: &Interval| of.lo <= of.hi && of.lo.is_finite() && of.hi.is_finite();
    if !are_finite(a) || !are_finite(b) {
        return None;
    }
    let (lo, hi) = match function {
        Binary::Add => (a.lo + b.lo, a.hi + b.hi),
        Binary::Subtract => (a.lo - b.hi, a.hi - b.lo),
        // By a number that is known, which is most of it: no comparisons.
        Binary::Multiply if b.lo == b.hi => in_order(a.lo * b.lo, a.hi * b.lo, b.lo < 0.0),
        Binary::Multiply if a.lo == a.hi => in_order(a.lo * b.lo, a.lo * b.hi, a.lo < 0.0),
        Binary::Multiply => {
            let products = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi];
            let lo = products[0].min(products[1]).min(products[2].min(products[3]));
            (lo, products[0].max(products[1]).max(products[2].max(products[3])))
        }
        _ => return None,
    };
    Some(Interval { lo, hi, may_be_nan: a.may_be_nan || b.may_be_nan })
}

/// Two ends, in turned order if so told.
#[inline]
fn in_order(low: f64, high: f64, are_turned: bool) -> (f64, f64) {
    if are_turned { (high, low) } else { (low, high) }
}

/// Bounds of a function of two numbers.
pub(crate) fn binary(function: Binary, a: Interval, b: Interval) -> Interval {
    if let Some(bounds) = finite(function, &a, &b) {
        return bounds;
    }
    if let Some(truth) = comparison(function, a, b) {
        return truth;
    }
    match function {
        Binary::Max => return extreme(a, b, f64::max),
        Binary::Min => return extreme(a, b, f64::min),
        Binary::MaxOrNan => return extreme(a, b, f64::max).or_nan(b.may_be_nan),
        Binary::MinOrNan => return extreme(a, b, f64::min).or_nan(b.may_be_nan),
        Binary::Bit => return Interval::between(0.0, 1.0),
        Binary::Hamming => return Interval::between(0.0, 8.0),
        // An exponent that is NaN counts as 0, one of −∞ or ∞ as the smallest or largest.
        Binary::Ldexp if b.may_be_nan => return Interval::ANYTHING,
        _ => {}
    }
    let nan = a.may_be_nan || b.may_be_nan;
    if a.is_nothing() || b.is_nothing() {
        return power_of_nan(function, a, b).or_nan(nan);
    }
    let corners = || {
        let values = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)].map(|(a, b)| function.apply(a, b));
        (Interval::hull(&values), values.iter().any(|value| value.is_nan()))
    };
    let numbers = match function {
        Binary::Add | Binary::Subtract => {
            let (hull, is_nan) = corners();
            if is_nan { Interval::ANYTHING } else { hull }
        }
        Binary::Multiply => {
            let zero_times_infinity = |a: &Interval, b: &Interval| a.contains(0.0) && b.is_unbounded();
            let is_nan = zero_times_infinity(&a, &b) || zero_times_infinity(&b, &a);
            let hull = corners().0;
            if is_nan { hull.union(Interval::exactly(0.0)).or_nan(true) } else { hull }
        }
        Binary::Divide if b.contains(0.0) => Interval::ANYTHING,
        Binary::Divide => {
            let is_nan = a.is_unbounded() && b.is_unbounded();
            let hull = corners().0;
            if is_nan { hull.union(Interval::exactly(0.0)).or_nan(true) } else { hull }
        }
        Binary::Power | Binary::Pow => power(a, b, corners().0),
        Binary::Modulo | Binary::Fmod => {
            let bound = a.magnitude().min(b.magnitude());
            let lo = if a.lo < 0.0 { -bound } else { 0.0 };
            let hi = if a.hi > 0.0 { bound } else { 0.0 };
            Interval::between(lo, hi).or_nan(b.contains(0.0) || a.is_unbounded())
        }
        Binary::Ldexp => {
            let (hull, is_nan) = corners();
            hull.widen().or_nan(is_nan)
        }
        _ => Interval::between(-PI, PI).widen(),
    };
    power_of_nan(function, a, b).union(numbers).or_nan(nan)
}

/// `pow` yields 1 for anything to the power of 0 and for 1 to any power, NaN too.
fn power_of_nan(function: Binary, a: Interval, b: Interval) -> Interval {
    let is_one = a.may_be_nan && b.contains(0.0) || b.may_be_nan && a.contains(1.0);
    if matches!(function, Binary::Power | Binary::Pow) && is_one { Interval::exactly(1.0) } else { Interval::NOTHING }
}

/// Bounds of a power. Of numbers from 0 on they are at the corners; of others only a whole constant power is bounded.
fn power(a: Interval, b: Interval, corners: Interval) -> Interval {
    // A power of zero below zero is infinite, of −0 perhaps negative.
    if a.contains(0.0) && b.lo < 0.0 {
        return Interval::ANYTHING;
    }
    if a.lo >= 0.0 {
        return if b.contains(0.0) { corners.union(Interval::exactly(1.0)).widen() } else { corners.widen() };
    }
    if b.lo != b.hi || b.lo.floor() != b.lo || b.lo.is_infinite() {
        return Interval::ANYTHING;
    }
    if a.contains(0.0) { corners.union(Interval::exactly(0.0)).widen() } else { corners.widen() }
}

/// Bounds of `max` and `min`: the first number if either is NaN.
fn extreme(a: Interval, b: Interval, choose: fn(f64, f64) -> f64) -> Interval {
    let both = if a.is_nothing() || b.is_nothing() {
        Interval::NOTHING
    } else {
        Interval::between(choose(a.lo, b.lo), choose(a.hi, b.hi))
    };
    let first = if b.may_be_nan { a.numbers() } else { Interval::NOTHING };
    both.union(first).or_nan(a.may_be_nan)
}

/// Bounds of comparisons and logic: which truth values are possible.
fn comparison(function: Binary, a: Interval, b: Interval) -> Option<Interval> {
    let nan = a.may_be_nan || b.may_be_nan;
    let are_numbers = !a.is_nothing() && !b.is_nothing();
    let less = |a: &Interval, b: &Interval| are_numbers && a.lo < b.hi;
    let less_or_equal = |a: &Interval, b: &Interval| are_numbers && a.lo <= b.hi;
    let overlap = are_numbers && a.lo <= b.hi && b.lo <= a.hi;
    let differ = are_numbers && !(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo);
    Some(match function {
        Binary::Less => Interval::truth(less(&a, &b), nan || less_or_equal(&b, &a)),
        Binary::Greater => Interval::truth(less(&b, &a), nan || less_or_equal(&a, &b)),
        Binary::LessOrEqual => Interval::truth(less_or_equal(&a, &b), nan || less(&b, &a)),
        Binary::GreaterOrEqual => Interval::truth(less_or_equal(&b, &a), nan || less(&a, &b)),
        Binary::Equal => Interval::truth(overlap, nan || differ),
        Binary::NotEqual => Interval::truth(nan || differ, overlap),
        Binary::Approximately => Interval::between(0.0, 1.0),
        Binary::And => Interval::truth(a.can_be_true() && b.can_be_true(), a.can_be_false() || b.can_be_false()),
        Binary::Or => Interval::truth(a.can_be_true() || b.can_be_true(), a.can_be_false() && b.can_be_false()),
        _ => return None,
    })
}
