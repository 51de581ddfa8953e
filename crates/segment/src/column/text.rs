//! A string field as words: what terms are matched against.
//!
//! Parts, in this order: [`DICTIONARY`] (sorted words), [`POSTINGS`] (for each word the documents with it),
//! [`BOUNDS`] (for each document where its words end, and its elements if the field has several values), [`WORDS`]
//! (the numbers of all words, document after document), for fields of several values [`ELEMENTS`] (length in words and
//! weight of each element), the lengths: how many words each document has, in as few bytes as they need ([`Lengths`]),
//! and last, if a value may have several words, where each word stands (`positions.rs`). A term is found in the dictionary
//! and its postings, and ranked with the lengths; bounds and words are read only for documents whose positions matter.
//!
//! Postings of a word: for each document the distance from the previous ordinal (the first from -1, minus one) and
//! the number of occurrences, both varints.
use std::borrow::Cow;

use brooklet_schema::Normalizing;
use brooklet_task::Rejection;
use brooklet_task::bytes::Writer;
use rustc_hash::FxHashMap;

use super::POINT_BLOCK_BYTES;
use super::dictionary::{self, Entry};
use super::header::{ColumnHeader, Part};
use super::positions::ByWord;
use crate::block::{BlockSink, read_array};
use crate::layout::{Collection, ColumnKind, ColumnSpec};

/// Index of the dictionary part.
pub const DICTIONARY: usize = 0;
/// Index of the postings part.
pub const POSTINGS: usize = 1;
/// Index of the part with the documents' bounds.
pub const BOUNDS: usize = 2;
/// Index of the part with the words' numbers.
pub const WORDS: usize = 3;
/// Index of the part with the elements.
pub const ELEMENTS: usize = 4;

/// Words of a block of word numbers: two pages of the database. Phrases of rare words look at a few documents, those of
/// common ones at all.
const WORDS_PER_BLOCK: u32 = 16_000;
/// Elements of a block.
const ELEMENTS_PER_BLOCK: u32 = 1_000;
/// Documents of a block of bounds, and of lengths.
const BOUNDS_PER_BLOCK: u32 = 16_384;

/// One element of a field: its length in words and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Element {
    /// Words.
    pub length: u32,
    /// Weight of a weighted set's, the element that a part is of ([`Collection::element_of`]), otherwise 1.
    pub weight: i32,
}

/// Cuts `value` to `max_bytes` at a character.
#[must_use]
pub fn cut(value: &str, max_bytes: usize) -> &str {
    let mut end = value.len().min(max_bytes);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    &value[..end]
}

/// `text`, of whole letters, as it is compared.
#[must_use]
pub fn normalise(text: &str, normalizing: Normalizing) -> Cow<'_, str> {
    let mut out = String::new();
    match normalizing {
        Normalizing::None => return text.into(),
        Normalizing::Lowercase => brooklet_text::lowercase(text, &mut out),
        Normalizing::LowercaseAndFold => brooklet_text::fold(text, &mut out),
    }
    out.into()
}

/// What a word that is another than all before it takes while a column is built: its bytes, its place in a table, its list.
const DISTINCT_WORD_BYTES: usize = 64;

/// What so many words take while a column is built of them, and in it, about.
pub(crate) fn bytes_of_words(words: usize, distinct: usize) -> usize {
    words * size_of::<u32>() + distinct * DISTINCT_WORD_BYTES
}

/// Writes the words of one field, document after document.
pub struct TextWriter {
    spec: ColumnSpec,
    normalizing: Normalizing,
    whole: bool,
    max_length_bytes: usize,
    several: bool,
    numbers: FxHashMap<Box<[u8]>, u32>,
    words: Vec<u32>,
    word_ends: Vec<u32>,
    elements: Vec<Element>,
    element_ends: Vec<u32>,
    buffer: String,
}

impl TextWriter {
    /// A writer for a text column.
    ///
    /// # Panics
    /// If the spec is of another kind.
    #[must_use]
    pub fn new(spec: ColumnSpec) -> TextWriter {
        let ColumnKind::Text { normalizing, whole, max_length_bytes, collection } = spec.kind else {
            panic!("a text writer for {:?}", spec.kind)
        };
        TextWriter {
            spec,
            normalizing,
            whole,
            max_length_bytes: max_length_bytes as usize,
            several: collection != Collection::Single,
            numbers: FxHashMap::default(),
            words: Vec::new(),
            word_ends: Vec::new(),
            elements: Vec::new(),
            element_ends: Vec::new(),
            buffer: String::new(),
        }
    }

    /// Adds an element of the current document.
    pub fn element(&mut self, value: &str, weight: i32) {
        let before = self.words.len();
        let value = &*brooklet_text::whole_letters(cut(value, self.max_length_bytes));
        if self.whole {
            if !value.is_empty() {
                self.word(value);
            }
        } else {
            for token in brooklet_text::Tokens::new(value) {
                self.word(&value[token.start..token.end]);
            }
        }
        if self.several {
            self.elements.push(Element { length: (self.words.len() - before) as u32, weight });
        }
    }

    fn word(&mut self, word: &str) {
        self.buffer.clear();
        let normal = match self.normalizing {
            Normalizing::None => word,
            Normalizing::Lowercase => {
                brooklet_text::lowercase(word, &mut self.buffer);
                &self.buffer
            }
            Normalizing::LowercaseAndFold => {
                brooklet_text::fold(word, &mut self.buffer);
                &self.buffer
            }
        };
        let key = dictionary::key_of(normal);
        let next = self.numbers.len() as u32;
        let number = match self.numbers.get(key.as_ref()) {
            Some(number) => *number,
            None => {
                self.numbers.insert(key.into_owned().into_boxed_slice(), next);
                next
            }
        };
        self.words.push(number);
    }

    /// Bytes that it holds so far, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        bytes_of_words(self.words.len(), self.numbers.len())
    }

    /// Ends the current document.
    pub fn end_document(&mut self) {
        self.word_ends.push(self.words.len() as u32);
        self.element_ends.push(self.elements.len() as u32);
    }

    /// Cuts everything into blocks.
    pub fn finish(mut self, sink: &mut BlockSink) -> ColumnHeader {
        let mut sorted: Vec<(Box<[u8]>, u32)> = std::mem::take(&mut self.numbers).into_iter().collect();
        sorted.sort_unstable();
        let mut final_number = vec![0u32; sorted.len()];
        for (number, (_, provisional)) in sorted.iter().enumerate() {
            final_number[*provisional as usize] = number as u32;
        }
        self.words.iter_mut().for_each(|word| *word = final_number[*word as usize]);

        let by_word = ByWord::new(&self.words, &self.word_ends, sorted.len());
        let (entries, postings) = write_postings(&by_word, sink);
        let words: Vec<&[u8]> = sorted.iter().map(|(word, _)| word.as_ref()).collect();
        let dictionary = dictionary::write(&words, &entries, sink);
        let wide = sorted.len() > usize::from(u16::MAX) + 1;
        let mut parts = vec![dictionary, postings, self.write_bounds(sink), self.write_words(wide, sink)];
        if self.several {
            parts.push(write_rows(&self.elements, ELEMENTS_PER_BLOCK, sink));
        }
        let (lengths, length_bytes) = self.write_lengths(sink);
        parts.push(lengths);
        if !self.whole {
            parts.push(by_word.write(sink));
        }
        let parameters = vec![u32::from(wide), self.words.len() as u32, length_bytes];
        ColumnHeader { spec: self.spec, parameters, parts }
    }

    fn write_bounds(&self, sink: &mut BlockSink) -> Part {
        let rows = self.word_ends.len() as u32;
        let part = Part { first_block: sink.next(), rows, rows_per_block: BOUNDS_PER_BLOCK, ..Part::default() };
        for first in (0..rows as usize).step_by(BOUNDS_PER_BLOCK as usize) {
            let mut payload = Vec::new();
            let mut put = |ends: &[u32]| {
                let last = (first + BOUNDS_PER_BLOCK as usize).min(ends.len());
                let before = if first == 0 { 0 } else { ends[first - 1] };
                payload.extend_from_slice(&before.to_le_bytes());
                payload.extend_from_slice(bytemuck::cast_slice(&ends[first..last]));
            };
            put(&self.word_ends);
            if self.several {
                put(&self.element_ends);
            }
            sink.push(payload);
        }
        part
    }

    /// The part of the lengths, and the bytes of one.
    fn write_lengths(&self, sink: &mut BlockSink) -> (Part, u32) {
        let starts = std::iter::once(0).chain(self.word_ends.iter().copied());
        let lengths: Vec<u32> = self.word_ends.iter().zip(starts).map(|(end, start)| end - start).collect();
        match lengths.iter().copied().max().unwrap_or(0) {
            0..=0xff => {
                let narrow: Vec<u8> = lengths.iter().map(|length| *length as u8).collect();
                (write_rows(&narrow, BOUNDS_PER_BLOCK, sink), 1)
            }
            0x100..=0xffff => {
                let middle: Vec<u16> = lengths.iter().map(|length| *length as u16).collect();
                (write_rows(&middle, BOUNDS_PER_BLOCK, sink), 2)
            }
            _ => (write_rows(&lengths, BOUNDS_PER_BLOCK, sink), 4),
        }
    }

    fn write_words(&self, wide: bool, sink: &mut BlockSink) -> Part {
        if wide {
            return write_rows(&self.words, WORDS_PER_BLOCK, sink);
        }
        let narrow: Vec<u16> = self.words.iter().map(|word| *word as u16).collect();
        write_rows(&narrow, WORDS_PER_BLOCK, sink)
    }
}

fn write_postings(by_word: &ByWord, sink: &mut BlockSink) -> (Vec<Entry>, Part) {
    let mut part = Part { first_block: sink.next(), ..Part::default() };
    let mut entries = Vec::new();
    let mut payload: Vec<u8> = Vec::new();
    let mut list = Writer::new();
    for (number, occurrences) in by_word.each().enumerate() {
        list.clear();
        let (mut documents, mut last) = (0, u32::MAX);
        for of_document in occurrences.chunk_by(|a, b| a.ordinal == b.ordinal) {
            let ordinal = of_document[0].ordinal;
            list.varint(u64::from(ordinal.wrapping_sub(last) - 1));
            list.varint(of_document.len() as u64);
            documents += 1;
            last = ordinal;
        }
        let bytes = list.as_bytes();
        if !payload.is_empty() && payload.len() + bytes.len() > POINT_BLOCK_BYTES {
            sink.push(std::mem::take(&mut payload));
        }
        if payload.is_empty() {
            part.firsts.push(number as u32);
        }
        let block = part.firsts.len() as u32 - 1;
        entries.push(Entry { documents, block, offset: payload.len() as u32, length: bytes.len() as u32 });
        payload.extend_from_slice(bytes);
    }
    if !payload.is_empty() {
        sink.push(payload);
    }
    part.rows = entries.len() as u32;
    (entries, part)
}

fn write_rows<T: bytemuck::Pod>(rows: &[T], rows_per_block: u32, sink: &mut BlockSink) -> Part {
    let part = Part { first_block: sink.next(), rows: rows.len() as u32, rows_per_block, ..Part::default() };
    rows.chunks(rows_per_block as usize).for_each(|chunk| sink.push(bytemuck::cast_slice(chunk).to_vec()));
    part
}

/// What a header says of a text column.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    column: &'a ColumnHeader,
    /// Whether word numbers take four bytes instead of two.
    pub wide: bool,
    /// Words of all documents.
    pub words: u32,
    /// Whether documents have several elements.
    pub several: bool,
    /// Values of a document.
    pub collection: Collection,
    /// Whether a value is one word.
    pub whole: bool,
    /// Bytes of a document's length; 0 where lengths were not written yet (format 2).
    length_bytes: u32,
    /// Where each word stands: a row of stored bytes for each (`positions.rs`). Nothing where a value is one word, and
    /// where it was not written yet (format 3).
    pub positions: Option<&'a Part>,
}

impl<'a> Text<'a> {
    /// Reads the column's header.
    ///
    /// # Errors
    /// If parts are missing.
    pub fn from_column(column: &'a ColumnHeader) -> Result<Text<'a>, Rejection> {
        let ColumnKind::Text { collection, whole, .. } = column.spec.kind else {
            return Err(Rejection::corrupt("a column that is not of text"));
        };
        let several = collection != Collection::Single;
        let (wide, words, length_bytes) = match &column.parameters[..] {
            [wide, words] => (*wide == 1, *words, 0),
            [wide, words, length_bytes @ (1 | 2 | 4)] => (*wide == 1, *words, *length_bytes),
            _ => return Err(Rejection::corrupt("a text column without its parameters")),
        };
        let others = 4 + usize::from(several) + usize::from(length_bytes > 0);
        let positions = match column.parts.get(others..) {
            Some([]) => None,
            Some([positions]) if length_bytes > 0 && !whole => Some(positions),
            _ => return Err(Rejection::corrupt("a text column without its parts")),
        };
        Ok(Text { column, wide, words, several, collection, whole, length_bytes, positions })
    }

    /// Where the lengths of documents are.
    #[must_use]
    pub fn lengths(&self) -> LengthPart {
        let parts = &self.column.parts;
        let part = if self.length_bytes == 0 { &parts[BOUNDS] } else { &parts[4 + usize::from(self.several)] };
        LengthPart { part: part.clone(), bytes: self.length_bytes }
    }

    /// The part of that index ([`DICTIONARY`] …).
    #[must_use]
    pub fn part(&self, index: usize) -> &'a Part {
        &self.column.parts[index]
    }

    /// The bounds of a block of documents.
    ///
    /// # Errors
    /// If the payload is not of this column.
    pub fn bounds(&self, rows: u32, payload: &'a [u8]) -> Result<Bounds<'a>, Rejection> {
        let count = rows as usize + 1;
        let words = read_array::<u32>(payload, 0, count)?;
        let elements = if self.several { read_array::<u32>(payload, 4 * count, count)? } else { &[] };
        if !words.is_sorted() || !elements.is_sorted() {
            return Err(Rejection::corrupt("the documents of a text column are out of order"));
        }
        Ok(Bounds { words, elements })
    }

    /// Appends word numbers `range` of a block to `out`; `range` counts from the block's first.
    ///
    /// # Errors
    /// If the block has fewer.
    pub fn read_words(
        &self,
        payload: &[u8],
        range: std::ops::Range<usize>,
        out: &mut Vec<u32>,
    ) -> Result<(), Rejection> {
        let count = range.len();
        if self.wide {
            out.extend_from_slice(read_array::<u32>(payload, 4 * range.start, count)?);
        } else {
            out.extend(read_array::<u16>(payload, 2 * range.start, count)?.iter().map(|word| u32::from(*word)));
        }
        Ok(())
    }
}

/// The part that tells how many words documents have.
#[derive(Clone, Debug, Default)]
pub struct LengthPart {
    /// Its blocks.
    pub part: Part,
    /// Bytes of a length; 0 if the part is that of the bounds.
    bytes: u32,
}

impl LengthPart {
    /// The lengths in the block at `index`.
    ///
    /// # Errors
    /// If the payload is not of this part.
    pub fn read<'b>(&self, index: u32, payload: &'b [u8]) -> Result<Lengths<'b>, Rejection> {
        let rows = self.part.span_of(index).1 as usize;
        Ok(match self.bytes {
            1 => Lengths::Narrow(read_array(payload, 0, rows)?),
            2 => Lengths::Middle(read_array(payload, 0, rows)?),
            4 => Lengths::Wide(read_array(payload, 0, rows)?),
            _ => Lengths::Ends(read_array(payload, 0, rows + 1)?),
        })
    }
}

/// The number of words of each document of a block.
#[derive(Clone, Copy)]
pub enum Lengths<'a> {
    /// A byte each.
    Narrow(&'a [u8]),
    /// Two bytes each.
    Middle(&'a [u16]),
    /// Four bytes each.
    Wide(&'a [u32]),
    /// The first word of each document, and one more: as format 2 had them.
    Ends(&'a [u32]),
}

impl Lengths<'_> {
    /// Appends what `each` makes of the lengths of the block's documents, in order.
    #[inline]
    pub fn extend<T>(&self, out: &mut Vec<T>, each: impl Fn(u32) -> T) {
        match self {
            Lengths::Narrow(lengths) => out.extend(lengths.iter().map(|length| each(u32::from(*length)))),
            Lengths::Middle(lengths) => out.extend(lengths.iter().map(|length| each(u32::from(*length)))),
            Lengths::Wide(lengths) => out.extend(lengths.iter().map(|length| each(*length))),
            Lengths::Ends(ends) => out.extend(ends.windows(2).map(|ends| each(ends[1].saturating_sub(ends[0])))),
        }
    }

    /// The words of some of the block's documents, and how many of these have any. `bits` says which of 64 rows from one on count.
    #[must_use]
    pub fn sum_of(&self, bits: impl Fn(usize) -> u64) -> (u64, u64) {
        match self {
            Lengths::Narrow(lengths) => sum_by_64(lengths, bits),
            Lengths::Middle(lengths) => sum_by_64(lengths, bits),
            Lengths::Wide(lengths) => sum_by_64(lengths, bits),
            Lengths::Ends(ends) => {
                let lengths: Vec<u32> = ends.windows(2).map(|ends| ends[1].saturating_sub(ends[0])).collect();
                sum_by_64(&lengths, bits)
            }
        }
    }

    /// The length of the block's document at `row`; 0 if there is none.
    #[inline]
    #[must_use]
    pub fn length(&self, row: usize) -> u32 {
        match self {
            Lengths::Narrow(lengths) => lengths.get(row).copied().map_or(0, u32::from),
            Lengths::Middle(lengths) => lengths.get(row).copied().map_or(0, u32::from),
            Lengths::Wide(lengths) => lengths.get(row).copied().unwrap_or(0),
            Lengths::Ends(ends) => match ends.get(row..row.saturating_add(2)) {
                Some([start, end]) => end.saturating_sub(*start),
                _ => 0,
            },
        }
    }
}

/// The sum of the numbers whose bits are set, and how many of these are not 0. Where all of 64 count, compilers make vector code of it.
fn sum_by_64<T: Copy + Into<u32>>(lengths: &[T], bits: impl Fn(usize) -> u64) -> (u64, u64) {
    let (mut words, mut documents) = (0u64, 0u64);
    for (number, of) in lengths.chunks(64).enumerate() {
        let bits = bits(64 * number);
        if bits == u64::MAX {
            words += of.iter().map(|length| u64::from((*length).into())).sum::<u64>();
            documents += u64::from(of.iter().map(|length| u32::from((*length).into() != 0)).sum::<u32>());
            continue;
        }
        for (_, length) in of.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1) {
            words += u64::from((*length).into());
            documents += u64::from((*length).into() != 0);
        }
    }
    (words, documents)
}

/// Where documents' words and elements end, for one block of documents.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// First word of each document, and one more.
    pub words: &'a [u32],
    /// First element of each document, and one more; empty for single values.
    pub elements: &'a [u32],
}
