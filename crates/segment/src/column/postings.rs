//! Postings of a word as they are stored: for each document the distance from the previous ordinal (the first from -1,
//! minus one) and the number of occurrences, both varints.
//!
//! ```text
//! ordinal × occurrences    2×1     5×3     6×1
//! distance, occurrences    02 01   02 03   00 01
//! ```
use brooklet_kernel::{POSTINGS as GROUP, Posting, SCATTERED, scatter_short, short_postings};
use brooklet_task::Rejection;
use brooklet_task::bytes::Reader;

use super::dictionary::Entry;

/// Tells `each` the documents with a word, in order, each with its number of occurrences; one or several at a time.
///
/// # Errors
/// If the bytes are not postings of `documents` documents below `rows`.
pub fn read_postings(
    payload: &[u8],
    entry: Entry,
    rows: u32,
    mut each: impl FnMut(&[Posting]),
) -> Result<(), Rejection> {
    let mut group = [[0; 2]; GROUP];
    let mut rest = PostingBytes::new(payload, entry, rows)?;
    while rest.left > 0 {
        while let Some(pairs) = rest.group()
            && short_postings(pairs, rest.next.wrapping_sub(1), &mut group)
        {
            // They ascend: the last one tells for all.
            rest.pass(GROUP, group[GROUP - 1][0])?;
            each(&group);
        }
        if let Some(posting) = rest.one()? {
            each(&[posting]);
        }
    }
    Ok(())
}

/// For each document how often it has a word; nothing if one has it more often than a byte can say.
///
/// # Errors
/// As [`read_postings`].
pub fn read_counts(payload: &[u8], entry: Entry, rows: u32) -> Result<Option<Vec<u8>>, Rejection> {
    // With room for what a group of damaged ones reaches over the end.
    let mut counts = vec![0; rows as usize + SCATTERED];
    let mut rest = PostingBytes::new(payload, entry, rows)?;
    let mut fits = true;
    while rest.left > 0 {
        while let (Some(pairs), Some(window)) = (rest.group(), counts[rest.next as usize..].first_chunk_mut())
            && let Some(passed) = scatter_short(pairs, window)
        {
            rest.pass(GROUP, rest.next + passed - 1)?;
        }
        if let Some([ordinal, count]) = rest.one()? {
            fits &= count <= u32::from(u8::MAX);
            counts[ordinal as usize] = count as u8;
        }
    }
    counts.truncate(rows as usize);
    Ok(fits.then_some(counts))
}

/// Postings that were not read yet.
struct PostingBytes<'a> {
    bytes: &'a [u8],
    rows: u32,
    /// The number of postings left.
    left: usize,
    /// The first ordinal that the next one can have.
    next: u32,
}

impl<'a> PostingBytes<'a> {
    fn new(payload: &'a [u8], entry: Entry, rows: u32) -> Result<PostingBytes<'a>, Rejection> {
        let bytes = payload
            .get(entry.offset as usize..entry.offset as usize + entry.length as usize)
            .ok_or_else(|| Rejection::corrupt("postings reach over their block"))?;
        Ok(PostingBytes { bytes, rows, left: entry.documents as usize, next: 0 })
    }

    /// The bytes of a group, if each of its numbers takes one: most of words that many documents have do.
    #[inline(always)]
    fn group(&self) -> Option<&'a [u8; 2 * GROUP]> {
        self.bytes.first_chunk().filter(|_| self.left >= GROUP)
    }

    /// Passes over so many of a byte each, the last of which is `ordinal`.
    #[inline(always)]
    fn pass(&mut self, postings: usize, ordinal: u32) -> Result<(), Rejection> {
        if ordinal >= self.rows {
            return Err(Rejection::corrupt("postings name a document that is not there"));
        }
        self.bytes = &self.bytes[2 * postings..];
        self.left -= postings;
        self.next = ordinal + 1;
        Ok(())
    }

    /// The next one; nothing if there is none.
    #[inline]
    fn one(&mut self) -> Result<Option<Posting>, Rejection> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut reader = Reader::new(self.bytes);
        let (distance, count) = reader.varint_pair()?;
        if distance >= u64::from(self.rows.saturating_sub(self.next)) {
            return Err(Rejection::corrupt("postings name a document that is not there"));
        }
        let ordinal = self.next + distance as u32;
        self.bytes = &self.bytes[reader.position()..];
        self.left -= 1;
        self.next = ordinal + 1;
        Ok(Some([ordinal, count as u32]))
    }
}
