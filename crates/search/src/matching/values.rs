//! Questions about whole values as they were written: regular expressions, fuzzy comparison, pieces of text with
//! separators, keys of maps.
//!
//! A dictionary of values answers where a column has one. Otherwise the values are read from the source, for candidates
//! only.
use brooklet_rank::match_data::Occurrence;
use brooklet_schema::Normalizing;
use brooklet_segment::column::dictionary::{DictionaryBlock, WORD_BYTES, has_cut_values};
use brooklet_segment::column::text;
use brooklet_segment::column::text::{Text, cut};
use brooklet_segment::layout::{ColumnKind, NumberKind};
use brooklet_segment::{BlockSource, ColumnHeader, Halt, Part, ValuePlace, each_value, gather, read_document};
use brooklet_task::Rejection;
use brooklet_text::{Fuzzy, PatternSearch, whole_letters};

use super::found::LeafHits;
use super::number;
use super::walk::{Inside, Walk};
use super::words::WordReader;
use crate::plan::condition::{NumberTest, PhraseTest, ValueTest, WordTest};
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Missing blocks of source that are asked for at once.
const SOURCES_AHEAD: usize = 256;

/// Documents with a value for which the test holds.
pub(crate) fn match_values(
    column: &ColumnHeader,
    test: &ValueTest,
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<LeafHits, Halt> {
    let text = Text::from_column(column)?;
    if let (ValueTest::Fuzzy { fuzzy, .. }, true) = (test, text.whole) {
        let mut fuzzy = fuzzy.clone();
        // Words of such a column are whole values, in lower case unless it is cased: as fuzzy comparison has them.
        let accept = |word: &[u8]| std::str::from_utf8(word).is_ok_and(|word| fuzzy.matches(word));
        return super::text::match_words_where(column, view, reads, walk, (1, accept));
    }
    let mut asks = ValueMatcher::new(test, walk);
    let found = match_each(column, test, &mut asks, view, reads, walk);
    if let ValueMatcher::Pattern(search) = asks {
        walk.search = Some(search);
    }
    found
}

fn match_each(
    column: &ColumnHeader,
    test: &ValueTest,
    asks: &mut ValueMatcher,
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<LeafHits, Halt> {
    let max_bytes = max_bytes(column);
    let strings =
        view.segment.header.columns.iter().find(|other| {
            other.spec.field == column.spec.field && matches!(other.spec.kind, ColumnKind::Strings { .. })
        });
    if let Some(strings) = strings {
        let accept = |value: &str, reads: &mut Reads| asks.about(cut(value, max_bytes), reads);
        if accept_strings(strings, view, reads, walk, accept)? {
            return strings_in(strings, walk.strings.clone(), view, reads);
        }
    }
    if walk.candidates.is_none() {
        walk.candidates = Some(candidates(column, test, view, reads, walk)?);
    }
    scan(column, walk, view, reads, &mut |value, place, out, reads| {
        if asks.about(cut(value, max_bytes), reads)? {
            out.push(Occurrence {
                element: place.element,
                position: 0,
                element_length: 1,
                element_weight: place.weight,
            });
        }
        Some(1)
    })
}

/// The documents whose values must be looked at.
fn candidates(
    column: &ColumnHeader,
    test: &ValueTest,
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<Vec<u32>, Halt> {
    match test {
        ValueTest::Fuzzy { words_max, .. } => short_documents(&Text::from_column(column)?, *words_max, view, reads),
        ValueTest::Pattern(pattern) => match &pattern.literal {
            Some(literal) if pattern.cased == is_cased(column) => documents_with(column, literal, view, reads, walk),
            _ => Ok(view.alive.ones().map(|ordinal| ordinal as u32).collect()),
        },
    }
}

/// A test with the memory it works in.
enum ValueMatcher {
    Fuzzy(Box<Fuzzy>),
    Pattern(PatternSearch),
}

impl ValueMatcher {
    /// Goes on with a search that is in the middle of a value.
    fn new(test: &ValueTest, walk: &mut Walk) -> ValueMatcher {
        match test {
            ValueTest::Fuzzy { fuzzy, .. } => ValueMatcher::Fuzzy(Box::new(fuzzy.clone())),
            ValueTest::Pattern(pattern) => {
                ValueMatcher::Pattern(walk.search.take().unwrap_or_else(|| PatternSearch::new(pattern.clone())))
            }
        }
    }

    /// Whether it holds for a value; nothing if the work of the step was not enough to know: it is to be asked again.
    fn about(&mut self, value: &str, reads: &mut Reads) -> Option<bool> {
        let value = whole_letters(value);
        match self {
            ValueMatcher::Fuzzy(fuzzy) => {
                reads.work(value.len());
                Some(fuzzy.matches(&value))
            }
            ValueMatcher::Pattern(search) => search.is_in(&value, reads.work_left()),
        }
    }
}

/// Bytes a value is cut to before it is searched.
fn max_bytes(column: &ColumnHeader) -> usize {
    match column.spec.kind {
        ColumnKind::Text { max_length_bytes, .. } => max_length_bytes as usize,
        _ => usize::MAX,
    }
}

/// Documents with the value `key` in a column of strings, as it is written.
pub(super) fn match_strings(
    column: &ColumnHeader,
    key: &str,
    view: &View,
    reads: &mut Reads,
) -> Result<LeafHits, Halt> {
    let Some(dictionary) = column.parts.first() else { return Ok(LeafHits::Elements(Vec::new())) };
    // No query holds a key that is as long as what is cut.
    let key = key.as_bytes();
    let Some(index) = dictionary.index_of_key(key) else { return Ok(LeafHits::Elements(Vec::new())) };
    let block = reads.segment(&view.segment).block(dictionary.first_block + index)?;
    let found = DictionaryBlock::read(block.bytes())?.find(key);
    let accepted = found.map(|at| i64::from(dictionary.span_of(index).0) + at as i64);
    strings_in(column, accepted.into_iter().collect(), view, reads)
}

/// Collects the numbers of the strings of a column for which `accept` holds, ascending. `false` if some were too long to
/// be kept whole: then the strings do not tell.
fn accept_strings(
    column: &ColumnHeader,
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
    mut accept: impl FnMut(&str, &mut Reads) -> Option<bool>,
) -> Result<bool, Halt> {
    let Some(dictionary) = column.parts.first().filter(|part| !has_cut_values(part)) else { return Ok(false) };
    let blocks = blocks_of(dictionary, view, reads)?;
    for (index, block) in blocks.iter().enumerate().skip(walk.strings_block as usize) {
        let words = DictionaryBlock::read(block.bytes())?;
        let first = i64::from(dictionary.span_of(index as u32).0);
        for at in walk.strings_next..words.len() {
            if reads.is_tired() {
                return Err(Halt::Missing);
            }
            match accept(&String::from_utf8_lossy(words.word(at)), reads) {
                Some(true) => walk.strings.push(first + at as i64),
                Some(false) => {}
                None => return Err(Halt::Missing),
            }
            walk.strings_next = at + 1;
        }
        (walk.strings_block, walk.strings_next) = (index as u32 + 1, 0);
    }
    Ok(true)
}

/// All blocks of a part; those that are missing are noted before it halts.
pub(crate) fn blocks_of(part: &Part, view: &View, reads: &mut Reads) -> Result<Vec<brooklet_task::Block>, Halt> {
    gather(0..part.blocks(), |index| reads.segment(&view.segment).block(part.first_block + index))
}

/// Documents with one of the strings that have these numbers.
fn strings_in(column: &ColumnHeader, accepted: Vec<i64>, view: &View, reads: &mut Reads) -> Result<LeafHits, Halt> {
    let (ColumnKind::Strings { collection }, Some(part)) = (&column.spec.kind, column.parts.get(1)) else {
        return Err(Rejection::corrupt("a column of strings without them").into());
    };
    if accepted.is_empty() {
        return Ok(LeafHits::None);
    }
    number::find(part, NumberKind::Int32, *collection, &NumberTest::AnyOf(accepted), view, reads)
}

fn is_cased(column: &ColumnHeader) -> bool {
    matches!(column.spec.kind, ColumnKind::Text { normalizing: Normalizing::None, .. })
}

/// The documents with a word that holds these letters, as the column has its words. Of very long words only the
/// beginning is known: they may hold anything.
fn documents_with(
    column: &ColumnHeader,
    letters: &str,
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<Vec<u32>, Halt> {
    let ColumnKind::Text { normalizing, .. } = column.spec.kind else { return Ok(Vec::new()) };
    let needle = brooklet_kernel::Needle::new(text::normalise(letters, normalizing).as_bytes());
    let holds = |word: &[u8]| word.len() > WORD_BYTES || needle.find(word).is_some();
    let mut documents = Vec::new();
    let found = super::text::match_words_where(column, view, reads, walk, (0, holds))?;
    found.for_each_document(|ordinal| documents.push(ordinal));
    documents.retain(|ordinal| view.alive.get(*ordinal as usize));
    Ok(documents)
}

/// The documents with at most so many words in a field of single values; all of other fields, which have elements.
fn short_documents(text: &Text<'_>, words_max: Option<u32>, view: &View, reads: &mut Reads) -> Result<Vec<u32>, Halt> {
    let alive = view.alive.ones().map(|ordinal| ordinal as u32);
    let Some(words_max) = words_max.filter(|_| !text.several) else { return Ok(alive.collect()) };
    let mut reader = WordReader::new(*text, &view.segment);
    let mut candidates = Vec::new();
    for ordinal in alive {
        if reader.extent(ordinal, reads)?.words() <= words_max {
            candidates.push(ordinal);
        }
    }
    Ok(candidates)
}

/// Documents in whose text `needle` stands, separators and all. Its words narrow down the documents, the text itself
/// decides. A place is the number of runs of separators before it, an element as long as the runs in it and one.
#[inline(never)]
pub(crate) fn match_text(
    column: &ColumnHeader,
    words: &[WordTest],
    needle: &str,
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<LeafHits, Halt> {
    if walk.candidates.is_none() {
        let mut ordinals: Vec<u32> = view.alive.ones().map(|ordinal| ordinal as u32).collect();
        if !words.is_empty() {
            let words = words.iter().map(|word| vec![word.clone()]).collect();
            let phrase = PhraseTest { words, starts: false, ends: false };
            let found = super::phrase::match_phrase(column, &phrase, view, reads)?;
            ordinals.clear();
            found.for_each_document(|ordinal| ordinals.push(ordinal));
            ordinals.dedup();
        }
        walk.candidates = Some(ordinals);
    }
    let max_bytes = max_bytes(column);
    let finder = brooklet_kernel::Needle::new(needle.as_bytes());
    scan(column, walk, view, reads, &mut |value, place, out, reads| {
        reads.work(value.len());
        let visible: String = cut(value, max_bytes).chars().filter(|c| *c >= ' ' || matches!(c, '\n' | '\t')).collect();
        let visible = whole_letters(&visible);
        let folded = text::normalise(&visible, Normalizing::LowercaseAndFold);
        let runs = separator_runs(&folded);
        let element_length = runs.len() as u32 + 1;
        for at in finder.find_all(folded.as_bytes()) {
            let position = runs.partition_point(|start| *start < at) as u32;
            let (element, element_weight) = (place.element, place.weight);
            out.push(Occurrence { element, position, element_length, element_weight });
        }
        Some(element_length)
    })
}

/// Where runs of separators begin in a text.
fn separator_runs(text: &str) -> Vec<usize> {
    let mut runs = Vec::new();
    let mut inside = false;
    for (at, character) in text.char_indices() {
        let separates = !brooklet_text::is_word(character);
        if separates && !inside {
            runs.push(at);
        }
        inside = separates;
    }
    runs
}

/// Adds the occurrences in a text and says how long the element is; nothing if the step's work ended before: it is to be
/// asked about the same text again.
type AskEach<'a> = &'a mut dyn FnMut(&str, ValuePlace, &mut Vec<Occurrence>, &mut Reads) -> Option<u32>;

/// Asks `each` about every text of the candidates' field, as the source has it.
fn scan(
    column: &ColumnHeader,
    walk: &mut Walk,
    view: &View,
    reads: &mut Reads,
    each: AskEach<'_>,
) -> Result<LeafHits, Halt> {
    let path = &column.spec.field;
    let field = path.split('.').next().unwrap_or(path);
    let read = |ordinal: u32, reads: &mut Reads| {
        read_document(&view.segment.header, ordinal, &|name| name == field, &mut reads.segment(&view.segment))
    };
    let Some(candidates) = &walk.candidates else { return Ok(LeafHits::None) };
    while let Some(ordinal) = candidates.get(walk.next) {
        if reads.is_tired() {
            return Err(Halt::Missing);
        }
        let document = match read(*ordinal, reads) {
            Ok(document) => document,
            Err(Halt::Missing) => break,
            Err(halt) => return Err(halt),
        };
        let (inside, mut number, mut rests) = (&mut walk.inside, 0, false);
        each_value(&document, path, &mut |value, place| {
            let brooklet_document::Value::String(text) = value else { return };
            number += 1;
            if rests || number <= inside.values {
                return;
            }
            match each(text, place, &mut inside.occurrences, reads) {
                Some(length) => (inside.values, inside.length) = (number, inside.length + length),
                None => rests = true,
            }
        });
        if rests {
            return Err(Halt::Missing);
        }
        let Inside { occurrences, length, .. } = std::mem::take(&mut walk.inside);
        walk.kept.push(*ordinal, occurrences, length);
        walk.next += 1;
    }
    if walk.next == candidates.len() {
        return Ok(LeafHits::Kept(std::mem::take(&mut walk.kept)));
    }
    // What others will need is asked for at once.
    for ordinal in &candidates[walk.next + 1..] {
        if reads.missing() > SOURCES_AHEAD {
            break;
        }
        match read(*ordinal, reads) {
            Ok(_) | Err(Halt::Missing) => {}
            Err(halt) => return Err(halt),
        }
    }
    Err(Halt::Missing)
}
