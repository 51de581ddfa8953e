//! Integers as Java's `parseInt` and its kin read them: a sign, digits, nothing else.
use brooklet_task::Rejection;

use super::refusal::refusal;

/// A 32-bit integer.
pub(super) fn parse_int(text: &str) -> Result<i32, Rejection> {
    text.parse().map_err(|_| not_a_number(text))
}

/// A 64-bit integer.
pub(super) fn parse_long(text: &str) -> Result<i64, Rejection> {
    text.parse().map_err(|_| not_a_number(text))
}

/// An 8-bit integer.
pub(super) fn parse_byte(text: &str) -> Result<i8, Rejection> {
    let wide = parse_int(text)?;
    i8::try_from(wide)
        .map_err(|_| refusal(&format!("Value out of range. Value:\"{}\" Radix:10", Rejection::quote(text))))
}

fn not_a_number(text: &str) -> Rejection {
    refusal(&format!("For input string: \"{}\"", Rejection::quote(text)))
}
