//! Reads LZ4 frames (the `.lz4` of constant files): magic 0x184D2204, a descriptor, blocks, an end mark. Checksums are
//! not looked at; what a frame yields is checked by who reads it. Why it is no crate's: docs/decisions/0049.

/// Why a frame cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lz4Error {
    /// It is not one, or cut short.
    Malformed,
    /// It yields more bytes than allowed.
    TooLarge,
}

const MAGIC: u32 = 0x184D_2204;

/// The bytes a frame yields, at most `most`.
pub(crate) fn decode(frame: &[u8], most: usize) -> Result<Vec<u8>, Lz4Error> {
    let mut input = Input(frame);
    if input.word()? != MAGIC {
        return Err(Lz4Error::Malformed);
    }
    let flags = input.byte()?;
    input.byte()?;
    if flags >> 6 != 1 || flags & 1 != 0 {
        return Err(Lz4Error::Malformed);
    }
    let has_size = flags & 8 != 0;
    input.take(if has_size { 8 } else { 0 } + 1)?;
    let mut out = Vec::new();
    loop {
        let size = input.word()?;
        if size == 0 {
            return Ok(out);
        }
        let block = input.take((size & 0x7fff_ffff) as usize)?;
        if size >> 31 == 1 {
            append(&mut out, block, most)?;
        } else {
            // Blocks that depend on each other copy from what came before, which is still in `out`.
            inflate(block, &mut out, most)?;
        }
        input.take(if flags & 16 != 0 { 4 } else { 0 })?;
    }
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Lz4Error> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Lz4Error::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Lz4Error> {
        Ok(self.take(1)?[0])
    }

    fn word(&mut self) -> Result<u32, Lz4Error> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A length whose first four bits are given: 15 means that bytes follow, the last of them below 255.
    fn length(&mut self, first: u8) -> Result<usize, Lz4Error> {
        let mut length = usize::from(first);
        let mut followed = first == 15;
        while followed {
            let more = self.byte()?;
            length = length.checked_add(usize::from(more)).ok_or(Lz4Error::Malformed)?;
            followed = more == 255;
        }
        Ok(length)
    }
}

fn append(out: &mut Vec<u8>, bytes: &[u8], most: usize) -> Result<(), Lz4Error> {
    if out.len() + bytes.len() > most {
        return Err(Lz4Error::TooLarge);
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// One block: literals, then a copy of bytes before, and so on; the last sequence has literals only.
fn inflate(block: &[u8], out: &mut Vec<u8>, most: usize) -> Result<(), Lz4Error> {
    let mut input = Input(block);
    loop {
        let token = input.byte()?;
        let literals = input.length(token >> 4)?;
        append(out, input.take(literals)?, most)?;
        if input.0.is_empty() {
            return Ok(());
        }
        let back = usize::from(input.byte()?) | usize::from(input.byte()?) << 8;
        let length = input.length(token & 15)?.saturating_add(4);
        let start = out.len().checked_sub(back).filter(|_| back > 0).ok_or(Lz4Error::Malformed)?;
        if length > most.saturating_sub(out.len()) {
            return Err(Lz4Error::TooLarge);
        }
        // What is copied may be what was just written.
        for at in start..start + length {
            out.push(out[at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by the reference command line tool, `lz4 -c`, of `abcabcabcabcabcabcabcabcabcabcabcabcX\n`.
    const FRAME: &[u8] = &[
        0x04, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 0x0d, 0x00, 0x00, 0x00, 0x3f, 0x61, 0x62, 0x63, 0x03, 0x00, 0x0b,
        0x50, 0x61, 0x62, 0x63, 0x58, 0x0a, 0x00, 0x00, 0x00, 0x00, 0xd6, 0x96, 0x61, 0xc4,
    ];

    #[test]
    fn frames_are_read_and_limited() {
        let decoded = decode(FRAME, 1_000);
        assert_eq!(decoded.as_deref(), Ok(&b"abcabcabcabcabcabcabcabcabcabcabcabcX\n"[..]));
        assert_eq!(decode(FRAME, 10), Err(Lz4Error::TooLarge));
        // The frame ends in a checksum of four bytes, which is not looked at.
        for end in 0..FRAME.len() - 4 {
            assert!(decode(&FRAME[..end], 1_000).is_err(), "cut at {end}");
        }
        for at in 0..FRAME.len() {
            let mut damaged = FRAME.to_vec();
            damaged[at] ^= 0xff;
            let _ = decode(&damaged, 1_000);
        }
    }
}
