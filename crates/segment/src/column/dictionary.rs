//! Sorted words, cut into blocks, each word with the place of its postings.
//!
//! A block holds `u32` count, `count + 1` offsets (`u32`) of the words' bytes, `count` entries of four `u32`
//! (documents, block, offset, length of the postings) and the bytes. The first word of each block stands in the
//! header, so a word that is not there costs at most one block.
use brooklet_task::Rejection;

use super::POINT_BLOCK_BYTES;
use super::header::Part;
use crate::block::{BlockSink, read_array};

/// Longest word kept whole, bytes. A longer one is cut here and told apart by its hash ([`key_of`]).
pub const WORD_BYTES: usize = 64 << 10;

/// A word as it stands in a dictionary: itself, or for a very long one its beginning, a zero byte and its hash.
#[must_use]
pub fn key_of(word: &str) -> std::borrow::Cow<'_, [u8]> {
    if word.len() <= WORD_BYTES {
        return word.as_bytes().into();
    }
    let mut key = word.as_bytes()[..WORD_BYTES].to_vec();
    key.push(0);
    key.extend_from_slice(&brooklet_kernel::hash128(0, word.as_bytes()).to_le_bytes());
    key.into()
}

/// Whether a value of an attribute, which stands in a dictionary cut at a character, may be longer than this word of it.
#[must_use]
pub fn is_cut(word: &[u8]) -> bool {
    word.len() + 4 > WORD_BYTES
}

/// Whether any value of an attribute may be longer than its word in this dictionary. Each of those begins a block.
#[must_use]
pub fn has_cut_values(dictionary: &Part) -> bool {
    dictionary.keys.iter().any(|word| is_cut(word))
}

/// Where the postings of a word are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Entry {
    /// Number of documents with the word.
    pub documents: u32,
    /// Index of the first block of its postings.
    pub block: u32,
    /// Offset there.
    pub offset: u32,
    /// Bytes of its postings.
    pub length: u32,
}

/// Writes the words, sorted and each once, with their entries.
///
/// # Panics
/// If there are not as many words as entries.
pub fn write(words: &[&[u8]], entries: &[Entry], sink: &mut BlockSink) -> Part {
    assert_eq!(words.len(), entries.len(), "every word has an entry");
    let mut part = Part { first_block: sink.next(), rows: words.len() as u32, ..Part::default() };
    let mut first = 0;
    while first < words.len() {
        let mut end = first + 1;
        let mut bytes = words[first].len() + 20;
        while end < words.len() && bytes + words[end].len() + 20 <= POINT_BLOCK_BYTES {
            bytes += words[end].len() + 20;
            end += 1;
        }
        part.firsts.push(first as u32);
        part.keys.push(words[first].to_vec());
        sink.push(block_of(&words[first..end], &entries[first..end]));
        first = end;
    }
    part
}

fn block_of(words: &[&[u8]], entries: &[Entry]) -> Vec<u8> {
    let mut payload = (words.len() as u32).to_le_bytes().to_vec();
    let mut end = 0u32;
    payload.extend_from_slice(&end.to_le_bytes());
    for word in words {
        end += word.len() as u32;
        payload.extend_from_slice(&end.to_le_bytes());
    }
    payload.extend_from_slice(bytemuck::cast_slice(entries));
    words.iter().for_each(|word| payload.extend_from_slice(word));
    payload
}

/// A block of a dictionary, read in place.
#[derive(Clone, Copy)]
pub struct DictionaryBlock<'a> {
    offsets: &'a [u32],
    entries: &'a [Entry],
    bytes: &'a [u8],
}

impl<'a> DictionaryBlock<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// If it is not a dictionary block.
    pub fn read(payload: &'a [u8]) -> Result<DictionaryBlock<'a>, Rejection> {
        let count = read_array::<u32>(payload, 0, 1)?[0] as usize;
        let offsets = read_array::<u32>(payload, 4, count + 1)?;
        let entries = read_array::<Entry>(payload, 4 + 4 * (count + 1), count)?;
        let bytes = payload.get(4 + 4 * (count + 1) + 16 * count..).unwrap_or_default();
        if !offsets.is_sorted() || offsets.last().is_none_or(|end| *end as usize > bytes.len()) {
            return Err(Rejection::corrupt("the words of a dictionary are out of order"));
        }
        Ok(DictionaryBlock { offsets, entries, bytes })
    }

    /// Number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The word at `index`.
    #[must_use]
    pub fn word(&self, index: usize) -> &'a [u8] {
        &self.bytes[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    /// Calls `each` with every word that holds `needle`, and how often it does without overlap.
    pub fn each_with(&self, needle: &brooklet_kernel::Needle, mut each: impl FnMut(usize, usize)) {
        let length = needle.bytes().len();
        let mut from = 0;
        // All words stand one after the other: they are searched at once, and what reaches over two is passed over.
        while let Some(at) = self.bytes.get(from..).and_then(|rest| needle.find(rest)).map(|at| from + at) {
            let index = self.offsets.partition_point(|offset| *offset as usize <= at).wrapping_sub(1);
            if index >= self.len() {
                return;
            }
            let end = self.offsets[index + 1] as usize;
            if at + length <= end {
                each(index, needle.find_all(self.word(index)).count());
                from = end;
            } else {
                from = at + 1;
            }
        }
    }

    /// The entry at `index`.
    #[must_use]
    pub fn entry(&self, index: usize) -> Entry {
        self.entries[index]
    }

    /// The index of `word`, or of the first word after it.
    ///
    /// # Errors
    /// The index of the first word after it, if it is not here.
    pub fn find(&self, word: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.word(middle).cmp(word) {
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// The index of the first word from `from` on that does not stand before `word`: soon found if it is near.
    #[must_use]
    pub fn find_from(&self, from: usize, word: &[u8]) -> usize {
        let is_before = |index: usize| self.word(index) < word;
        let (mut low, mut step) = (from, 1);
        while low + step <= self.len() && is_before(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step - 1).min(self.len());
        while low < high {
            let middle = (low + high) / 2;
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_from_anywhere() {
        let words: Vec<String> = (0..40).map(|number| format!("{:03}", number * 3)).collect();
        let bytes: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let payload = block_of(&bytes, &vec![Entry::default(); words.len()]);
        let block = DictionaryBlock::read(&payload).expect("a block");
        for from in 0..=words.len() {
            for number in 0..130 {
                let word = format!("{number:03}");
                let expected = (from..words.len()).find(|at| words[*at] >= word).unwrap_or(words.len());
                assert_eq!(block.find_from(from, word.as_bytes()), expected, "{word} from {from}");
            }
        }
    }
}
