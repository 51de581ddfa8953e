//! Texts and ranges of a query as tests on numbers, in the arithmetic of the column they ask.
use brooklet_query::tree::{Bound as End, Number, NumberTerm};
use brooklet_segment::layout::{ColumnKind, ColumnSpec, NumberKind};

use crate::plan::condition::NumberTest;

/// The arithmetic of a column.
pub(super) fn number_kind(spec: &ColumnSpec) -> NumberKind {
    match spec.kind {
        ColumnKind::Numbers { number, .. } => number,
        _ => NumberKind::Int64,
    }
}

/// A text as a number for a numeric field; nothing if it is none, which matches nothing.
pub(super) fn number_of_text(text: &str, kind: NumberKind) -> Option<NumberTest> {
    if kind == NumberKind::Bool {
        let value = i64::from(text.eq_ignore_ascii_case("true") || text == "1");
        return Some(NumberTest::Integers { low: value, high: value });
    }
    let number = match text.trim().parse::<i64>() {
        Ok(integer) => Number::Integer(integer),
        // No integer is as much as `inf` or `nan`, which are words like others.
        Err(_) => {
            let float = text.trim().parse().ok().filter(|float: &f64| float.is_finite() || !kind.is_integer());
            Number::Float(float?)
        }
    };
    let (low, high) = (End::Inclusive(number), End::Inclusive(number));
    Some(range(&NumberTerm { field: String::new(), text: text.to_owned(), low, high, hit_limit: None }, kind))
}

/// A word as a number or, where it is written so (`<5`, `[1;5]`), a range of numbers.
pub(super) fn numbers_of_word(text: &str, kind: NumberKind) -> Option<NumberTest> {
    number_of_text(text, kind).or_else(|| {
        let (low, high) = brooklet_query::range_of_text(text)?;
        Some(range(&NumberTerm { field: String::new(), text: text.to_owned(), low, high, hit_limit: None }, kind))
    })
}

/// A range with both ends included, in the arithmetic of the column.
pub(super) fn range(term: &NumberTerm, kind: NumberKind) -> NumberTest {
    if kind.is_integer() {
        let equality = term.low == term.high;
        return integers(low_integer(term.low, equality), high_integer(term.high, equality));
    }
    let cast = |number: Number| match kind {
        NumberKind::Float32 => f64::from(number.as_f64() as f32),
        _ => number.as_f64(),
    };
    let next = |value: f64, up: bool| match (kind, up) {
        (NumberKind::Float32, true) => f64::from((value as f32).next_up()),
        (NumberKind::Float32, false) => f64::from((value as f32).next_down()),
        (_, true) => value.next_up(),
        (_, false) => value.next_down(),
    };
    let low = match term.low {
        End::Unbounded => f64::NEG_INFINITY,
        End::Inclusive(number) => cast(number),
        End::Exclusive(number) => next(cast(number), true),
    };
    let high = match term.high {
        End::Unbounded => f64::INFINITY,
        End::Inclusive(number) => cast(number),
        End::Exclusive(number) => next(cast(number), false),
    };
    NumberTest::Floats { low, high }
}

/// The integers of a column that are in a range; a range that ends before it begins where there are none.
fn integers(low: i128, high: i128) -> NumberTest {
    let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
    if low > most || high < least {
        return NumberTest::Integers { low: i64::MAX, high: i64::MIN };
    }
    NumberTest::Integers { low: low.max(least) as i64, high: high.min(most) as i64 }
}

/// The smallest integer of a range. An equality rounds half away from zero, a range upwards.
fn low_integer(end: End, equality: bool) -> i128 {
    match end {
        End::Unbounded => i128::MIN,
        End::Inclusive(Number::Integer(value)) => value.into(),
        End::Exclusive(Number::Integer(value)) => i128::from(value) + 1,
        End::Inclusive(Number::Float(value)) if equality => value.round() as i128,
        End::Inclusive(Number::Float(value)) => value.ceil() as i128,
        End::Exclusive(Number::Float(value)) => {
            let least = value.ceil();
            if least == value { (least as i128).saturating_add(1) } else { least as i128 }
        }
    }
}

/// The largest integer of a range.
fn high_integer(end: End, equality: bool) -> i128 {
    match end {
        End::Unbounded => i128::MAX,
        End::Inclusive(Number::Integer(value)) => value.into(),
        End::Exclusive(Number::Integer(value)) => i128::from(value) - 1,
        End::Inclusive(Number::Float(value)) if equality => value.round() as i128,
        End::Inclusive(Number::Float(value)) => value.floor() as i128,
        End::Exclusive(Number::Float(value)) => {
            let most = value.floor();
            if most == value { (most as i128).saturating_sub(1) } else { most as i128 }
        }
    }
}
