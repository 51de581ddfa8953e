//! Writes CBOR (RFC 8949) as the reference implementation does: objects and arrays of indefinite length, integers as short
//! as they can be, floats as wide as they are.
use crate::{ValueWriter, bits_f32, bits_f64};

const UNSIGNED: u8 = 0 << 5;
const NEGATIVE: u8 = 1 << 5;
const TEXT: u8 = 3 << 5;
const BEGIN_ARRAY: u8 = 0x9f;
const BEGIN_OBJECT: u8 = 0xbf;
const END: u8 = 0xff;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
const FLOAT: u8 = 0xfa;
const DOUBLE: u8 = 0xfb;

/// A growing CBOR value.
#[derive(Clone, Debug, Default)]
pub struct CborWriter {
    out: Vec<u8>,
}

impl CborWriter {
    /// Nothing written yet.
    #[must_use]
    pub fn new() -> CborWriter {
        CborWriter::default()
    }

    /// The bytes written.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    /// The head of an item: its major type and its argument, in as few bytes as hold it.
    fn head(&mut self, major: u8, argument: u64) {
        if let Ok(small) = u8::try_from(argument) {
            if small < 24 {
                self.out.push(major | small);
            } else {
                self.out.extend([major | 24, small]);
            }
        } else if let Ok(short) = u16::try_from(argument) {
            self.out.push(major | 25);
            self.out.extend(short.to_be_bytes());
        } else if let Ok(word) = u32::try_from(argument) {
            self.out.push(major | 26);
            self.out.extend(word.to_be_bytes());
        } else {
            self.out.push(major | 27);
            self.out.extend(argument.to_be_bytes());
        }
    }
}

impl ValueWriter for CborWriter {
    fn begin_object(&mut self) {
        self.out.push(BEGIN_OBJECT);
    }

    fn end_object(&mut self) {
        self.out.push(END);
    }

    fn begin_array(&mut self) {
        self.out.push(BEGIN_ARRAY);
    }

    fn end_array(&mut self) {
        self.out.push(END);
    }

    fn key(&mut self, key: &str) {
        self.string(key);
    }

    fn string(&mut self, text: &str) {
        self.head(TEXT, text.len() as u64);
        self.out.extend(text.as_bytes());
    }

    fn begin_string(&mut self, length: usize) {
        self.head(TEXT, length as u64);
    }

    fn piece(&mut self, text: &str) {
        self.out.extend(text.as_bytes());
    }

    fn end_string(&mut self) {}

    fn end_key(&mut self) {}

    fn integer(&mut self, number: i64) {
        // A negative number is written as the distance from −1, which is its complement.
        let (major, argument) = if number < 0 { (NEGATIVE, !number) } else { (UNSIGNED, number) };
        self.head(major, argument as u64);
    }

    fn double(&mut self, number: f64) {
        self.out.push(DOUBLE);
        self.out.extend(bits_f64(number).to_be_bytes());
    }

    fn float(&mut self, number: f32) {
        self.out.push(FLOAT);
        self.out.extend(bits_f32(f64::from(number)).to_be_bytes());
    }

    fn decimal(&mut self, digits: &str) {
        self.double(digits.parse().unwrap_or(f64::NAN));
    }

    fn boolean(&mut self, flag: bool) {
        self.out.push(if flag { TRUE } else { FALSE });
    }

    fn null(&mut self) {
        self.out.push(NULL);
    }

    fn fragment(&mut self, written: &[u8]) {
        self.out.extend(written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(write: impl FnOnce(&mut CborWriter)) -> String {
        let mut cbor = CborWriter::new();
        write(&mut cbor);
        cbor.finish().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The examples of RFC 8949, appendix A.
    #[test]
    fn items_are_those_of_the_standard() {
        for (number, expected) in [
            (0, "00"),
            (23, "17"),
            (24, "1818"),
            (255, "18ff"),
            (256, "190100"),
            (1_000_000, "1a000f4240"),
            (1_000_000_000_000, "1b000000e8d4a51000"),
            (-1, "20"),
            (-10, "29"),
            (-100, "3863"),
            (-1_000, "3903e7"),
            (i64::MIN, "3b7fffffffffffffff"),
        ] {
            assert_eq!(hex(|cbor| cbor.integer(number)), expected, "{number}");
        }
        assert_eq!(hex(|cbor| cbor.double(1.1)), "fb3ff199999999999a");
        assert_eq!(hex(|cbor| cbor.double(f64::NEG_INFINITY)), "fbfff0000000000000");
        assert_eq!(hex(|cbor| cbor.double(-f64::NAN)), "fb7ff8000000000000");
        assert_eq!(hex(|cbor| cbor.float(100_000.0)), "fa47c35000");
        assert_eq!(hex(|cbor| cbor.string("\u{fc}")), "62c3bc");
        assert_eq!(hex(|cbor| cbor.string("")), "60");
        assert_eq!(hex(|cbor| cbor.decimal("59.9")), hex(|cbor| cbor.double(59.9)));
        let structured = hex(|cbor| {
            cbor.begin_object();
            cbor.key("Fun");
            cbor.boolean(true);
            cbor.key("Amt");
            cbor.integer(-2);
            cbor.end_object();
        });
        assert_eq!(structured, "bf6346756ef563416d7421ff");
    }

    #[test]
    fn what_was_written_before_is_put_in_as_it_is() {
        let inner = crate::Format::Cbor.write_with(|writer| writer.null());
        let whole = hex(|cbor| {
            cbor.begin_array();
            cbor.fragment(&inner);
            cbor.fragment(&inner);
            cbor.end_array();
        });
        assert_eq!(whole, "9ff6f6ff");
    }
}
