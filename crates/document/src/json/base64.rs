//! Base64 in its two alphabets: that of documents and answers, read leniently, as MIME does, and printed with padding; and
//! that of URLs, without padding, where one text stands for one value.
//!
//! No crate reads the first as the reference implementation does, which passes over what is not of the alphabet and tells
//! what is wrong in words of its own (docs/decisions/0049).

/// The digits of an alphabet.
type Alphabet = [u8; 64];

const STANDARD: &Alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &Alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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
    let mut decoder = Decoder::new(text);
    let mut padding = 0usize;
    for byte in text.bytes() {
        if byte == b'=' {
            padding += 1;
            continue;
        }
        let Some(value) = value_of(byte, STANDARD) else { continue };
        if padding > 0 {
            return Err(Base64Error::WrongEnding);
        }
        decoder.push(value);
    }
    match (decoder.digits % 4, padding) {
        (1, _) => Err(Base64Error::LastUnit),
        (0, 0) | (2, 0 | 2) | (3, 0 | 1) => Ok(decoder.finish()),
        _ => Err(Base64Error::WrongEnding),
    }
}

/// The bytes that `text` stands for in the alphabet of URLs; nothing if it has another character or padding, or is not
/// the very text that [`encode_base64url`] makes of them.
#[must_use]
pub fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    let mut decoder = Decoder::new(text);
    for byte in text.bytes() {
        decoder.push(value_of(byte, URL)?);
    }
    // Bits that belong to no byte are none.
    let rest = match decoder.digits % 4 {
        1 => return None,
        2 => decoder.bits & 0xf,
        3 => decoder.bits & 0x3,
        _ => 0,
    };
    (rest == 0).then(|| decoder.finish())
}

/// Bytes of digits, six bits each.
struct Decoder {
    out: Vec<u8>,
    bits: u32,
    digits: usize,
}

impl Decoder {
    fn new(text: &str) -> Decoder {
        Decoder { out: Vec::with_capacity(text.len() / 4 * 3 + 2), bits: 0, digits: 0 }
    }

    fn push(&mut self, value: u32) {
        self.bits = self.bits << 6 | value;
        self.digits += 1;
        if self.digits.is_multiple_of(4) {
            self.out.extend_from_slice(&self.bits.to_be_bytes()[1..]);
        }
    }

    /// The bytes, with those of the last group; a single digit in it is none.
    fn finish(mut self) -> Vec<u8> {
        match self.digits % 4 {
            2 => self.out.push((self.bits >> 4) as u8),
            3 => self.out.extend_from_slice(&((self.bits >> 2) as u16).to_be_bytes()),
            _ => {}
        }
        self.out
    }
}

fn value_of(byte: u8, alphabet: &Alphabet) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        _ if byte == alphabet[62] => 62,
        _ if byte == alphabet[63] => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

/// `bytes` in base64 with padding, without line breaks.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut out = encode_with(bytes, STANDARD);
    out.extend(std::iter::repeat_n('=', (3 - bytes.len() % 3) % 3));
    out
}

/// `bytes` in the alphabet of URLs, without padding.
#[must_use]
pub fn encode_base64url(bytes: &[u8]) -> String {
    encode_with(bytes, URL)
}

fn encode_with(bytes: &[u8], alphabet: &Alphabet) -> String {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    let digit = |group: u32, place: u32| alphabet[(group >> (18 - 6 * place)) as usize & 63];
    let (groups, rest) = bytes.as_chunks::<3>();
    for [a, b, c] in groups {
        let group = u32::from_be_bytes([0, *a, *b, *c]);
        out.extend_from_slice(&[digit(group, 0), digit(group, 1), digit(group, 2), digit(group, 3)]);
    }
    if !rest.is_empty() {
        let group = rest.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - rest.len()));
        out.extend((0..=rest.len() as u32).map(|place| digit(group, place)));
    }
    String::from_utf8(out).unwrap_or_default()
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

    #[test]
    fn texts_of_urls_are_read_strictly() {
        for length in 0..40u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(37)).collect();
            let text = encode_base64url(&bytes);
            assert_eq!(text, encode_base64(&bytes).trim_end_matches('=').replace('+', "-").replace('/', "_"));
            assert_eq!(decode_base64url(&text), Some(bytes));
        }
        assert_eq!(encode_base64url(&[0xfb, 0xff, 0xfe]), "-__-");
        // Another alphabet, padding, blanks, a single digit, and bits that belong to no byte.
        for wrong in ["+__-", "-//-", "AA==", "AA A", "A", "AAAAA", "AB", "AAB"] {
            assert_eq!(decode_base64url(wrong), None, "{wrong}");
        }
    }
}
