//! Where each word of a text column stands: a phrase is found in the lists of its words instead of in the words of all
//! documents that have them.
//!
//! A part of stored rows (`stored.rs`), one for each word in the order of the dictionary: the places where it stands
//! among the words of all documents, ascending (the kernel's `distances.rs` has the bytes). Places count from the
//! segment's first word, as bounds do: where documents end does not matter to most places, so a list is read in one go,
//! without the word's postings.
//!
//! ```text
//! document       0             1         2
//! words          the cat the   cat sat   the cat
//! places         0   1   2     3   4     5   6
//!
//! row 0 (cat)        1         3             6
//! row 1 (sat)                      4
//! row 2 (the)    0       2               5
//! ```
use brooklet_kernel::Bitmap;
use brooklet_task::Rejection;

use super::header::Part;
use super::stored::StoredWriter;
use crate::block::BlockSink;

/// The words of a column by their numbers instead of by where they stand.
pub(super) struct ByWord {
    /// Where the occurrences of each word end.
    ends: Vec<u32>,
    occurrences: Vec<Occurrence>,
}

/// A word of a document.
#[derive(Clone, Copy, Default)]
pub(super) struct Occurrence {
    pub(super) ordinal: u32,
    /// Its place among the words of all documents.
    place: u32,
}

impl ByWord {
    /// Sorts `words`, which are numbers below `distinct`; those of each document end at one of `word_ends`.
    pub(super) fn new(words: &[u32], word_ends: &[u32], distinct: usize) -> ByWord {
        let mut ends = vec![0u32; distinct];
        words.iter().for_each(|word| ends[*word as usize] += 1);
        let mut before = 0;
        for end in &mut ends {
            // For now where they begin.
            (*end, before) = (before, before + *end);
        }
        let mut occurrences = vec![Occurrence::default(); words.len()];
        let mut start = 0;
        for (ordinal, end) in word_ends.iter().enumerate() {
            for place in start..*end {
                let next = &mut ends[words[place as usize] as usize];
                occurrences[*next as usize] = Occurrence { ordinal: ordinal as u32, place };
                *next += 1;
            }
            start = *end;
        }
        ByWord { ends, occurrences }
    }

    /// The occurrences of every word, word after word.
    pub(super) fn each(&self) -> impl Iterator<Item = &[Occurrence]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.occurrences[start as usize..*end as usize])
    }

    /// Cuts the places into blocks.
    pub(super) fn write(&self, sink: &mut BlockSink) -> Part {
        let mut rows = StoredWriter::default();
        let (mut places, mut list) = (Vec::new(), Vec::new());
        for occurrences in self.each() {
            places.clear();
            places.extend(occurrences.iter().map(|occurrence| occurrence.place));
            list.clear();
            brooklet_kernel::write_places(&places, &mut list);
            rows.push(&list);
        }
        rows.finish(sink)
    }
}

/// Tells `each` where a word stands, ascending; `list` is its row, and there are so many words in all.
///
/// # Errors
/// If the list has a place that is not of a word, or is not one. What comes before may have been told.
pub fn read_positions(list: &[u8], words: u32, each: impl FnMut(u32)) -> Result<(), Rejection> {
    check_kind(brooklet_kernel::each_place(list, words, each))
}

/// Appends where a word stands, ascending.
///
/// # Errors
/// As [`read_positions`].
pub fn collect_positions(list: &[u8], words: u32, places: &mut Vec<u32>) -> Result<(), Rejection> {
    check_kind(brooklet_kernel::collect_places(list, words, places))
}

/// Tells `each` the numbers of a set that a word stands so much behind, ascending.
///
/// # Errors
/// As [`read_positions`].
pub fn positions_among(
    list: &[u8],
    words: u32,
    wanted: (&Bitmap, u32),
    each: impl FnMut(u32),
) -> Result<(), Rejection> {
    check_kind(brooklet_kernel::each_place_of(list, words, wanted, each))
}

fn check_kind(is_list: bool) -> Result<(), Rejection> {
    if is_list { Ok(()) } else { Err(Rejection::corrupt("a word stands where no words are")) }
}
