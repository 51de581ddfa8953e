//! Our own binary forms: little endian, lengths before contents, and a reader that trusts none of them.
use crate::Rejection;

/// Appends numbers, bytes and texts to a growing buffer.
#[derive(Clone, Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// An empty writer.
    #[must_use]
    pub fn new() -> Writer {
        Writer(Vec::new())
    }
    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The bytes written so far.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
    /// Forgets what was written and keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
    /// The bytes written.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
    /// Makes room for so many bytes more, which are then written without the buffer being moved.
    pub fn reserve(&mut self, bytes: usize) {
        self.0.reserve(bytes);
    }
    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }
    /// 16 bits.
    pub fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    /// 32 bits.
    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    /// 64 bits.
    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    /// A float32's bits.
    pub fn f32(&mut self, value: f32) {
        self.u32(value.to_bits());
    }
    /// A float64's bits.
    pub fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }
    /// An unsigned number in groups of seven bits, least significant first.
    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
    /// Bytes without their length.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    /// Bytes after their length (varint).
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.raw(bytes);
    }
    /// A text after its length in bytes.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
    /// Zeros up to the next multiple of `alignment`.
    pub fn align(&mut self, alignment: usize) {
        while !self.0.len().is_multiple_of(alignment) {
            self.0.push(0);
        }
    }
}

/// Reads what a [`Writer`] wrote. Every read is checked; a wrong length is a rejection, never a panic or an allocation.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

type Read<T> = Result<T, Rejection>;

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }
    /// Bytes not read yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }
    /// Offset of the next byte.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }
    /// The next `length` bytes.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn raw(&mut self, length: usize) -> Read<&'a [u8]> {
        if length > self.remaining() {
            return Err(Rejection::corrupt(format!("{length} bytes expected, {} left", self.remaining())));
        }
        let bytes = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok(bytes)
    }
    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        Ok(self.raw(N)?.try_into().expect("raw returns the length asked for"))
    }
    /// One byte.
    ///
    /// # Errors
    /// At the end.
    pub fn u8(&mut self) -> Read<u8> {
        Ok(self.raw(1)?[0])
    }
    /// 16 bits.
    ///
    /// # Errors
    /// At the end.
    pub fn u16(&mut self) -> Read<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }
    /// 32 bits.
    ///
    /// # Errors
    /// At the end.
    pub fn u32(&mut self) -> Read<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    /// 64 bits.
    ///
    /// # Errors
    /// At the end.
    pub fn u64(&mut self) -> Read<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    /// A float32.
    ///
    /// # Errors
    /// At the end.
    pub fn f32(&mut self) -> Read<f32> {
        Ok(f32::from_bits(self.u32()?))
    }
    /// A float64.
    ///
    /// # Errors
    /// At the end.
    pub fn f64(&mut self) -> Read<f64> {
        Ok(f64::from_bits(self.u64()?))
    }
    /// An unsigned number in groups of seven bits.
    ///
    /// # Errors
    /// At the end, or if it is longer than 64 bits.
    #[inline]
    pub fn varint(&mut self) -> Read<u64> {
        // Most are small.
        if let Some(byte) = self.bytes.get(self.at)
            && *byte < 0x80
        {
            self.at += 1;
            return Ok(u64::from(*byte));
        }
        self.long_varint()
    }

    /// Two unsigned numbers in groups of seven bits.
    ///
    /// # Errors
    /// As [`Reader::varint`].
    #[inline]
    pub fn varint_pair(&mut self) -> Read<(u64, u64)> {
        // In lists of such pairs most have a byte each.
        if let Some([first, second]) = self.bytes.get(self.at..self.at + 2)
            && (first | second) & 0x80 == 0
        {
            self.at += 2;
            return Ok((u64::from(*first), u64::from(*second)));
        }
        Ok((self.varint()?, self.varint()?))
    }

    fn long_varint(&mut self) -> Read<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Rejection::corrupt("a number longer than 64 bits"))
    }
    /// A count of things of at least `size` bytes each that must still fit in what is left.
    ///
    /// # Errors
    /// If they cannot.
    pub fn count(&mut self, size: usize) -> Read<usize> {
        let count = self.varint()?;
        if count.checked_mul(size.max(1) as u64).is_none_or(|bytes| bytes > self.remaining() as u64) {
            return Err(Rejection::corrupt(format!("{count} entries announced, {} bytes left", self.remaining())));
        }
        Ok(count as usize)
    }
    /// Bytes after their length.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn bytes(&mut self) -> Read<&'a [u8]> {
        let length = self.count(1)?;
        self.raw(length)
    }
    /// A text after its length.
    ///
    /// # Errors
    /// If there are fewer bytes, or they are not UTF-8.
    pub fn text(&mut self) -> Read<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Rejection::corrupt("text is not UTF-8"))
    }
    /// Skips to the next multiple of `alignment`.
    ///
    /// # Errors
    /// At the end.
    pub fn align(&mut self, alignment: usize) -> Read<()> {
        let padding = self.at.next_multiple_of(alignment) - self.at;
        self.raw(padding).map(|_| ())
    }
    /// Requires that everything was read.
    ///
    /// # Errors
    /// If bytes are left over.
    pub fn end(&self) -> Read<()> {
        if self.remaining() == 0 {
            Ok(())
        } else {
            Err(Rejection::corrupt(format!("{} bytes too many", self.remaining())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_and_overlong_ones_are_refused() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut writer = Writer::new();
            writer.varint(value);
            let bytes = writer.finish();
            assert_eq!(Reader::new(&bytes).varint().unwrap(), value);
            let pair = |bytes: &[u8]| Reader::new(bytes).varint_pair().unwrap();
            assert_eq!(pair(&[&bytes[..], &[7]].concat()), (value, 7));
            assert_eq!(pair(&[&[7], &bytes[..]].concat()), (7, value));
            assert!(Reader::new(&bytes).varint_pair().is_err());
        }
        assert!(Reader::new(&[0xff; 10]).varint().is_err());
        assert!(Reader::new(&[0x80, 0x80]).varint().is_err());
    }

    #[test]
    fn a_count_that_cannot_fit_is_refused_before_anything_is_allocated() {
        let mut writer = Writer::new();
        writer.varint(1 << 40);
        let bytes = writer.finish();
        assert!(Reader::new(&bytes).count(8).is_err());
    }
}
