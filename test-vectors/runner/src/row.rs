//! Reading members of a row, and writing values so that every bit shows.
use std::fmt::Write;

use brooklet_document::Tensor;
use brooklet_document::encode::encode_tensor;
use brooklet_task::Rejection;
use brooklet_task::bytes::Writer;
use serde_json::Value as Json;

/// A member that is text.
pub(crate) fn text<'a>(row: &'a Json, member: &str) -> Option<&'a str> {
    row.get(member).and_then(Json::as_str)
}

/// A member that must be there and be text.
pub(crate) fn needed<'a>(row: &'a Json, member: &str) -> &'a str {
    text(row, member).unwrap_or_else(|| panic!("no text '{member}' in {row}"))
}

/// The bits of a number. Any NaN is one NaN: no operation promises which.
pub(crate) fn bits(number: f64) -> String {
    if number.is_nan() { "nan".to_owned() } else { format!("{:016x}", number.to_bits()) }
}

/// Bytes in hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all text");
        text
    })
}

/// A tensor: its text, its stored bytes and the bits of its cells.
pub(crate) fn tensor(tensor: &Tensor) -> String {
    let mut stored = Writer::new();
    encode_tensor(tensor, &mut stored);
    let cells: Vec<String> = tensor.cells.iter().map(|cell| bits(*cell)).collect();
    format!("{tensor} | {} | {}", hexadecimal(&stored.finish()), cells.join(" "))
}

/// A rejection with all that is known of it.
pub(crate) fn refusal(rejection: &Rejection) -> String {
    let place = rejection.span.map(|span| format!(" at {} ({}:{})", span.offset, span.line, span.column));
    format!("refused {}{}: {}", rejection.code.name(), place.unwrap_or_default(), rejection.message)
}

/// What a step made, or why it was refused.
pub(crate) fn outcome(outcome: Result<String, Rejection>) -> String {
    outcome.unwrap_or_else(|rejection| refusal(&rejection))
}
