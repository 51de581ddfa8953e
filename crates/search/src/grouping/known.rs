//! Groups that values led to before: a document finds its group by a number, without hashing and comparing the id.
use rustc_hash::FxHashMap;

use super::columns::NO_WORD;

/// Entries that are kept by place: 512 KiB.
const PLACES_MAX: usize = 1 << 17;
/// Values of numbers that are remembered at a time: a power of two.
const SLOTS: usize = 1 << 10;
const NO_GROUP: u32 = u32::MAX;

/// The groups of one table.
#[derive(Default)]
pub(super) struct GroupIndex {
    /// By group around them and number of the word, one more for no word.
    by_word: Vec<u32>,
    /// Those beyond.
    rest: FxHashMap<(u32, u32), u32>,
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, PartialEq)]
struct Slot {
    parent: u32,
    kind: u8,
    code: i64,
    group: u32,
}

impl GroupIndex {
    /// Words have other numbers in another view.
    pub(super) fn forget_words(&mut self) {
        self.by_word.clear();
        self.rest.clear();
    }

    /// The group of a word in a group, of a dictionary of so many words.
    #[inline]
    pub(super) fn of_word(&self, parent: u32, word: u32, words: usize) -> Option<u32> {
        match self.by_word.get(place(parent, word, words)) {
            Some(group) => Some(*group).filter(|group| *group != NO_GROUP),
            None if self.rest.is_empty() => None,
            None => self.rest.get(&(parent, word)).copied(),
        }
    }

    /// Remembers it.
    pub(super) fn set_word(&mut self, parent: u32, word: u32, words: usize, group: u32) {
        let place = place(parent, word, words);
        if place >= PLACES_MAX {
            self.rest.insert((parent, word), group);
            return;
        }
        if place >= self.by_word.len() {
            // All of this parent, so that it is seldom done.
            let length = (parent as usize + 1) * (words + 1);
            self.by_word.resize(length.clamp(place + 1, PLACES_MAX), NO_GROUP);
        }
        self.by_word[place] = group;
    }

    /// The group of a number in a group.
    #[inline]
    pub(super) fn of_code(&self, parent: u32, (kind, code): (u8, i64)) -> Option<u32> {
        let slot = self.slots.get(slot_of(parent, code))?;
        let same = slot.group != NO_GROUP && (slot.parent, slot.kind, slot.code) == (parent, kind, code);
        same.then_some(slot.group)
    }

    /// Remembers it, and forgets another one if need be.
    pub(super) fn set_code(&mut self, parent: u32, (kind, code): (u8, i64), group: u32) {
        if self.slots.is_empty() {
            self.slots = vec![Slot { parent: 0, kind: 0, code: 0, group: NO_GROUP }; SLOTS];
        }
        self.slots[slot_of(parent, code)] = Slot { parent, kind, code, group };
    }
}

fn place(parent: u32, word: u32, words: usize) -> usize {
    let word = if word == NO_WORD { words } else { word as usize };
    (parent as usize).saturating_mul(words + 1).saturating_add(word)
}

fn slot_of(parent: u32, code: i64) -> usize {
    // Multiplied by the golden ratio, the upper bits depend on all of it.
    let mixed = (code as u64 ^ u64::from(parent).rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_again() {
        let mut known = GroupIndex::default();
        for parent in [0, 3, 40_000] {
            for word in [0, 9, NO_WORD] {
                assert_eq!(known.of_word(parent, word, 10), None);
                known.set_word(parent, word, 10, parent + word % 7);
            }
        }
        assert_eq!(known.of_word(3, 9, 10), Some(5));
        assert_eq!(known.of_word(40_000, NO_WORD, 10), Some(40_000 + NO_WORD % 7));
        assert_eq!(known.of_word(2, 9, 10), None);
        known.forget_words();
        assert_eq!((known.of_word(3, 9, 10), known.of_word(40_000, 0, 10)), (None, None));

        assert_eq!(known.of_code(0, (0, 0)), None);
        (0..5_000).for_each(|code| known.set_code(1, (3, code), code as u32));
        let found =
            (0..5_000).filter(|code| known.of_code(1, (3, *code)).is_some_and(|group| i64::from(group) == *code));
        assert!(found.count() > SLOTS / 2);
        assert_eq!((known.of_code(2, (3, 4_999)), known.of_code(1, (4, 4_999))), (None, None));
    }
}
