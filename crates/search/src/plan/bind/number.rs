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
        Err(_) => Number::Float(text.trim().parse().ok()?),
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
        return NumberTest::Integers { low: low_integer(term.low, equality), high: high_integer(term.high, equality) };
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

/// The smallest integer of a range. An equality rounds half away from zero, a range upwards.
fn low_integer(end: End, equality: bool) -> i64 {
    match end {
        End::Unbounded => i64::MIN,
        End::Inclusive(Number::Integer(value)) => value,
        End::Exclusive(Number::Integer(value)) => value.saturating_add(1),
        End::Inclusive(Number::Float(value)) if equality => value.round() as i64,
        End::Inclusive(Number::Float(value)) => value.ceil() as i64,
        End::Exclusive(Number::Float(value)) => {
            let least = value.ceil();
            if least == value { (least as i64).saturating_add(1) } else { least as i64 }
        }
    }
}

/// The largest integer of a range.
fn high_integer(end: End, equality: bool) -> i64 {
    match end {
        End::Unbounded => i64::MAX,
        End::Inclusive(Number::Integer(value)) => value,
        End::Exclusive(Number::Integer(value)) => value.saturating_sub(1),
        End::Inclusive(Number::Float(value)) if equality => value.round() as i64,
        End::Inclusive(Number::Float(value)) => value.floor() as i64,
        End::Exclusive(Number::Float(value)) => {
            let most = value.floor();
            if most == value { (most as i64).saturating_sub(1) } else { most as i64 }
        }
    }
}
