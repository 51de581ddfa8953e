//! Words of addresses, as fields of type uri have them.
use crate::surroundings::{CharacterClass, Linguistics};

/// The parts of an address in the simple language: letters and digits of any script, `-` and `_`.
pub(crate) fn uri_words(text: &str, linguistics: &dyn Linguistics) -> Vec<String> {
    let is_part = |c: char| matches!(c, '-' | '_') || linguistics.class(c) != CharacterClass::Other;
    let parts = text.split(|c: char| !is_part(c));
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
