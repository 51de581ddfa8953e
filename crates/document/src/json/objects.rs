//! Finds the objects of a feed in its bytes, without reading them: one after the other, on a line each or not, or in a
//! list. What is in them is checked when each is read.
use brooklet_task::{Code, Rejection};
use memchr::{memchr2, memchr3};

/// What stands next in a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextObject {
    /// An object, whole: where it stands.
    Object(std::ops::Range<usize>),
    /// An object that begins here and does not end yet.
    Begun(usize),
    /// Nothing but what may stand between objects.
    Nothing,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The next object of `feed` from `start` on.
///
/// # Errors
/// If something else stands there than an object, space, a comma or a bracket.
pub fn next_object(feed: &[u8], start: usize) -> Result<NextObject, Rejection> {
    // A feed may begin with a byte order mark.
    let start = if start == 0 && feed.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { start };
    let between = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b',' | b'[' | b']');
    let space = feed[start..].iter().position(|byte| !between(byte));
    let Some(begin) = space.map(|space| start + space) else { return Ok(NextObject::Nothing) };
    if feed[begin] != b'{' {
        let shown = String::from_utf8_lossy(&feed[begin..(begin + 4).min(feed.len())]).chars().next().unwrap_or(' ');
        let message = format!("'{shown}' stands where an operation should begin with '{{'");
        return Err(Rejection::new(Code::InvalidDocument, message));
    }
    Ok(end_of_object(feed, begin).map_or(NextObject::Begun(begin), |end| NextObject::Object(begin..end)))
}

/// Where the object ends that begins at `begin`: after the brace that closes it. Braces in strings do not count.
fn end_of_object(feed: &[u8], begin: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = begin;
    loop {
        at += memchr3(b'{', b'}', b'"', &feed[at..])?;
        match feed[at] {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => at = end_of_string(feed, at + 1)?,
        }
        at += 1;
    }
}

/// Where the string ends whose content begins at `begin`: its closing quote.
fn end_of_string(feed: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin;
    loop {
        at += memchr2(b'"', b'\\', feed.get(at..)?)?;
        if feed[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All objects of a feed, and what is left at its end.
    fn objects(feed: &str) -> (Vec<&str>, &str) {
        let (mut found, mut at) = (Vec::new(), 0);
        loop {
            match next_object(feed.as_bytes(), at).expect("objects") {
                NextObject::Object(range) => {
                    at = range.end;
                    found.push(&feed[range]);
                }
                NextObject::Begun(begin) => return (found, &feed[begin..]),
                NextObject::Nothing => return (found, ""),
            }
        }
    }

    #[test]
    fn objects_are_found_however_they_are_laid_out() {
        let [one, two] = [r#"{"put":"id:a:b::1","fields":{"t":"a } \" { \\"}}"#, r#"{"remove":"x"}"#];
        for feed in [
            format!("{one}\n{two}\n"),
            format!("[{one},{two}]"),
            format!(" [\r\n{one} ,\n\t{two}\n]\n"),
            format!("{one}{two}"),
        ] {
            assert_eq!(objects(&feed), (vec![one, two], ""), "{feed}");
        }
        assert_eq!(objects(" [ ,] \n"), (vec![], ""));
    }

    #[test]
    fn what_does_not_end_yet_is_left() {
        let one = r#"{"a":"}","b":{"c":"\\"}}"#;
        for length in 1..one.len() {
            assert_eq!(objects(&one[..length]), (vec![], &one[..length]));
        }
        assert_eq!(objects(r#"{"a":1} {"b":"\"#), (vec![r#"{"a":1}"#], r#"{"b":"\"#));
    }

    #[test]
    fn anything_else_is_refused() {
        let message = |feed: &[u8]| next_object(feed, 0).unwrap_err().message;
        assert_eq!(message(b" x{}"), "'x' stands where an operation should begin with '{'");
        assert_eq!(message("é".as_bytes()), "'é' stands where an operation should begin with '{'");
        assert!(next_object(b"}", 0).is_err() && next_object(&[0xff], 0).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_do_not_panic(bytes in prop::collection::vec(prop::sample::select(b"{}\"\\ ,[]a\xff".to_vec()), 0..80)) {
            let mut at = 0;
            while let Ok(NextObject::Object(range)) = next_object(&bytes, at) {
                prop_assert!(range.start >= at && range.end > range.start && range.end <= bytes.len());
                at = range.end;
            }
        }

        #[test]
        fn strings_with_anything_in_them_hide_their_braces(texts in prop::collection::vec(".*", 1..6), pad in 0usize..40) {
            let feed: Vec<String> = texts
                .iter()
                .map(|text| serde_json::json!({ "put": text, "fields": { text.as_str(): [{}, "{", 1] } }).to_string())
                .collect();
            let joined = format!("{}{}", " ".repeat(pad), feed.join("\n"));
            let (found, rest) = objects(&joined);
            prop_assert_eq!((found, rest), (feed.iter().map(String::as_str).collect::<Vec<_>>(), ""));
        }
    }
}
