//! What is refused while a document is read.
use brooklet_task::limits::JSON_KEYS;
use brooklet_task::{Code, Rejection};

use crate::json::UniqueNames;

/// Marks what the lexer refused, which alone has a place.
pub(crate) fn broken_json(rejection: Rejection) -> Rejection {
    if rejection.span.is_some() { rejection.within("failed parsing document") } else { rejection }
}

pub(crate) fn refusal(message: &str) -> Rejection {
    Rejection::new(Code::InvalidDocument, message)
}

/// Refuses a key that was seen before in its object, and objects with too many keys.
pub(crate) fn check_key(seen: &mut UniqueNames, key: &str) -> Result<(), Rejection> {
    if !seen.first_time(key) {
        return Err(refusal(&format!("Duplicate key '{}'", Rejection::quote(key))));
    }
    if seen.count() > JSON_KEYS {
        return Err(refusal(&format!("An object has more keys than the limit of {JSON_KEYS}")));
    }
    Ok(())
}
