//! Numbers as queries write them: `5`, `-2.5`, `<5`, `>5`, `[1;5]`, `<1;5>`, `[1;5;-10]`.
use crate::tree::{Bound, Number, NumberTerm};

/// The range a number expression means, without a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub low: Bound,
    pub high: Bound,
    pub hit_limit: Option<i32>,
}

impl Range {
    /// Exactly `number`.
    pub fn equal(number: Number) -> Range {
        Range { low: Bound::Inclusive(number), high: Bound::Inclusive(number), hit_limit: None }
    }

    /// A term on `field`; `text` is the expression as written, if its spelling matters to text fields.
    pub fn on(self, field: &str, text: Option<&str>) -> NumberTerm {
        let text = text.map_or_else(|| self.expression(), str::to_owned);
        NumberTerm { field: field.to_owned(), text, low: self.low, high: self.high, hit_limit: self.hit_limit }
    }

    /// The shortest expression of the range.
    fn expression(self) -> String {
        let limited = self.hit_limit.is_some();
        match (self.low, self.high) {
            (Bound::Inclusive(low), Bound::Inclusive(high)) if low == high && !limited => display(low),
            (Bound::Unbounded, Bound::Exclusive(high)) if !limited => format!("<{}", display(high)),
            (Bound::Exclusive(low), Bound::Unbounded) if !limited => format!(">{}", display(low)),
            (low, high) => {
                let open = if matches!(low, Bound::Exclusive(_)) { '<' } else { '[' };
                let close = if matches!(high, Bound::Exclusive(_)) { '>' } else { ']' };
                let limit = self.hit_limit.map(|limit| format!(";{limit}")).unwrap_or_default();
                format!("{open}{};{}{limit}{close}", bound_text(low), bound_text(high))
            }
        }
    }
}

fn bound_text(bound: Bound) -> String {
    match bound {
        Bound::Unbounded => String::new(),
        Bound::Inclusive(number) | Bound::Exclusive(number) => display(number),
    }
}

/// A number with the digits the reference implementation gives it.
pub(crate) fn display(number: Number) -> String {
    match number {
        Number::Integer(value) => value.to_string(),
        Number::Float(value) => display_float(value),
    }
}

/// The shortest digits that are this double: plain between 10⁻³ and 10⁷, else with an exponent; always with a fraction.
pub(crate) fn display_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        let plain = format!("{value}");
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let scientific = format!("{value:E}");
    let (digits, exponent) = scientific.split_once('E').unwrap_or((&scientific, "0"));
    if digits.contains('.') { scientific } else { format!("{digits}.0E{exponent}") }
}

/// The range that a text is where a number is asked for: `5`, `<5`, `>5`, `[1;5]`, `<1;5>` …; `None` if it is none.
#[must_use]
pub fn range_of_text(text: &str) -> Option<(Bound, Bound)> {
    parse_expression(text).map(|range| (range.low, range.high))
}

/// Reads an expression; `None` if it is none.
pub(crate) fn parse_expression(text: &str) -> Option<Range> {
    let text = text.trim();
    let first = text.chars().next()?;
    if text.contains(';') {
        return parse_range(text);
    }
    match first {
        '<' => parse_number(&text[1..]).map(|n| Range {
            low: Bound::Unbounded,
            high: Bound::Exclusive(n),
            hit_limit: None,
        }),
        '>' => parse_number(&text[1..]).map(|n| Range {
            low: Bound::Exclusive(n),
            high: Bound::Unbounded,
            hit_limit: None,
        }),
        _ => parse_number(text).map(Range::equal),
    }
}

fn parse_range(text: &str) -> Option<Range> {
    let (low_open, high_open) = match (text.chars().next()?, text.chars().next_back()?) {
        ('[', ']') => (false, false),
        ('<', ']') => (true, false),
        ('[', '>') => (false, true),
        ('<', '>') => (true, true),
        _ => return None,
    };
    let mut parts = text[1..text.len() - 1].split(';');
    let low = parse_bound(parts.next()?, low_open)?;
    let high = parse_bound(parts.next()?, high_open)?;
    let hit_limit = match parts.next() {
        Some(limit) => Some(limit.trim().parse().ok()?),
        None => None,
    };
    parts.next().is_none().then_some(Range { low, high, hit_limit })
}

fn parse_bound(text: &str, exclusive: bool) -> Option<Bound> {
    if text.trim().is_empty() {
        return Some(Bound::Unbounded);
    }
    let number = parse_number(text)?;
    Some(if exclusive { Bound::Exclusive(number) } else { Bound::Inclusive(number) })
}

/// A decimal number, finite.
pub(crate) fn parse_number(text: &str) -> Option<Number> {
    let text = text.trim();
    if !text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    if let Ok(value) = text.parse::<i64>() {
        return Some(Number::Integer(value));
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Number::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_with_a_fraction_and_an_exponent_where_they_are_large_or_small() {
        let cases = [
            (1000.0, "1000.0"),
            (-1500.0, "-1500.0"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (1e7, "1.0E7"),
            (123456789012345.5, "1.234567890123455E14"),
            (1.5e-7, "1.5E-7"),
            (0.0, "0.0"),
        ];
        for (value, text) in cases {
            assert_eq!(display_float(value), text);
        }
    }

    #[test]
    fn expressions_are_read_as_ranges() {
        let integer = |n| Bound::Inclusive(Number::Integer(n));
        assert_eq!(
            parse_expression("[1;5;-10]"),
            Some(Range { low: integer(1), high: integer(5), hit_limit: Some(-10) })
        );
        assert_eq!(parse_expression("<1;>").map(|range| range.low), Some(Bound::Exclusive(Number::Integer(1))));
        assert_eq!(parse_expression("1.50").map(|range| range.high), Some(Bound::Inclusive(Number::Float(1.5))));
        for wrong in ["", "a", "<", "[1;5", "[1;2;3;4]", "1e400", "NaN", "inf", "[a;1]", "--1", ";"] {
            assert_eq!(parse_expression(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_shortest_expression_reads_back() {
        for text in ["5", "-5", "<5", ">2.5", "[1;5]", "<1;5]", "[;5]", "[1;]", "[;]", "[1;5;7]"] {
            let range = parse_expression(text).unwrap();
            assert_eq!(range.expression(), text);
        }
    }
}
