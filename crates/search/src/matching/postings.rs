//! In which documents of a segment something comes, and how often.
use brooklet_kernel::{Bitmap, Posting};
use brooklet_segment::column::dictionary::Entry;
use brooklet_segment::column::postings::{read_counts, read_postings};
use brooklet_task::{Block, Rejection};

/// The part of all documents from which on every document has a count of its own: one in so many.
const COUNTED_PART: usize = 4;

/// Documents with how often something comes in them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Postings {
    /// Those with some, ascending.
    Listed(Vec<Posting>),
    /// Every document's own count, where many have some and none more than a byte can say.
    Counted { counts: Vec<u8>, documents: usize },
}

impl Postings {
    /// Those of some words of a segment of `rows` documents, each in its block and counting so many times.
    ///
    /// # Errors
    /// If the bytes are not such postings.
    pub(super) fn read(words: &[(Entry, u32, Block)], rows: u32) -> Result<Postings, Rejection> {
        match words {
            [(entry, times, block)] => match read_counted(*entry, *times, block, rows)? {
                Some(postings) => Ok(postings),
                None => read_listed(*entry, *times, block, rows),
            },
            _ => read_together(words, rows),
        }
    }

    /// How many documents have some.
    pub(crate) fn len(&self) -> usize {
        match self {
            Postings::Listed(listed) => listed.len(),
            Postings::Counted { documents, .. } => *documents,
        }
    }

    /// The documents with their counts, ascending.
    #[inline]
    pub(crate) fn for_each(&self, mut each: impl FnMut(u32, u32)) {
        match self {
            Postings::Listed(listed) => listed.iter().for_each(|[ordinal, count]| each(*ordinal, *count)),
            Postings::Counted { counts, .. } => {
                let some = (0..).zip(counts).filter(|(_, count)| **count > 0);
                some.for_each(|(ordinal, count)| each(ordinal, u32::from(*count)));
            }
        }
    }

    /// How often it comes in a document, and where to look for the next one; nothing if it does not. `near`: where the one
    /// before it told to look.
    pub(crate) fn find(&self, ordinal: u32, near: usize) -> Option<(u32, usize)> {
        match self {
            Postings::Listed(listed) => {
                let is_near = listed.get(near).is_some_and(|[other, _]| *other == ordinal);
                let far = || listed.binary_search_by_key(&ordinal, |[other, _]| *other).ok();
                let at = if is_near { near } else { far()? };
                Some((listed[at][1], at + 1))
            }
            Postings::Counted { counts, .. } => {
                let count = counts.get(ordinal as usize).filter(|count| **count > 0)?;
                Some((u32::from(*count), 0))
            }
        }
    }

    /// Puts the documents into a set.
    pub(crate) fn add_to(&self, documents: &mut Bitmap) {
        match self {
            Postings::Listed(listed) => {
                let mut filler = documents.filler();
                listed.iter().for_each(|[ordinal, _]| filler.set(*ordinal as usize));
            }
            Postings::Counted { counts, .. } => documents.or(&Bitmap::of_nonzero(counts)),
        }
    }
}

fn read_listed(entry: Entry, times: u32, block: &Block, rows: u32) -> Result<Postings, Rejection> {
    let mut listed = Vec::with_capacity(entry.documents.min(rows) as usize);
    read_postings(block.bytes(), entry, rows, |several| listed.extend_from_slice(several))?;
    if times > 1 {
        listed.iter_mut().for_each(|[_, count]| *count = count.saturating_mul(times));
    }
    Ok(Postings::Listed(listed))
}

/// Those of a word that many documents have; nothing if few have it, or one has it more often than a byte can say.
fn read_counted(entry: Entry, times: u32, block: &Block, rows: u32) -> Result<Option<Postings>, Rejection> {
    let documents = entry.documents as usize;
    if !suits_counts(documents, rows) || times > 1 {
        return Ok(None);
    }
    let counts = read_counts(block.bytes(), entry, rows)?;
    Ok(counts.map(|counts| Postings::Counted { counts, documents }))
}

fn read_together(words: &[(Entry, u32, Block)], rows: u32) -> Result<Postings, Rejection> {
    let mut sums = vec![0u32; rows as usize];
    for (entry, times, block) in words {
        read_postings(block.bytes(), *entry, rows, |several| {
            for [ordinal, count] in several {
                let sum = &mut sums[*ordinal as usize];
                *sum = sum.saturating_add(count.saturating_mul(*times));
            }
        })?;
    }
    let documents = sums.iter().filter(|sum| **sum > 0).count();
    if suits_counts(documents, rows) && sums.iter().all(|sum| *sum <= u32::from(u8::MAX)) {
        let counts = sums.iter().map(|sum| *sum as u8).collect();
        return Ok(Postings::Counted { counts, documents });
    }
    let some = (0..rows).zip(sums).filter(|(_, sum)| *sum > 0);
    Ok(Postings::Listed(some.map(Posting::from).collect()))
}

fn suits_counts(documents: usize, rows: u32) -> bool {
    documents.saturating_mul(COUNTED_PART) >= rows as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use brooklet_task::bytes::Writer;
    use proptest::prelude::*;

    use super::*;

    const ROWS: u32 = 2_000;

    /// A word's postings as they are stored.
    fn store_entries(of_word: &BTreeMap<u32, u32>) -> (Entry, Block) {
        let mut writer = Writer::new();
        let mut next = 0;
        for (ordinal, count) in of_word {
            writer.varint(u64::from(ordinal - next));
            writer.varint(u64::from(*count));
            next = ordinal + 1;
        }
        let bytes = writer.finish();
        let entry = Entry { documents: of_word.len() as u32, block: 0, offset: 0, length: bytes.len() as u32 };
        (entry, Block::copy_of(&bytes))
    }

    /// Words that few, many or nearly all documents have, some of them very often.
    fn word() -> impl Strategy<Value = BTreeMap<u32, u32>> {
        let often = prop_oneof![500 => 1u32..4, 20 => 100u32..260, 1 => 260u32..100_000];
        (prop_oneof![Just(1u32), 2u32..6, 20u32..200], prop::collection::vec((any::<u32>(), often), 1..700)).prop_map(
            |(spread, steps)| {
                let ordinals = steps.iter().scan(0, |at, (step, _)| {
                    let ordinal = *at + step % spread;
                    *at = ordinal + 1;
                    Some(ordinal)
                });
                let word = ordinals.zip(steps.iter().map(|(_, count)| *count));
                word.filter(|(ordinal, _)| *ordinal < ROWS).collect()
            },
        )
    }

    proptest! {
        #[test]
        fn postings_are_those_of_the_words(
            words in prop::collection::vec((word(), 1u32..3), 1..4),
            rows in prop_oneof![Just(ROWS), Just(ROWS + 700)],
        ) {
            let mut expected = BTreeMap::<u32, u32>::new();
            for (of_word, times) in &words {
                of_word.iter().for_each(|(ordinal, count)| *expected.entry(*ordinal).or_default() += count * times);
            }
            let read: Vec<(Entry, u32, Block)> = words.iter().map(|(of_word, times)| {
                let (entry, block) = store_entries(of_word);
                (entry, *times, block)
            }).collect();
            let postings = Postings::read(&read, rows).expect("postings");
            let mut seen = BTreeMap::new();
            postings.for_each(|ordinal, count| assert!(seen.insert(ordinal, count).is_none()));
            prop_assert_eq!(&seen, &expected);
            prop_assert_eq!(postings.len(), expected.len());
            let mut documents = Bitmap::none(rows as usize);
            postings.add_to(&mut documents);
            prop_assert!(documents.ones().eq(expected.keys().map(|ordinal| *ordinal as usize)));
            let mut near = 0;
            for ordinal in 0..rows {
                let found = postings.find(ordinal, near);
                prop_assert_eq!(found.map(|(count, _)| count), expected.get(&ordinal).copied());
                near = found.map_or(near, |(_, next)| next);
            }
            let counted = matches!(postings, Postings::Counted { .. });
            let often = expected.values().any(|count| *count > 255);
            prop_assert!(!counted || (!often && expected.len() * COUNTED_PART >= rows as usize));
        }
    }

    #[test]
    fn words_that_many_have_are_counted() {
        let all: BTreeMap<u32, u32> = (0..ROWS).map(|ordinal| (ordinal, 1 + ordinal % 200)).collect();
        let is_counted = |of_word: &BTreeMap<u32, u32>| {
            let (entry, block) = store_entries(of_word);
            matches!(Postings::read(&[(entry, 1, block)], ROWS), Ok(Postings::Counted { .. }))
        };
        assert!(is_counted(&all));
        assert!(!is_counted(&all.iter().map(|(ordinal, count)| (*ordinal, count + 100)).collect()));
        assert!(!is_counted(&all.into_iter().filter(|(ordinal, _)| ordinal % 5 == 0).collect()));
    }
}
