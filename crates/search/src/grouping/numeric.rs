//! Arithmetic as the reference's content node does it: whole numbers wrap around, and what is divided by zero is zero.
use brooklet_query::grouping::tree::Math;
use brooklet_rank::distance::{haversine, haversine_to_km};

use super::datum::{Datum, round};

/// Kilometres of a mile.
const MILE_KM: f64 = 1.609_344;

/// Operators of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// The result in doubles or in whole numbers.
pub(crate) fn apply(operator: Operator, double: bool, a: &Datum, b: &Datum) -> Datum {
    if !double || matches!(operator, Operator::And | Operator::Or | Operator::Xor) {
        return Datum::Long(of_longs(operator, a.long(), b.long()));
    }
    Datum::Double(of_doubles(operator, a.double(), b.double()))
}

fn of_longs(operator: Operator, a: i64, b: i64) -> i64 {
    match operator {
        Operator::Add => a.wrapping_add(b),
        Operator::Sub => a.wrapping_sub(b),
        Operator::Mul => a.wrapping_mul(b),
        Operator::Div if b == 0 => 0,
        Operator::Div => a.wrapping_div(b),
        Operator::Mod if b == 0 => 0,
        Operator::Mod => a.wrapping_rem(b),
        Operator::Min => a.min(b),
        Operator::Max => a.max(b),
        Operator::And => a & b,
        Operator::Or => a | b,
        Operator::Xor => a ^ b,
    }
}

fn of_doubles(operator: Operator, a: f64, b: f64) -> f64 {
    match operator {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mul => a * b,
        Operator::Div if b == 0.0 => 0.0,
        Operator::Div => a / b,
        Operator::Min if b < a || a.is_nan() => b,
        Operator::Max if b > a || a.is_nan() => b,
        Operator::Min | Operator::Max => a,
        _ => of_longs(operator, round(a), round(b)) as f64,
    }
}

/// `-value`
pub(crate) fn negate(value: &Datum) -> Datum {
    match value {
        Datum::Double(value) => Datum::Double(-value),
        Datum::Text(_) | Datum::Raw(_) => Datum::Double(-value.double()),
        value => Datum::Long(value.long().wrapping_neg()),
    }
}

/// Functions of one number, or of two.
pub(crate) fn math(function: Math, a: f64, b: f64) -> f64 {
    match function {
        Math::Exp => libm::exp(a),
        Math::Log => libm::log(a),
        Math::Log1p => libm::log1p(a),
        Math::Log10 => libm::log10(a),
        Math::Sqrt => libm::sqrt(a),
        Math::Cbrt => libm::cbrt(a),
        Math::Sin => libm::sin(a),
        Math::Cos => libm::cos(a),
        Math::Tan => libm::tan(a),
        Math::Asin => libm::asin(a),
        Math::Acos => libm::acos(a),
        Math::Atan => libm::atan(a),
        Math::Sinh => libm::sinh(a),
        Math::Cosh => libm::cosh(a),
        Math::Tanh => libm::tanh(a),
        Math::Asinh => libm::asinh(a),
        Math::Acosh => libm::acosh(a),
        Math::Atanh => libm::atanh(a),
        Math::Floor => libm::floor(a),
        Math::Pow => libm::pow(a, b),
        Math::Hypot => libm::hypot(a, b),
    }
}

/// Where a number is among ascending ones, as an index with a fraction.
pub(crate) fn lookup(values: &[Datum], at: f64) -> f64 {
    let after = values.iter().position(|value| value.double() > at).unwrap_or(values.len());
    if after == 0 || at.is_nan() {
        return 0.0;
    }
    if after == values.len() {
        return (values.len() - 1) as f64;
    }
    let (low, high) = (values[after - 1].double(), values[after].double());
    (after - 1) as f64 + (at - low) / (high - low)
}

/// The way along the surface to the nearest of some places, each given as latitude and longitude in degrees.
pub(crate) fn distance(places: &Datum, from: [f64; 2], miles: bool) -> Datum {
    let numbers: Vec<f64> = places.elements().iter().map(Datum::double).collect();
    let kilometres =
        numbers.chunks_exact(2).map(|place| haversine_to_km(haversine(from[0], from[1], place[0], place[1])));
    let nearest = kilometres.min_by(f64::total_cmp);
    nearest.map_or(Datum::Nothing, |km| Datum::Double(if miles { km / MILE_KM } else { km }))
}

/// A place in micro-degrees as one number: the bits of longitude and latitude by turns.
pub(crate) fn curve(x: i32, y: i32) -> i64 {
    let spread = |value: i32| (0..32).fold(0u64, |out, bit| out | u64::from(value as u32 >> bit & 1) << (2 * bit));
    (spread(x) | spread(y) << 1) as i64
}

/// Longitude, or latitude, of a place as one number.
pub(crate) fn on_curve(place: i64, latitude: bool) -> i64 {
    let bits = place as u64 >> u32::from(latitude);
    let value = (0..32).fold(0u32, |out, bit| out | ((bits >> (2 * bit) & 1) as u32) << bit);
    i64::from(value as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_traps() {
        let long = |operator, a, b| apply(operator, false, &Datum::Long(a), &Datum::Long(b)).long();
        assert_eq!(long(Operator::Div, 7, 0), 0);
        assert_eq!(long(Operator::Mod, 7, 0), 0);
        assert_eq!(long(Operator::Div, i64::MIN, -1), i64::MIN);
        assert_eq!(long(Operator::Mod, i64::MIN, -1), 0);
        assert_eq!(long(Operator::Div, -7, 2), -3);
        assert_eq!(long(Operator::Add, i64::MAX, 1), i64::MIN);
        let double = |operator, a, b| apply(operator, true, &Datum::Double(a), &Datum::Double(b)).double();
        assert_eq!(double(Operator::Div, 1.0, 0.0), 0.0);
        assert_eq!(double(Operator::Mod, 7.5, 3.4), 2.0);
        assert_eq!(double(Operator::Min, f64::NAN, 1.0), 1.0);
        assert_eq!(negate(&Datum::Long(i64::MIN)).long(), i64::MIN);
    }

    #[test]
    fn places_are_read_from_the_curve() {
        for (x, y) in [(0, 0), (10_400_000, 63_400_000), (-180_000_000, -90_000_000), (i32::MIN, i32::MAX)] {
            assert_eq!((on_curve(curve(x, y), false), on_curve(curve(x, y), true)), (i64::from(x), i64::from(y)));
        }
    }

    #[test]
    fn numbers_are_looked_up_between_others() {
        let values: Vec<Datum> = [1.0, 2.0, 4.0].map(Datum::Double).to_vec();
        for (at, index) in [(0.5, 0.0), (1.0, 0.0), (1.5, 0.5), (3.0, 1.5), (4.0, 2.0), (9.0, 2.0)] {
            assert_eq!(lookup(&values, at), index);
        }
        assert_eq!(lookup(&[], 1.0), 0.0);
    }
}
