//! Phrases: words one after the other in a document's text.
//!
//! Where its words follow each other tell the lists of where they stand (`positions.rs`), and only there it is asked
//! whose words these are: of common words nearly every document has all, and hardly one has the phrase.
//!
//! Segments up to version 3 have no such lists. There postings say which documents have all words; the words of such
//! documents that follow each other are looked through at once, from the first word of the first to the last of the last.
use brooklet_kernel::{Bitmap, PairNumber, each_pair};
use brooklet_segment::column::text::Text;
use brooklet_segment::{BlockSource, ColumnHeader, Gaps, Halt, Part, gather};
use brooklet_task::Rejection;

use super::found::{LeafHits, Word};
use super::positions::starts_by_positions;
use super::text::{find_all, postings_of};
use super::words::{StoredWords, WordReader};
use crate::plan::condition::PhraseTest;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Documents with the words one after the other in one element, with the place of each first word.
pub(crate) fn match_phrase(
    column: &ColumnHeader,
    phrase: &PhraseTest,
    view: &View,
    reads: &mut Reads,
) -> Result<LeafHits, Halt> {
    let text = Text::from_column(column)?;
    let found = match text.positions {
        Some(lists) if !phrase.words.is_empty() => by_positions(text, lists, phrase, view, reads)?,
        _ => by_words(text, phrase, view, reads)?,
    };
    reads.work(size_of_val(&found[..]));
    Ok(LeafHits::Places(found))
}

/// The same by the lists of where words stand.
#[inline(never)]
fn by_positions(
    text: Text<'_>,
    lists: &Part,
    phrase: &PhraseTest,
    view: &View,
    reads: &mut Reads,
) -> Result<Vec<(u32, u32)>, Halt> {
    let sets = gather(&phrase.words, |tests| find_all(&text, tests, view, reads))?;
    if sets.iter().any(Vec::is_empty) {
        return Ok(Vec::new());
    }
    // What is missing of all of it is noted before it halts.
    let firsts = first_words(&text, view, reads);
    let reader = WordReader::new(text, &view.segment);
    let mut search = PhraseSearch { reader, phrase, length: sets.len() as u32, firsts: Vec::new() };
    let bounds = if search.asks_elements() { search.reader.extent(0, reads).map(|_| ()) } else { Ok(()) };
    let starts = starts_by_positions(lists, &sets, &mut search.reader, view, reads)?;
    search.firsts = firsts?;
    bounds?;
    let mut places = Vec::new();
    search.keep(&starts, &view.alive, reads, &mut places)?;
    Ok(places)
}

/// The same by the words of the documents that have all of them, in segments that do not tell where words stand.
#[inline(never)]
fn by_words(text: Text<'_>, phrase: &PhraseTest, view: &View, reads: &mut Reads) -> Result<Vec<(u32, u32)>, Halt> {
    let mut sets = Vec::with_capacity(phrase.words.len());
    let mut candidates = (*view.alive).clone();
    let mut gaps = Gaps::default();
    for tests in &phrase.words {
        let found = find_all(&text, tests, view, reads).and_then(|words| {
            narrow(&text, &words, view, reads, &mut candidates)?;
            Ok(words)
        });
        if let Some(words) = gaps.note(found)? {
            sets.push(words.iter().map(|word| word.number).collect::<Vec<u32>>());
        }
    }
    // What is missing of both is noted before it halts.
    let firsts = first_words(&text, view, reads)?;
    gaps.check()?;
    let reader = WordReader::new(text, &view.segment);
    let mut search = PhraseSearch { reader, phrase, length: sets.len() as u32, firsts };
    let mut places = Vec::new();
    for run in candidates.runs() {
        gaps.note(search.run((run.start as u32, run.end as u32), &sets, view, reads, &mut places))?;
    }
    gaps.check()?;
    Ok(places)
}

/// Keeps of the candidates those with one of the words. A word that most documents have is not worth its postings.
fn narrow(
    text: &Text<'_>,
    words: &[Word],
    view: &View,
    reads: &mut Reads,
    candidates: &mut Bitmap,
) -> Result<(), Halt> {
    let documents = u64::from(view.segment.header.documents);
    if words.iter().any(|word| u64::from(word.entry.documents) * 4 >= documents * 3) {
        return Ok(());
    }
    let mut with_one = Bitmap::none(candidates.len());
    postings_of(text, words, view, reads)?.add_to(&mut with_one);
    candidates.and(&with_one);
    Ok(())
}

/// The first word of each document, and the end of the last.
fn first_words(text: &Text<'_>, view: &View, reads: &mut Reads) -> Result<Vec<u32>, Halt> {
    let lengths = text.lengths();
    let mut gaps = Gaps::default();
    let (mut firsts, mut next) = (vec![0], 0u32);
    for index in 0..lengths.part.blocks() {
        if let Some(block) = gaps.note(reads.segment(&view.segment).block(lengths.part.first_block + index))? {
            let of_block = lengths.read(index, block.bytes())?;
            firsts.extend((0..lengths.part.span_of(index).1 as usize).map(|row| {
                next = next.saturating_add(of_block.length(row));
                next
            }));
        }
    }
    gaps.check()?;
    Ok(firsts)
}

struct PhraseSearch<'a> {
    reader: WordReader<'a>,
    phrase: &'a PhraseTest,
    /// Words of the phrase.
    length: u32,
    /// The first word of each document, and the end of the last.
    firsts: Vec<u32>,
}

impl PhraseSearch<'_> {
    /// Looks through documents that follow each other, `first..end`; of each word of the phrase the numbers it may have
    /// are in `sets`.
    fn run(
        &mut self,
        (first, end): (u32, u32),
        sets: &[Vec<u32>],
        view: &View,
        reads: &mut Reads,
        places: &mut Vec<(u32, u32)>,
    ) -> Result<(), Halt> {
        let beyond = || Rejection::corrupt("documents without the number of their words");
        let from = *self.firsts.get(first as usize).ok_or_else(beyond)?;
        let to = *self.firsts.get(end as usize).ok_or_else(beyond)?;
        let starts = self.starts_between(from, to, sets, reads)?;
        self.keep(&starts, &view.alive, reads, places)
    }

    fn asks_elements(&self) -> bool {
        self.reader.text.several || self.phrase.starts || self.phrase.ends
    }

    /// Keeps of places where the words follow each other those in one document that is alive and one element of it. All
    /// blocks that are missing are noted before it halts.
    fn keep(
        &mut self,
        mut starts: &[u32],
        alive: &Bitmap,
        reads: &mut Reads,
        places: &mut Vec<(u32, u32)>,
    ) -> Result<(), Halt> {
        let (mut document, mut gaps) = (0, Gaps::default());
        while let Some(start) = starts.first() {
            // The last document that begins there or before: others that do have no words.
            document += self.firsts[document..].partition_point(|first| first <= start).saturating_sub(1);
            let (first, end) = (self.firsts[document], self.firsts.get(document + 1).copied().unwrap_or(0));
            let (own, after) = starts.split_at(starts.partition_point(|start| *start < end).max(1));
            starts = after;
            if !alive.get(document) {
                continue;
            }
            let inside = own.iter().filter(|start| start.saturating_add(self.length) <= end);
            let own_starts = inside.map(|start| start - first);
            if self.asks_elements() {
                gaps.note(self.in_elements(document as u32, &own_starts.collect::<Vec<u32>>(), reads, places))?;
            } else {
                places.extend(own_starts.map(|start| (document as u32, start)));
            }
        }
        gaps.check()
    }

    /// Where among the words from `from` on before `to` the phrase begins, whatever documents they are of. All blocks
    /// that are missing are noted before it halts.
    fn starts_between(&mut self, from: u32, to: u32, sets: &[Vec<u32>], reads: &mut Reads) -> Result<Vec<u32>, Halt> {
        let beyond_first = self.length.saturating_sub(1);
        let (mut starts, mut at, mut gaps) = (Vec::new(), from, Gaps::default());
        while at < to {
            let next = self.reader.end_of_block(at).min(to);
            match gaps.note(self.reader.stored_words(at, next, reads))? {
                Some(_) if gaps.are_there() => {}
                Some(StoredWords::Narrow(words)) => phrase_starts(words, sets, at, &mut starts),
                Some(StoredWords::Wide(words)) => phrase_starts(words, sets, at, &mut starts),
                None => {}
            }
            // What begins in this block and ends in another.
            if !gaps.are_there() && next < to && beyond_first > 0 {
                let first = next.saturating_sub(beyond_first).max(at);
                let words = self.reader.words_between(first, next.saturating_add(beyond_first).min(to), reads);
                if let Some(words) = gaps.note(words)? {
                    let before = starts.len();
                    phrase_starts(words, sets, first, &mut starts);
                    let across = |start: &u32| *start < next && *start + beyond_first >= next;
                    let kept: Vec<u32> = starts.drain(before..).filter(across).collect();
                    starts.extend(kept);
                }
            }
            at = next;
        }
        gaps.check()?;
        Ok(starts)
    }

    /// Keeps what stands in one element, at its start or its end if that is asked.
    fn in_elements(
        &mut self,
        ordinal: u32,
        starts: &[u32],
        reads: &mut Reads,
        places: &mut Vec<(u32, u32)>,
    ) -> Result<(), Halt> {
        let extent = self.reader.extent(ordinal, reads)?;
        let mut occurrences = Vec::new();
        self.reader.occurrences(extent, starts, reads, &mut occurrences)?;
        let inside = starts.iter().zip(&occurrences);
        let inside = inside.filter(|(_, at)| {
            let end = at.position + self.length;
            let anchored = (!self.phrase.starts || at.position == 0) && (!self.phrase.ends || end == at.element_length);
            end <= at.element_length && anchored
        });
        places.extend(inside.map(|(start, _)| (ordinal, *start)));
        Ok(())
    }
}

/// Adds where words follow each other that are one of each set; the first of `words` is at `first`. Where each of the
/// first two words is the only one of its set, most places are passed over many at a time.
fn phrase_starts<W>(words: &[W], sets: &[Vec<u32>], first: u32, starts: &mut Vec<u32>)
where
    W: PairNumber + TryFrom<u32> + Into<u32>,
{
    let holds = |from: usize, sets: &[Vec<u32>]| {
        let words = &words[from..];
        words.len() >= sets.len()
            && words.iter().zip(sets).all(|(word, set)| set.binary_search(&(*word).into()).is_ok())
    };
    let mut begins = |at: usize, sets: &[Vec<u32>], behind: usize| {
        if holds(at + behind, sets) {
            starts.push(first + at as u32);
        }
    };
    match sets {
        [one, two, more @ ..] if one.len() == 1 && two.len() == 1 => {
            let (Ok(one), Ok(two)) = (W::try_from(one[0]), W::try_from(two[0])) else { return };
            each_pair(words, (one, two), |at| begins(at, more, 2));
        }
        _ => (0..words.len()).for_each(|at| begins(at, sets, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_wherever_they_begin() {
        // Words 0, 1, 2 in no order, over several times as many places as are looked at at once.
        let words: Vec<u32> = (0..500u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) % 3).collect();
        for sets in [vec![vec![0], vec![1]], vec![vec![1], vec![0], vec![2]], vec![vec![0, 2], vec![1]], vec![vec![2]]]
        {
            let is_here = |start: &usize| {
                let set_of = |(offset, set): (usize, &Vec<u32>)| {
                    words.get(start + offset).is_some_and(|word| set.contains(word))
                };
                sets.iter().enumerate().all(set_of)
            };
            let expected: Vec<u32> = (0..words.len()).filter(is_here).map(|start| 5 + start as u32).collect();
            let (mut wide, mut narrow) = (Vec::new(), Vec::new());
            phrase_starts(&words, &sets, 5, &mut wide);
            assert_eq!(wide, expected, "{sets:?}");
            phrase_starts(&words.iter().map(|word| *word as u16).collect::<Vec<_>>(), &sets, 5, &mut narrow);
            assert_eq!(narrow, expected, "{sets:?}");
            assert!(!expected.is_empty(), "{sets:?}");
        }
        let mut starts = Vec::new();
        phrase_starts::<u16>(&[], &[vec![1], vec![2]], 0, &mut starts);
        phrase_starts(&[1u16], &[vec![1], vec![2]], 0, &mut starts);
        phrase_starts(&[1u32], &[vec![1], vec![2]], 0, &mut starts);
        assert!(starts.is_empty());
    }
}
