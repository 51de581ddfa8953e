//! The words of the document that was looked at last, in their order, where many terms ask for where they stand.
use std::rc::Rc;

use crate::resident::partition::ResidentSegment;

/// Words from which on a document is worth it. Those of the tests are short.
const WORDS_MIN: usize = if cfg!(test) { 1 } else { 256 };
/// How often its words are looked through before they are put in order.
const LOOKS: u32 = if cfg!(test) { 1 } else { 8 };
/// A term of more words than this share of the document's looks through all of them.
const WORDS_PER_NUMBER: usize = if cfg!(test) { 2 } else { 16 };

/// The words of a document's columns.
#[derive(Default)]
pub(crate) struct LastWords {
    document: Option<(Rc<ResidentSegment>, u32)>,
    columns: Vec<LastColumn>,
}

/// Those of one column.
pub(super) struct LastColumn {
    first_block: u32,
    looks: u32,
    /// Each word with its place in the document, in order; nothing as long as they were not looked through often.
    words: Vec<u64>,
}

/// Whether a document of so many words is worth it for a term of so many.
pub(super) fn is_worth_it(words: usize, numbers: usize) -> bool {
    words >= WORDS_MIN && numbers <= words / WORDS_PER_NUMBER
}

impl LastWords {
    /// Of a document the column whose words begin at a block. Of another document no more is known.
    pub(super) fn column(
        &mut self,
        (segment, ordinal, first_block): (&Rc<ResidentSegment>, u32, u32),
    ) -> &mut LastColumn {
        if !self.document.as_ref().is_some_and(|(of, last)| Rc::ptr_eq(of, segment) && *last == ordinal) {
            self.document = Some((segment.clone(), ordinal));
            self.columns.clear();
        }
        let at = self.columns.iter().position(|column| column.first_block == first_block).unwrap_or_else(|| {
            self.columns.push(LastColumn { first_block, looks: 0, words: Vec::new() });
            self.columns.len() - 1
        });
        &mut self.columns[at]
    }
}

impl LastColumn {
    /// Another term asks. Whether so many did that the words are better put in order.
    pub(super) fn is_asked_often(&mut self) -> bool {
        self.looks += 1;
        self.looks > LOOKS
    }

    pub(super) fn is_in_order(&self) -> bool {
        !self.words.is_empty()
    }

    /// Takes the words as they stand in the document.
    pub(super) fn put_in_order(&mut self, words: &[u32]) {
        self.words = words.iter().zip(0..).map(|(word, place)| u64::from(*word) << 32 | place).collect();
        self.words.sort_unstable();
    }

    /// Where words stand, ascending, each as often as it counts.
    pub(super) fn places(&self, numbers: &[(u32, u32)]) -> Vec<u32> {
        let mut places = Vec::new();
        for (number, times) in numbers {
            let from = self.words.partition_point(|at| *at < u64::from(*number) << 32);
            for at in self.words[from..].iter().take_while(|at| (*at >> 32) as u32 == *number) {
                places.extend(std::iter::repeat_n(*at as u32, *times as usize));
            }
        }
        if numbers.len() > 1 {
            places.sort_unstable();
        }
        places
    }
}
