//! Which code points a document id or a string field may hold.

/// Whether `c` may stand in text: no control characters but tab, line feed and carriage return, no non-characters.
#[must_use]
pub fn is_legal(c: char) -> bool {
    let code = u32::from(c);
    match code {
        0x09 | 0x0a | 0x0d | 0x20..=0xd7ff => true,
        0..=0x1f => false,
        _ => !(0xfdd0..=0xfddf).contains(&code) && code & 0xfffe != 0xfffe,
    }
}

/// The first code point of `text` that may not stand there.
#[must_use]
pub fn first_illegal(text: &str) -> Option<u32> {
    // Without an early exit in a chunk the compiler makes vector instructions of it.
    let is_plain = |bytes: &[u8]| bytes.iter().fold(true, |plain, byte| plain & (0x20..0x7f).contains(byte));
    if text.as_bytes().chunks(64).all(is_plain) {
        return None;
    }
    text.chars().find(|&c| !is_legal(c)).map(u32::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_non_characters_are_illegal() {
        for code in [0u32, 7, 0x1f, 0xfdd0, 0xfddf, 0xfffe, 0xffff, 0x1_fffe, 0x10_ffff] {
            assert_eq!(first_illegal(&format!("a{}", char::from_u32(code).unwrap())), Some(code));
        }
        for text in ["\t\r\n ~\u{7f}", "\u{d7ff}\u{e000}\u{fde0}\u{fffd}", "😀\u{200f}", "\u{10fffd}"] {
            assert_eq!(first_illegal(text), None, "{text:?}");
        }
    }
}
