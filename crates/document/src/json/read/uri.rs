//! Whether a text can be a URI (RFC 2396 as Java's class of that name reads it, letters of all scripts allowed).
use brooklet_task::Rejection;

use super::refused;

/// Refuses spaces, control characters, the signs that must be escaped, and broken escapes.
pub(super) fn check_uri(text: &str) -> Result<(), Rejection> {
    let bytes = text.as_bytes();
    for (at, c) in text.char_indices() {
        let fault = match c {
            '%' if !bytes[at + 1..].iter().take(2).filter(|byte| byte.is_ascii_hexdigit()).count().eq(&2) => {
                "Malformed escape pair"
            }
            '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => "Illegal character",
            c if c.is_whitespace() || c.is_control() => "Illegal character",
            _ => continue,
        };
        return Err(refused(&format!("{fault} at index {at}: {}", Rejection::quote(text))));
    }
    if text.starts_with(':') {
        return Err(refused(&format!("Expected scheme name at index 0: {}", Rejection::quote(text))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_uris_are_refused() {
        for good in ["", "http://a/b?c=d#e", "mailto:x@y", "a%20b", "http://é/日本", "http://[::1]/"] {
            assert!(check_uri(good).is_ok(), "{good}");
        }
        for bad in ["a b", "%", "%2", "%zz", "a|b", "http://a/<b>", ":x", "a\u{a0}b", "\t"] {
            assert!(check_uri(bad).is_err(), "{bad}");
        }
    }
}
