//! Words and pieces of text against a text column.
use std::rc::Rc;

use brooklet_kernel::sort_by_key;
use brooklet_segment::column::dictionary::{DictionaryBlock, key_of};
use brooklet_segment::column::text;
use brooklet_segment::column::text::Text;
use brooklet_segment::{BlockSource, ColumnHeader, Gaps, Halt, gather};
use brooklet_text::Variants;

use super::found::{LeafHits, Word};
use super::last_postings::LastPostings;
use super::postings::Postings;
use super::variants::find_variants;
use super::walk::Walk;
use crate::plan::condition::{How, WordTest};
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Bytes of a dictionary that are searched while others look at one.
const SEARCHED_PER_WORK: usize = 16;

/// Work of looking a word up, as bytes looked at.
const LOOK_UP_WORK: usize = 512;

/// Documents with one of the words.
pub(crate) fn match_words(
    column: &ColumnHeader,
    tests: &[WordTest],
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<LeafHits, Halt> {
    let text = Text::from_column(column)?;
    let words = match walk.all_words.take() {
        Some(words) => words,
        None => find_on(&text, tests, view, reads, walk)?,
    };
    // Where its postings are missing the dictionary is not searched again.
    let words = walk.all_words.insert(words);
    let postings = postings_of(&text, words, view, reads)?;
    Ok(LeafHits::Words { postings, numbers: words.iter().map(|word| (word.number, word.times)).collect() })
}

/// Documents with a word for which `accept` holds. A byte of a word is so much work.
pub(super) fn match_words_where(
    column: &ColumnHeader,
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
    (work, mut accept): (usize, impl FnMut(&[u8]) -> bool),
) -> Result<LeafHits, Halt> {
    let text = Text::from_column(column)?;
    let part = text.part(text::DICTIONARY);
    let mut gaps = Gaps::default();
    for index in walk.words_block..part.blocks() {
        if !gaps.are_there() && reads.is_tired() {
            return Err(Halt::Missing);
        }
        match gaps.note(reads.segment(&view.segment).block(part.first_block + index))? {
            // What follows a missing block is looked at when that is there.
            Some(_) if gaps.are_there() => {}
            Some(block) => {
                let (dictionary, first) = (DictionaryBlock::read(block.bytes())?, part.span_of(index).0);
                let accepted = (0..dictionary.len()).filter(|at| accept(dictionary.word(*at)));
                let word = |at: usize| Word { number: first + at as u32, times: 1, entry: dictionary.entry(at) };
                walk.words.extend(accepted.map(word));
                walk.words_block = index + 1;
                reads.work(block.len().saturating_mul(work));
            }
            None => {}
        }
    }
    gaps.check()?;
    let postings = postings_of(&text, &walk.words, view, reads)?;
    Ok(LeafHits::Words { postings, numbers: walk.words.iter().map(|word| (word.number, word.times)).collect() })
}

/// The words any of the tests holds for, by number, each once.
pub(super) fn find_all(text: &Text<'_>, tests: &[WordTest], view: &View, reads: &mut Reads) -> Result<Vec<Word>, Halt> {
    let mut words = Vec::new();
    let mut gaps = Gaps::default();
    for test in tests {
        gaps.note(find_words(text, test, view, reads, &mut words))?;
    }
    gaps.check()?;
    Ok(each_once(words))
}

/// The same, with a rest where they are many.
fn find_on(
    text: &Text<'_>,
    tests: &[WordTest],
    view: &View,
    reads: &mut Reads,
    walk: &mut Walk,
) -> Result<Vec<Word>, Halt> {
    let mut gaps = Gaps::default();
    for test in &tests[walk.looked_up..] {
        if reads.rests() {
            return Err(Halt::Missing);
        }
        let before = walk.words.len();
        gaps.note(find_words(text, test, view, reads, &mut walk.words))?;
        reads.work(LOOK_UP_WORK);
        // What follows a missing block is looked up when that is there.
        if gaps.are_there() {
            walk.words.truncate(before);
        } else {
            walk.looked_up += 1;
        }
    }
    gaps.check()?;
    walk.looked_up = 0;
    Ok(each_once(std::mem::take(&mut walk.words)))
}

fn each_once(mut words: Vec<Word>) -> Vec<Word> {
    sort_by_key(&mut words, |word: &Word| word.number);
    words.dedup_by_key(|word| word.number);
    words
}

fn find_words(
    text: &Text<'_>,
    test: &WordTest,
    view: &View,
    reads: &mut Reads,
    words: &mut Vec<Word>,
) -> Result<(), Halt> {
    let part = text.part(text::DICTIONARY);
    let key = key_of(&test.text);
    let blocks = match test.how {
        How::Equals => match part.index_of_key(&key) {
            Some(index) => index..index + 1,
            None => return Ok(()),
        },
        How::Prefix => {
            let first = part.index_of_key(&key).unwrap_or(0);
            let beyond = part.keys.partition_point(|first| first.as_slice() < &*key || first.starts_with(&key));
            first..(beyond as u32).max(first)
        }
        How::Variant(variety) => {
            return find_variants(text, &Variants::new(&test.text, variety), view, reads, words);
        }
        How::Suffix | How::Substring | How::TokenSuffix | How::ValueSubstring | How::Segment { .. } => 0..part.blocks(),
    };
    let searches = !matches!(test.how, How::Equals | How::Prefix);
    let mut gaps = Gaps::default();
    for index in blocks {
        if let Some(block) = gaps.note(reads.segment(&view.segment).block(part.first_block + index))? {
            let dictionary = DictionaryBlock::read(block.bytes())?;
            search_block(&dictionary, part.span_of(index).0, test, &key, words);
            reads.work(if searches { block.len() / SEARCHED_PER_WORK } else { 0 });
        }
    }
    gaps.check()
}

fn search_block(block: &DictionaryBlock<'_>, first: u32, test: &WordTest, key: &[u8], words: &mut Vec<Word>) {
    let mut push = |index: usize, times: u32| {
        words.push(Word { number: first + index as u32, times, entry: block.entry(index) });
    };
    match test.how {
        How::Equals => {
            if let Ok(index) = block.find(key) {
                push(index, 1);
            }
        }
        How::Prefix => {
            let from = block.find(key).unwrap_or_else(|after| after);
            (from..block.len())
                .take_while(|index| block.word(*index).starts_with(key))
                .for_each(|index| push(index, 1));
        }
        How::Suffix => {
            (0..block.len()).filter(|index| block.word(*index).ends_with(key)).for_each(|index| push(index, 1))
        }
        How::TokenSuffix => {
            let ends = |index: &usize| has_token_ending(block.word(*index), &test.text);
            (0..block.len()).filter(ends).for_each(|index| push(index, 1));
        }
        How::Substring => {
            let needle = brooklet_kernel::Needle::new(key);
            block.each_with(&needle, |index, times| push(index, times as u32));
        }
        // Searched elsewhere.
        How::Variant(_) => {}
        How::Segment { starts, ends } => {
            let needle = brooklet_kernel::Needle::new(key);
            block.each_with(&needle, |index, _| {
                let times = std::str::from_utf8(block.word(index))
                    .map_or(0, |word| segments_in(word, &test.text, starts, ends));
                if times > 0 {
                    push(index, times as u32);
                }
            });
        }
        How::ValueSubstring => {
            let needle = brooklet_kernel::Needle::new(key);
            for index in 0..block.len() {
                let times = needle.find_all(folded(block.word(index)).as_bytes()).count();
                if times > 0 {
                    push(index, times as u32);
                }
            }
        }
    }
}

/// How often a text stands in a word as words of CJK do, at its start or its end if that is asked.
fn segments_in(word: &str, text: &str, starts: bool, ends: bool) -> usize {
    let at_edge = |at: usize| brooklet_text::is_boundary(word, at);
    match (starts, ends) {
        (false, false) => brooklet_text::count_segments(word, text),
        (true, true) => usize::from(word == text),
        (true, false) => usize::from(word.starts_with(text) && at_edge(text.len())),
        (false, true) => usize::from(word.ends_with(text) && at_edge(word.len() - text.len())),
    }
}

/// A whole value, folded as text fields are.
fn folded(value: &[u8]) -> String {
    text::normalise(&String::from_utf8_lossy(value), brooklet_schema::Normalizing::LowercaseAndFold).into_owned()
}

/// Whether a token of a whole value, folded, ends with a text.
fn has_token_ending(value: &[u8], ending: &str) -> bool {
    let value = String::from_utf8_lossy(value);
    let fold = |token: &str| text::normalise(token, brooklet_schema::Normalizing::LowercaseAndFold).ends_with(ending);
    brooklet_text::Tokens::new(&value).any(|token| fold(&value[token.start..token.end]))
}

/// Documents with any of the words, with the number of occurrences. A word is often looked for with its variants and again
/// without, and has none: its postings are read once.
pub(super) fn postings_of(
    text: &Text<'_>,
    words: &[Word],
    view: &View,
    reads: &mut Reads,
) -> Result<Rc<Postings>, Halt> {
    let part = text.part(text::POSTINGS);
    let of = || words.iter().map(|word| (word.number, word.times));
    let known = reads.last_postings.as_ref().and_then(|last| last.get(&view.segment, part.first_block, of()));
    if let Some(postings) = known {
        return Ok(postings);
    }
    let found = gather(words, |word| {
        let block = reads.segment(&view.segment).block(part.first_block + word.entry.block)?;
        Ok((word.entry, word.times, block))
    })?;
    let postings = Rc::new(Postings::read(&found, view.segment.header.documents)?);
    reads.last_postings = Some(LastPostings::new(&view.segment, part.first_block, of(), &postings));
    Ok(postings)
}
