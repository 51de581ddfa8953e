//! Words of addresses, as fields of type uri have them.

/// The parts of an address, as uri fields are cut: letters, digits, `-` and `_` of ASCII.
pub(crate) fn uri_words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
