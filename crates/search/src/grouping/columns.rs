//! Columns of attributes as expressions read them: the values of some documents of a view, one after the other. Words stay
//! numbers as long as nobody asks for their texts; those of a view are looked up once.
use std::cell::OnceCell;
use std::rc::Rc;

use brooklet_segment::column::dictionary::{DictionaryBlock, has_cut_values};
use brooklet_segment::column::number::{SeveralBlock, SingleBlock, Values};
use brooklet_segment::layout::{Collection, ColumnKind, ColumnSpec, NumberKind};
use brooklet_segment::{BlockSource, Gaps, Halt, Part};
use brooklet_task::Rejection;

use super::datum::Datum;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// The number of no word.
pub(super) const NO_WORD: u32 = u32::MAX;

/// The values of one input, by document.
pub(super) enum Column {
    Bools(Vec<bool>),
    Longs(Vec<i64>),
    Doubles(Vec<f64>),
    /// Numbers of words, [`NO_WORD`] where there is none.
    Words(Vec<u32>),
    /// Several values of every document: where those of each end, and all of them.
    Several {
        ends: Vec<u32>,
        elements: Elements,
    },
    Values(Vec<Datum>),
}

/// The elements of all documents, one after the other.
pub(super) enum Elements {
    /// Whole numbers, or the bits of doubles.
    Numbers(NumberKind, Vec<u64>),
    Words(Vec<u32>),
}

/// The texts of the words of a view that were asked for, by their numbers.
#[derive(Default)]
pub(super) struct Texts {
    words: Vec<Word>,
    /// Those that are known, one after the other.
    bytes: Vec<u8>,
}

/// Where the text of a word stands; and it as expressions have it, once one asked for it.
#[derive(Clone, Default)]
struct Word {
    known: Option<(u32, u32)>,
    text: OnceCell<Rc<[u8]>>,
}

impl Texts {
    /// Forgets those of another view.
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.bytes.clear();
    }

    /// The text of a word; the empty one of no word.
    pub(super) fn text(&self, word: u32) -> Datum {
        match self.words.get(word as usize) {
            Some(Word { known: Some(_), text }) => Datum::Text(text.get_or_init(|| Rc::from(self.bytes(word))).clone()),
            _ => Datum::text(""),
        }
    }

    /// The same as bytes.
    pub(super) fn bytes(&self, word: u32) -> &[u8] {
        match self.words.get(word as usize) {
            Some(Word { known: Some((start, end)), .. }) => &self.bytes[*start as usize..*end as usize],
            _ => b"",
        }
    }

    /// How many words there are.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Looks up the texts of words that are not known yet.
    fn learn(&mut self, words: &[u32], dictionary: &Part, view: &View, reads: &mut Reads) -> Result<(), Halt> {
        self.words.resize(dictionary.rows as usize, Word::default());
        let mut wanted = vec![0u64; self.words.len().div_ceil(64)];
        let mut any = false;
        for word in words.iter().filter(|word| **word != NO_WORD) {
            let at = *word as usize;
            if self.words.get(at).ok_or_else(beyond)?.known.is_none() {
                wanted[at / 64] |= 1 << (at % 64);
                any = true;
            }
        }
        if !any {
            return Ok(());
        }
        let each = |(at, bits): (usize, &u64)| {
            let bits = *bits;
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| (64 * at + bit) as u32)
        };
        let numbers: Vec<u32> = wanted.iter().enumerate().filter(|(_, bits)| **bits != 0).flat_map(each).collect();
        by_block(dictionary, view, &numbers, reads, |bytes, first, _, numbers| {
            let block = DictionaryBlock::read(bytes)?;
            for number in numbers {
                let at = (number - first) as usize;
                if at >= block.len() {
                    return Err(beyond());
                }
                let start = self.bytes.len() as u32;
                self.bytes.extend_from_slice(block.word(at));
                self.words[*number as usize].known = Some((start, self.bytes.len() as u32));
            }
            Ok(())
        })
    }
}

fn beyond() -> Rejection {
    Rejection::corrupt("a word beyond its dictionary")
}

impl Column {
    /// Reads a column for documents of one view, in ascending order. Nothing if the view has no such column.
    pub(super) fn load(
        of: &ColumnSpec,
        view: &View,
        ordinals: &[u32],
        texts: &mut Texts,
        reads: &mut Reads,
    ) -> Result<Option<Column>, Halt> {
        let Some(column) = view.segment.header.column(of) else { return Ok(None) };
        Ok(Some(match (&column.spec.kind, &column.parts[..]) {
            (ColumnKind::Numbers { number, collection: Collection::Single }, [part]) => {
                single_numbers(*number, part, view, ordinals, reads)?
            }
            (ColumnKind::Numbers { number, collection }, [part]) => {
                let (ends, bits) = several_numbers(*number, *collection, part, view, ordinals, reads)?;
                Column::Several { ends, elements: Elements::Numbers(*number, bits) }
            }
            (ColumnKind::Strings { collection: Collection::Single }, [dictionary, part]) => {
                let words = single_words(part, view, ordinals, reads)?;
                texts.learn(&words, dictionary, view, reads)?;
                Column::Words(words)
            }
            (ColumnKind::Strings { collection }, [dictionary, part]) => {
                let (ends, bits) = several_numbers(NumberKind::Int32, *collection, part, view, ordinals, reads)?;
                let words: Vec<u32> = bits.into_iter().map(|number| number as u32).collect();
                texts.learn(&words, dictionary, view, reads)?;
                Column::Several { ends, elements: Elements::Words(words) }
            }
            _ => return Err(Rejection::corrupt("a column without its parts").into()),
        }))
    }

    /// Whether the column has but the beginning of some value, so that values are read of the documents.
    pub(super) fn is_cut(of: &ColumnSpec, view: &View) -> bool {
        let is_text = matches!(of.kind, ColumnKind::Strings { .. });
        let column = view.segment.header.column(of).filter(|_| is_text);
        column.and_then(|column| column.parts.first()).is_some_and(has_cut_values)
    }

    /// How many of the documents are read at once: of several values each no more than one block has.
    pub(super) fn at_once(of: &ColumnSpec, view: &View, ordinals: &[u32]) -> usize {
        let part = match view.segment.header.column(of).map(|column| (&column.spec.kind, &column.parts[..])) {
            Some((ColumnKind::Numbers { collection, .. }, [part])) if *collection != Collection::Single => part,
            Some((ColumnKind::Strings { collection }, [_, part])) if *collection != Collection::Single => part,
            _ => return ordinals.len(),
        };
        let Some(ordinal) = ordinals.first() else { return 0 };
        let (first, rows) = part.span_of(part.index_of(*ordinal));
        ordinals.partition_point(|ordinal| *ordinal < first + rows).max(1)
    }
}

/// The places of the elements of a document.
pub(super) fn elements_of(ends: &[u32], at: usize) -> std::ops::Range<usize> {
    let start = if at == 0 { 0 } else { ends[at - 1] };
    start as usize..ends[at] as usize
}

impl Elements {
    /// An element.
    pub(super) fn value(&self, at: usize, texts: &Texts) -> Datum {
        match self {
            Elements::Words(words) => texts.text(words[at]),
            Elements::Numbers(NumberKind::Bool, bits) => Datum::Bool(bits[at] != 0),
            Elements::Numbers(NumberKind::Float32 | NumberKind::Float64, bits) => {
                Datum::Double(f64::from_bits(bits[at]))
            }
            Elements::Numbers(_, bits) => Datum::Long(bits[at] as i64),
        }
    }
}

/// Calls `each` for the documents of every block of a part. All missing blocks are noted before it halts.
fn by_block(
    part: &Part,
    view: &View,
    ordinals: &[u32],
    reads: &mut Reads,
    mut each: impl FnMut(&[u8], u32, u32, &[u32]) -> Result<(), Rejection>,
) -> Result<(), Halt> {
    let mut gaps = Gaps::default();
    let mut rest = ordinals;
    while let Some(ordinal) = rest.first() {
        let index = part.index_of(*ordinal);
        let (first, rows) = part.span_of(index);
        let end = rest.partition_point(|ordinal| *ordinal < first + rows).max(1);
        let block = gaps.note(reads.segment(&view.segment).block(part.first_block + index))?;
        if let Some(block) = block.filter(|_| !gaps.are_there()) {
            each(block.bytes(), first, rows, &rest[..end])?;
        }
        rest = &rest[end..];
    }
    gaps.check()
}

/// Appends the whole numbers at some rows of a block.
fn integers(values: Values<'_>, rows: impl Iterator<Item = usize>, out: &mut Vec<i64>) {
    match values {
        Values::Int8(values) => out.extend(rows.map(|row| i64::from(values[row]))),
        Values::Int32(values) => out.extend(rows.map(|row| i64::from(values[row]))),
        Values::Int64(values) => out.extend(rows.map(|row| values[row])),
        values => out.extend(rows.map(|row| values.integer(row))),
    }
}

fn single_numbers(
    kind: NumberKind,
    part: &Part,
    view: &View,
    ordinals: &[u32],
    reads: &mut Reads,
) -> Result<Column, Halt> {
    let (mut longs, mut doubles) = (Vec::new(), Vec::new());
    match kind.is_integer() {
        true => longs.reserve(ordinals.len()),
        false => doubles.reserve(ordinals.len()),
    }
    by_block(part, view, ordinals, reads, |bytes, first, rows, ordinals| {
        // The values of documents without one are zero, which is their default.
        let block = SingleBlock::read(bytes, rows, kind)?;
        let rows = ordinals.iter().map(|ordinal| (ordinal - first) as usize);
        match block.values {
            values if kind.is_integer() => integers(values, rows, &mut longs),
            Values::Float64(values) => doubles.extend(rows.map(|row| values[row])),
            values => doubles.extend(rows.map(|row| values.float(row))),
        }
        Ok(())
    })?;
    Ok(match kind {
        NumberKind::Bool => Column::Bools(longs.into_iter().map(|value| value != 0).collect()),
        _ if kind.is_integer() => Column::Longs(longs),
        _ => Column::Doubles(doubles),
    })
}

fn several_numbers(
    kind: NumberKind,
    collection: Collection,
    part: &Part,
    view: &View,
    ordinals: &[u32],
    reads: &mut Reads,
) -> Result<(Vec<u32>, Vec<u64>), Halt> {
    let (mut ends, mut numbers) = (Vec::with_capacity(ordinals.len()), Vec::new());
    by_block(part, view, ordinals, reads, |bytes, first, rows, ordinals| {
        let block = SeveralBlock::read(bytes, rows, kind, collection)?;
        for ordinal in ordinals {
            numbers.extend(block.range((ordinal - first) as usize).map(|at| match kind.is_integer() {
                true => block.values.integer(at) as u64,
                false => block.values.float(at).to_bits(),
            }));
            ends.push(numbers.len() as u32);
        }
        Ok(())
    })?;
    Ok((ends, numbers))
}

fn single_words(part: &Part, view: &View, ordinals: &[u32], reads: &mut Reads) -> Result<Vec<u32>, Halt> {
    let mut words = Vec::with_capacity(ordinals.len());
    by_block(part, view, ordinals, reads, |bytes, first, rows, ordinals| {
        let block = SingleBlock::read(bytes, rows, NumberKind::Int32)?;
        let Values::Int32(values) = block.values else { return Err(Rejection::corrupt("words that are no numbers")) };
        words.extend(ordinals.iter().map(|ordinal| {
            let row = (ordinal - first) as usize;
            if block.has(row) { values[row] as u32 } else { NO_WORD }
        }));
        Ok(())
    })?;
    Ok(words)
}
