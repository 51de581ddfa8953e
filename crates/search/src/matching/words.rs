//! The words of one document in a text column, with their elements: read only where positions matter.
use brooklet_rank::match_data::Occurrence;
use brooklet_segment::column::text;
use brooklet_segment::column::text::{Element, Text};
use brooklet_segment::{BlockSource, Halt, Part, read_array};
use brooklet_task::Block;

use crate::resident::partition::ResidentSegment;
use crate::resident::reads::Reads;

/// Reads documents' words, one document after the other. Blocks in use are kept at hand.
pub(crate) struct WordReader<'a> {
    pub(crate) text: Text<'a>,
    segment: &'a ResidentSegment,
    bounds: Option<Held>,
    held: Option<Held>,
    words: Vec<u32>,
    elements: Vec<Element>,
}

/// A block with the rows it has: those of a part begin in it, and end.
struct Held {
    first: u32,
    end: u32,
    block: Block,
}

/// Numbers of words as a block has them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoredWords<'b> {
    Narrow(&'b [u16]),
    Wide(&'b [u32]),
}

/// The extent of one document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) first_word: u32,
    pub(crate) end_word: u32,
    first_element: u32,
    end_element: u32,
}

impl Extent {
    pub(crate) fn words(&self) -> u32 {
        self.end_word - self.first_word
    }
}

impl<'a> WordReader<'a> {
    pub(crate) fn new(text: Text<'a>, segment: &'a ResidentSegment) -> WordReader<'a> {
        WordReader { text, segment, bounds: None, held: None, words: Vec::new(), elements: Vec::new() }
    }

    /// Where a document's words and elements are.
    pub(crate) fn extent(&mut self, ordinal: u32, reads: &mut Reads) -> Result<Extent, Halt> {
        let part = self.text.part(text::BOUNDS);
        let Held { first, end, block } = hold(&mut self.bounds, part, ordinal, self.segment, reads)?;
        let count = (end - first) as usize + 1;
        let at = (ordinal - first) as usize;
        let ends = read_array::<u32>(block.bytes(), 4 * at, 2)?;
        let (first_element, end_element) = if self.text.several {
            let ends = read_array::<u32>(block.bytes(), 4 * (count + at), 2)?;
            (ends[0], ends[1])
        } else {
            (0, 0)
        };
        Ok(Extent { first_word: ends[0], end_word: ends[1].max(ends[0]), first_element, end_element })
    }

    /// The numbers of a document's words, in order.
    pub(crate) fn words(&mut self, extent: Extent, reads: &mut Reads) -> Result<&[u32], Halt> {
        self.words_between(extent.first_word, extent.end_word, reads)
    }

    /// The numbers of the words from `at` on before `beyond`, whatever documents they are of.
    pub(crate) fn words_between(&mut self, mut at: u32, beyond: u32, reads: &mut Reads) -> Result<&[u32], Halt> {
        self.words.clear();
        let part = self.text.part(text::WORDS);
        while at < beyond {
            let Held { first, end, block } = hold(&mut self.held, part, at, self.segment, reads)?;
            let end = beyond.min(*end);
            self.text.read_words(block.bytes(), (at - first) as usize..(end - first) as usize, &mut self.words)?;
            at = end;
        }
        Ok(&self.words)
    }

    /// Where the block that holds the word `at` ends.
    pub(crate) fn end_of_block(&self, at: u32) -> u32 {
        let part = self.text.part(text::WORDS);
        let (first, rows) = part.span_of(part.index_of(at));
        // Each word of a damaged segment is in no block: it goes on from there.
        (first + rows).max(at + 1)
    }

    /// The words from `from` on to `end`, as far as one block has them, as they are stored.
    pub(crate) fn stored_words(&mut self, from: u32, end: u32, reads: &mut Reads) -> Result<StoredWords<'_>, Halt> {
        let wide = self.text.wide;
        let part = self.text.part(text::WORDS);
        let Held { first, end: end_of_block, block } = hold(&mut self.held, part, from, self.segment, reads)?;
        let (at, count) = ((from - first) as usize, end.min(*end_of_block).saturating_sub(from) as usize);
        Ok(if wide {
            StoredWords::Wide(read_array::<u32>(block.bytes(), 4 * at, count)?)
        } else {
            StoredWords::Narrow(read_array::<u16>(block.bytes(), 2 * at, count)?)
        })
    }

    /// The elements of a document; one with all words if the field has single values.
    pub(crate) fn elements(&mut self, extent: Extent, reads: &mut Reads) -> Result<&[Element], Halt> {
        self.elements.clear();
        if !self.text.several {
            self.elements.push(Element { length: extent.words(), weight: 1 });
            return Ok(&self.elements);
        }
        let part = self.text.part(text::ELEMENTS);
        let mut at = extent.first_element;
        while at < extent.end_element {
            let index = part.index_of(at);
            let (first, rows) = part.span_of(index);
            let block = reads.segment(self.segment).block(part.first_block + index)?;
            // Each element of a damaged segment is in no block: it goes on from there.
            let end = (first + rows).min(extent.end_element).max(at + 1);
            let (from, count) = ((at - first) as usize, (end - at) as usize);
            self.elements.extend_from_slice(read_array::<Element>(block.bytes(), 8 * from, count)?);
            at = end;
        }
        Ok(&self.elements)
    }

    /// Occurrences at these word numbers of a document (ascending), with their elements.
    pub(crate) fn occurrences(
        &mut self,
        extent: Extent,
        places: &[u32],
        reads: &mut Reads,
        out: &mut Vec<Occurrence>,
    ) -> Result<(), Halt> {
        let collection = self.text.collection;
        let elements = self.elements(extent, reads)?;
        let mut number = 0usize;
        let mut start = 0u32;
        for place in places {
            while number < elements.len() && *place >= start + elements[number].length {
                start += elements[number].length;
                number += 1;
            }
            let Some(element) = elements.get(number) else { break };
            let (own, element_weight) = collection.element_of(number as u32, element.weight);
            let (position, element_length) = (place - start, element.length);
            out.push(Occurrence { element: own, position, element_length, element_weight });
        }
        Ok(())
    }
}

/// The block of a row, from hand if it was the last one used.
#[inline]
fn hold<'b>(
    held: &'b mut Option<Held>,
    part: &Part,
    row: u32,
    segment: &ResidentSegment,
    reads: &mut Reads,
) -> Result<&'b Held, Halt> {
    if held.as_ref().is_none_or(|held| !(held.first..held.end).contains(&row)) {
        let index = part.index_of(row);
        let (first, rows) = part.span_of(index);
        let block = reads.segment(segment).block(part.first_block + index)?;
        *held = Some(Held { first, end: first + rows, block });
    }
    held.as_ref().ok_or(Halt::Missing)
}
