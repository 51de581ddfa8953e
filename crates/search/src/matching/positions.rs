//! Where phrases begin, by the lists of where words stand.
//!
//! The places of the rarest word are where a phrase may begin; those of the others, read in one go, leave of them what
//! is one. A list that is much longer than the words at the few places that may be left is not read: there the words
//! themselves are looked at. What comes out is the same, however it was found.
use brooklet_kernel::{Bitmap, sort_by_key};
use brooklet_segment::column::positions::{collect_positions, positions_among, read_positions};
use brooklet_segment::column::text::Text;
use brooklet_segment::column::{stored, text};
use brooklet_segment::{BlockSource, Halt, Part, gather};
use brooklet_task::{Block, Rejection};

use super::found::Word;
use super::words::WordReader;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// A byte of a list is read and added up; of the words of a document most are only read.
const LIST_BYTE_COST: u64 = 3;
/// Bytes of a place in a list, on average.
const PLACE_BYTES: u64 = 2;
/// Bytes of a block of several lists, about.
const LISTS_BYTES: u64 = 4_000;
/// Places among which there is one start at least are told by a bitmap; fewer are passed by one by one.
const PLACES_OF_A_START: usize = 1_024;

/// A word of the phrase: all those of the dictionary that may stand there.
struct Slot<'a> {
    /// Words of the phrase before it.
    offset: u32,
    words: &'a [Word],
    /// How often they stand in documents, about.
    occurrences: u64,
}

/// Where among the words of all documents the phrase begins, ascending, whatever documents these are of and wherever
/// they end. All blocks that are missing are noted before it halts.
#[inline(never)]
pub(super) fn starts_by_positions(
    lists: &Part,
    sets: &[Vec<Word>],
    reader: &mut WordReader<'_>,
    view: &View,
    reads: &mut Reads,
) -> Result<Vec<u32>, Halt> {
    let text = reader.text;
    let slot = |(offset, words)| slot_of(&text, offset, words, view.segment.header.documents);
    let mut slots: Vec<Slot<'_>> = sets.iter().enumerate().map(slot).collect();
    sort_by_key(&mut slots, |slot| (slot.occurrences, slot.offset));
    let Some((rarest, others)) = slots.split_first() else { return Ok(Vec::new()) };
    let at_places = bytes_at_places(&text, rarest.occurrences);
    let is_listed = |slot: &&Slot<'_>| LIST_BYTE_COST * bytes_of_lists(lists, slot) <= at_places;
    let (listed, looked_at): (Vec<&Slot<'_>>, Vec<&Slot<'_>>) = others.iter().partition(is_listed);
    let slots = std::iter::once(rarest).chain(listed);
    let found = gather(slots, |slot| Ok((slot, lists_of(lists, slot.words, view, reads)?)))?;
    let mut starts = None;
    for (slot, blocks) in &found {
        let lists = Lists { part: lists, slot, blocks, words: text.words };
        starts = Some(starts.map_or_else(|| lists.starts(), |starts: Vec<u32>| lists.starts_among(&starts))?);
    }
    look_at(starts.unwrap_or_default(), &looked_at, reader, reads)
}

fn slot_of<'a>(text: &Text<'_>, offset: usize, words: &'a Vec<Word>, documents: u32) -> Slot<'a> {
    let all = f64::from(documents.max(1));
    // As often as if every word of every document were drawn: a document has several of a word that most have.
    let of_word = |word: &Word| {
        let share = (f64::from(word.entry.documents) - 0.5).clamp(0.0, all - 0.5) / all;
        ((-all * libm::log(1.0 - share)) as u64).max(u64::from(word.entry.documents)).min(u64::from(text.words))
    };
    Slot { offset: offset as u32, words, occurrences: words.iter().map(of_word).sum() }
}

/// Bytes of the blocks that hold so many words here and there.
fn bytes_at_places(text: &Text<'_>, places: u64) -> u64 {
    let part = text.part(text::WORDS);
    let word_bytes = if text.wide { 4 } else { 2 };
    let all = u64::from(part.rows) * word_bytes;
    places.saturating_mul(u64::from(part.rows_per_block) * word_bytes).min(all)
}

/// Bytes of the lists of a slot, about.
fn bytes_of_lists(lists: &Part, slot: &Slot<'_>) -> u64 {
    let mut blocks: Vec<u32> = slot.words.iter().map(|word| lists.index_of(word.number)).collect();
    blocks.dedup();
    blocks.len() as u64 * LISTS_BYTES + slot.occurrences.saturating_mul(PLACE_BYTES)
}

/// The blocks that hold each word's list.
fn lists_of(part: &Part, words: &[Word], view: &View, reads: &mut Reads) -> Result<Vec<Vec<Block>>, Halt> {
    gather(words, |word| {
        gather(stored::blocks_of(part, word.number), |index| {
            reads.segment(&view.segment).block(part.first_block + index)
        })
    })
}

/// The lists of a slot.
struct Lists<'a> {
    part: &'a Part,
    slot: &'a Slot<'a>,
    /// Of each word.
    blocks: &'a [Vec<Block>],
    /// Words of all documents.
    words: u32,
}

impl Lists<'_> {
    /// Where a phrase may begin that has a word of the slot, ascending.
    fn starts(&self) -> Result<Vec<u32>, Rejection> {
        let offset = self.slot.offset;
        let mut starts = Vec::new();
        self.each(|list| {
            let before = starts.len();
            collect_positions(list, self.words, &mut starts)?;
            let early = starts[before..].partition_point(|place| *place < offset);
            starts.drain(before..before + early);
            starts[before..].iter_mut().for_each(|start| *start -= offset);
            Ok(())
        })?;
        Ok(self.ascending(starts))
    }

    /// Those of `starts`, which ascend, that have a word of the slot where it should be.
    fn starts_among(&self, starts: &[u32]) -> Result<Vec<u32>, Rejection> {
        let (Some(first), Some(last)) = (starts.first(), starts.last()) else { return Ok(Vec::new()) };
        let offset = self.slot.offset;
        let span = (last - first) as usize + 1;
        let mut kept = Vec::new();
        if span / PLACES_OF_A_START < starts.len() {
            let mut wanted = Bitmap::none(span);
            starts.iter().for_each(|start| wanted.set((start - first) as usize));
            let wanted = (&wanted, first.saturating_add(offset));
            self.each(|list| positions_among(list, self.words, wanted, |number| kept.push(first + number)))?;
        } else {
            self.each(|list| {
                let mut rest = starts;
                let mut wanted = first.saturating_add(offset);
                read_positions(list, self.words, |place| {
                    if place < wanted {
                        return;
                    }
                    let passed = rest.iter().take_while(|start| start.saturating_add(offset) < place).count();
                    rest = &rest[passed..];
                    kept.extend(rest.first().copied().filter(|start| start.saturating_add(offset) == place));
                    wanted = rest.first().map_or(u32::MAX, |start| start.saturating_add(offset));
                })
            })?;
        }
        Ok(self.ascending(kept))
    }

    fn each(&self, mut read: impl FnMut(&[u8]) -> Result<(), Rejection>) -> Result<(), Rejection> {
        for (word, blocks) in self.slot.words.iter().zip(self.blocks) {
            let payloads: Vec<&[u8]> = blocks.iter().map(Block::bytes).collect();
            read(&stored::row(self.part, word.number, &payloads)?)?;
        }
        Ok(())
    }

    fn ascending(&self, mut starts: Vec<u32>) -> Vec<u32> {
        // Those of several words come one after the other: a stable sort finds them as runs.
        if self.blocks.len() > 1 {
            starts.sort();
        }
        starts
    }
}

/// Those of `starts` with one of the words of each slot where it should be, by the words that stand there. All blocks
/// that are missing are noted before it halts.
fn look_at(
    mut starts: Vec<u32>,
    slots: &[&Slot<'_>],
    reader: &mut WordReader<'_>,
    reads: &mut Reads,
) -> Result<Vec<u32>, Halt> {
    let Some(length) = slots.iter().map(|slot| slot.offset + 1).max() else { return Ok(starts) };
    let end_of_words = reader.text.words;
    let (mut kept, mut missing_until) = (Vec::new(), 0);
    starts.retain(|start| start.checked_add(length).is_some_and(|end| end <= end_of_words));
    for start in starts {
        if start < missing_until {
            continue;
        }
        match reader.words_between(start, start + length, reads) {
            Ok(words) => {
                let stands = |slot: &&Slot<'_>| {
                    let number = words.get(slot.offset as usize);
                    number.is_some_and(|number| slot.words.binary_search_by_key(number, |word| word.number).is_ok())
                };
                if slots.iter().all(stands) {
                    kept.push(start);
                }
            }
            Err(Halt::Missing) => missing_until = reader.end_of_block(start),
            Err(halt) => return Err(halt),
        }
    }
    if missing_until > 0 { Err(Halt::Missing) } else { Ok(kept) }
}
