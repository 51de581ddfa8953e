//! Base64: read leniently, as MIME does, and printed with padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What is wrong with a text that is not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base64Error {
    /// The last group has a single digit: fewer bits than a byte.
    LastUnit,
    /// Padding is not where a group of four ends.
    WrongEnding,
}

impl Base64Error {
    /// The sentence for the caller.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Base64Error::LastUnit => "Last unit does not have enough valid bits",
            Base64Error::WrongEnding => "Input byte array has wrong 4-byte ending unit",
        }
    }
}

/// The bytes that `text` stands for. What is not of the alphabet is passed over; padding may be left out.
///
/// # Errors
/// If the digits do not add up to whole bytes, or padding is misplaced.
pub fn decode_base64(text: &str) -> Result<Vec<u8>, Base64Error> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut digits, mut padding) = (0u32, 0usize, 0usize);
    for byte in text.bytes() {
        if byte == b'=' {
            padding += 1;
            continue;
        }
        let Some(value) = value_of(byte) else { continue };
        if padding > 0 {
            return Err(Base64Error::WrongEnding);
        }
        bits = bits << 6 | value;
        digits += 1;
        if digits.is_multiple_of(4) {
            out.extend_from_slice(&bits.to_be_bytes()[1..]);
        }
    }
    match (digits % 4, padding) {
        (0, 0) => {}
        (2, 0 | 2) => out.push((bits >> 4) as u8),
        (3, 0 | 1) => out.extend_from_slice(&((bits >> 2) as u16).to_be_bytes()),
        (1, _) => return Err(Base64Error::LastUnit),
        _ => return Err(Base64Error::WrongEnding),
    }
    Ok(out)
}

fn value_of(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

/// `bytes` in base64 with padding, without line breaks.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = char::from(ALPHABET[(group >> (18 - 6 * place)) as usize & 63]);
            out.push(if place <= chunk.len() { digit } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        for length in 0..40u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(37)).collect();
            let text = encode_base64(&bytes);
            assert_eq!(decode_base64(&text), Ok(bytes.clone()));
            assert_eq!(decode_base64(text.trim_end_matches('=')), Ok(bytes));
        }
        assert_eq!(encode_base64(b"hello"), "aGVsbG8=");
        assert_eq!(decode_base64("aG\r\nVs-bG8="), Ok(b"hello".to_vec()));
    }

    #[test]
    fn halves_of_bytes_are_refused() {
        assert_eq!(decode_base64("A"), Err(Base64Error::LastUnit));
        assert_eq!(decode_base64("AA="), Err(Base64Error::WrongEnding));
        assert_eq!(decode_base64("AAA=="), Err(Base64Error::WrongEnding));
        assert_eq!(decode_base64("AA==AA"), Err(Base64Error::WrongEnding));
        assert_eq!(decode_base64("AAAA="), Err(Base64Error::WrongEnding));
    }
}
