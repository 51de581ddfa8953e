//! Finds groups by their ids: a table of hashes that holds no ids itself.
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

const EMPTY: u32 = u32::MAX;
const SLOTS_MIN: usize = 16;

/// 2⁶⁴ divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Groups by the hash of what they are found by.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// The hash, and the group; a power of two of them, at most three quarters taken.
    slots: Vec<(u32, u32)>,
    taken: usize,
}

/// The hash of what a group is found by. The hasher is as wide as an address: of its 32 or 64 bits, the lower ones of which
/// may be poor, the product has the best in its upper half.
pub(super) fn hash_of(of: &impl Hash) -> u32 {
    let mut hasher = FxHasher::default();
    of.hash(&mut hasher);
    (hasher.finish().wrapping_mul(GOLDEN) >> 32) as u32
}

impl Index {
    /// The group of this hash that is the one.
    #[inline]
    pub(super) fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let (of, group) = self.slots[at];
            if group == EMPTY {
                return None;
            }
            if of == hash && is_it(group) {
                return Some(group);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a group that is not there.
    pub(super) fn insert(&mut self, hash: u32, group: u32) {
        if (self.taken + 1) * 4 > self.slots.len() * 3 {
            let length = (self.slots.len() * 2).max(SLOTS_MIN);
            let before = std::mem::replace(&mut self.slots, vec![(0, EMPTY); length]);
            before.into_iter().filter(|(_, group)| *group != EMPTY).for_each(|(hash, group)| self.put(hash, group));
        }
        self.taken += 1;
        self.put(hash, group);
    }

    fn put(&mut self, hash: u32, group: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].1 != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = (hash, group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_what_they_are_and_no_others() {
        let mut index = Index::default();
        let ids: Vec<String> = (0..5_000).map(|number| format!("id {}", number * 7)).collect();
        assert_eq!(index.find(hash_of(&ids[0]), |_| true), None);
        for (group, id) in ids.iter().enumerate() {
            index.insert(hash_of(id), group as u32);
        }
        for (group, id) in ids.iter().enumerate() {
            assert_eq!(index.find(hash_of(id), |group| ids[group as usize] == *id), Some(group as u32));
        }
        assert_eq!(index.find(hash_of(&"another"), |group| ids[group as usize] == "another"), None);
        // Few stand far from where they belong: the hashes differ in the bits that are looked at.
        let mask = index.slots.len() - 1;
        let way = |(at, (hash, _)): (usize, &(u32, u32))| at.wrapping_sub(*hash as usize) & mask;
        let taken = index.slots.iter().enumerate().filter(|(_, (_, group))| *group != EMPTY);
        assert!(taken.map(way).sum::<usize>() < 4 * ids.len());
        // Of one hash all are looked at.
        let mut same = Index::default();
        (0..100).for_each(|group| same.insert(1, group));
        assert!((0..100).all(|group| same.find(1, |of| of == group) == Some(group)));
    }
}
