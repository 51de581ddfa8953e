//! What stays in memory between requests: blocks, and the partitions they belong to. Both under one budget, least
//! recently used first out. Nothing here can be stale: segments never change, a partition has a layout number, and of a store
//! that is opened again nothing is used that was known before (`PartitionName`).
use std::rc::Rc;

use brooklet_kernel::{Bitmap, sort};
use brooklet_segment::PartitionName;
use brooklet_task::Block;
use rustc_hash::{FxHashMap, FxHashSet};

use super::partition::{ResidentPartition, ResidentSegment};

/// Place of a block in all memory: the resident number of its partition, its segment, its number.
pub(crate) type BlockKey = (u32, u32, u32);

const NONE: u32 = u32::MAX;
/// Share of the budget that partitions may take for headers and tails.
const PARTITIONS_SHARE: usize = 4;
/// What partitions may take at least, so that a small budget does not make every query read its tail anew.
const PARTITIONS_BYTES_MIN: usize = 8 << 20;
/// Keys remembered of blocks that were read once and not kept.
const SEEN_ONCE: usize = 1 << 16;

struct Slot {
    key: BlockKey,
    block: Block,
    newer: u32,
    older: u32,
}

/// Numbers for the operator.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResidencyStatistics {
    /// Bytes of resident blocks.
    pub block_bytes: usize,
    /// Resident blocks.
    pub blocks: usize,
    /// Budget of all that is resident, bytes.
    pub budget_bytes: usize,
    /// Resident partitions.
    pub partitions: usize,
    /// Bytes of their headers and tails, about.
    pub partition_bytes: usize,
    /// Blocks found.
    pub hits: u64,
    /// Blocks not found.
    pub misses: u64,
    /// Queries compiled.
    pub compiled: u64,
    /// Schemas whose documents were matched with a query, each partition by itself.
    pub matched: u64,
}

/// The blocks and partitions in memory.
pub struct Residency {
    budget_bytes: usize,
    bytes: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    places: FxHashMap<BlockKey, u32>,
    newest: u32,
    oldest: u32,
    seen: FxHashSet<BlockKey>,
    partitions: FxHashMap<PartitionName, (Rc<ResidentPartition>, u64)>,
    partition_bytes: usize,
    clock: u64,
    next_partition: u32,
    hits: u64,
    misses: u64,
    compiled: u64,
    matched: u64,
}

impl Residency {
    /// Nothing resident yet; all of it may take `budget_bytes`.
    #[must_use]
    pub fn new(budget_bytes: usize) -> Residency {
        Residency {
            budget_bytes,
            bytes: 0,
            slots: Vec::new(),
            free: Vec::new(),
            places: FxHashMap::default(),
            newest: NONE,
            oldest: NONE,
            seen: FxHashSet::default(),
            partitions: FxHashMap::default(),
            partition_bytes: 0,
            clock: 0,
            next_partition: 1,
            hits: 0,
            misses: 0,
            compiled: 0,
            matched: 0,
        }
    }

    /// Numbers for the operator.
    #[must_use]
    pub fn statistics(&self) -> ResidencyStatistics {
        ResidencyStatistics {
            block_bytes: self.bytes,
            blocks: self.places.len(),
            budget_bytes: self.budget_bytes,
            partitions: self.partitions.len(),
            partition_bytes: self.partition_bytes,
            hits: self.hits,
            misses: self.misses,
            compiled: self.compiled,
            matched: self.matched,
        }
    }

    /// Counts a query that is compiled.
    pub(crate) fn count_compiled(&mut self) {
        self.compiled += 1;
    }

    /// Counts a run whose matching is done.
    pub(crate) fn count_matched(&mut self) {
        self.matched += 1;
    }

    pub(crate) fn block(&mut self, key: BlockKey) -> Option<Block> {
        match self.places.get(&key).copied() {
            Some(slot) => {
                self.hits += 1;
                self.unlink(slot);
                self.link(slot);
                Some(self.slots[slot as usize].block.clone())
            }
            None => {
                self.misses += 1;
                None
            }
        }
    }

    /// Offers a block that was read. It is kept if there is room, or if it was read before: one pass over much more
    /// than the budget must not drive out what is used again and again.
    pub(crate) fn offer(&mut self, key: BlockKey, block: &Block) {
        let limit = self.blocks_limit();
        if self.places.contains_key(&key) || block.len() > limit {
            return;
        }
        if self.bytes + block.len() > limit && self.seen.insert(key) {
            if self.seen.len() > SEEN_ONCE {
                self.seen.clear();
            }
            return;
        }
        self.seen.remove(&key);
        self.bytes += block.len();
        self.evict_down_to(limit);
        let entry = Slot { key, block: block.clone(), newer: NONE, older: NONE };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = entry;
                slot
            }
            None => {
                self.slots.push(entry);
                self.slots.len() as u32 - 1
            }
        };
        self.places.insert(key, slot);
        self.link(slot);
    }

    /// Bytes that blocks may take: what the partitions leave of the budget, and half of it in any case, since a partition
    /// that is in use stays whatever it takes.
    fn blocks_limit(&self) -> usize {
        self.budget_bytes - self.partition_bytes.min(self.budget_bytes / 2)
    }

    fn evict_down_to(&mut self, limit: usize) {
        while self.bytes > limit && self.oldest != NONE {
            self.evict(self.oldest);
        }
    }

    fn evict(&mut self, slot: u32) {
        self.unlink(slot);
        let entry = &mut self.slots[slot as usize];
        self.bytes -= entry.block.len();
        self.places.remove(&entry.key);
        entry.block = Block::zeroed(0);
        self.free.push(slot);
    }

    fn unlink(&mut self, slot: u32) {
        let (newer, older) = (self.slots[slot as usize].newer, self.slots[slot as usize].older);
        match newer {
            NONE => self.newest = older,
            _ => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.slots[older as usize].newer = newer,
        }
    }

    fn link(&mut self, slot: u32) {
        self.slots[slot as usize].newer = NONE;
        self.slots[slot as usize].older = self.newest;
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.slots[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    /// A number for a partition that becomes resident: its blocks are kept under it.
    pub(crate) fn number_for(&mut self, name: &PartitionName) -> u32 {
        if let Some((partition, _)) = self.partitions.get(name) {
            return partition.number;
        }
        self.next_partition += 1;
        self.next_partition - 1
    }

    pub(crate) fn partition(&mut self, name: &PartitionName) -> Option<Rc<ResidentPartition>> {
        self.clock += 1;
        let (partition, used) = self.partitions.get_mut(name)?;
        *used = self.clock;
        Some(partition.clone())
    }

    pub(crate) fn keep_partition(&mut self, partition: &Rc<ResidentPartition>) {
        self.clock += 1;
        self.partition_bytes += partition.bytes;
        if let Some((old, _)) = self.partitions.insert(partition.name.clone(), (partition.clone(), self.clock)) {
            self.partition_bytes -= old.bytes;
            self.drop_blocks(&old, Some(partition));
        }
        let limit = (self.budget_bytes / PARTITIONS_SHARE).max(PARTITIONS_BYTES_MIN);
        if self.partition_bytes > limit {
            self.drop_partitions(limit / 2);
        }
        self.evict_down_to(self.blocks_limit());
    }

    /// Lets go of the least recently used partitions. Half at once, so that finding them is paid for rarely. The one used
    /// last stays whatever it takes: its query had it in memory, and the next one would only read its tail anew.
    fn drop_partitions(&mut self, target_bytes: usize) {
        let mut by_use: Vec<(u64, PartitionName)> =
            self.partitions.iter().map(|(name, (_, used))| (*used, name.clone())).collect();
        sort(&mut by_use);
        by_use.pop();
        for (_, name) in by_use {
            if self.partition_bytes <= target_bytes {
                break;
            }
            self.forget(&name);
        }
    }

    /// Forgets a partition with its blocks, which nobody would find again: it gets another number when it is read the next time.
    pub(crate) fn forget(&mut self, name: &PartitionName) {
        let Some((partition, _)) = self.partitions.remove(name) else { return };
        self.partition_bytes -= partition.bytes;
        self.drop_blocks(&partition, None);
    }

    /// Lets go of the blocks of those segments of a partition that it does not have any more, as `now` says. They are as good as
    /// others until there is no room, and a group that is written to would fill all there is with them.
    fn drop_blocks(&mut self, partition: &ResidentPartition, now: Option<&ResidentPartition>) {
        let stored = now.filter(|now| now.number == partition.number).map_or(&[][..], |now| &now.stored);
        for (at, (segment, _)) in partition.stored.iter().enumerate() {
            let Some(number) = segment.number else { continue };
            let is_it = |(one, _): &(Rc<ResidentSegment>, Bitmap)| one.number == Some(number);
            // Mostly it stands where it stood.
            if stored.get(at).is_some_and(is_it) || stored.iter().any(is_it) {
                continue;
            }
            for block in 0..segment.header.blocks {
                if let Some(slot) = self.places.get(&(partition.number, number, block)).copied() {
                    self.evict(slot);
                }
            }
        }
    }

    /// Forgets all partitions: another application was deployed, tails are encoded anew.
    pub fn forget_partitions(&mut self) {
        self.partitions.clear();
        self.partition_bytes = 0;
        self.evict_down_to(0);
    }
}

#[cfg(test)]
mod tests {
    use brooklet_segment::Header;

    use super::*;

    fn block(bytes: usize) -> Block {
        Block::zeroed(bytes)
    }

    #[test]
    fn the_budget_holds_and_the_least_recently_used_go_first() {
        let mut residency = Residency::new(300);
        for number in 0..3 {
            residency.offer((1, 1, number), &block(100));
        }
        assert!(residency.block((1, 1, 0)).is_some());
        residency.offer((1, 1, 3), &block(100));
        assert!(residency.block((1, 1, 3)).is_none(), "the first touch of a block that needs room is not kept");
        residency.offer((1, 1, 3), &block(100));
        assert!(residency.block((1, 1, 3)).is_some(), "the second is");
        assert!(residency.block((1, 1, 1)).is_none(), "and the oldest went");
        assert!(residency.block((1, 1, 0)).is_some());
        assert_eq!(residency.statistics().block_bytes, 300);
    }

    #[test]
    fn the_partition_used_last_stays_and_the_others_make_room() {
        let mut residency = Residency::new(0);
        let of = |key: &str, bytes: usize| Rc::new(ResidentPartition::of_size(key, bytes));
        let named = |key: &str| PartitionName::new(1, key);
        let budget = PARTITIONS_BYTES_MIN;
        residency.keep_partition(&of("small", 1_000));
        residency.keep_partition(&of("large", 3 * budget));
        assert!(residency.partition(&named("large")).is_some(), "larger than the budget, but in use");
        assert!(residency.partition(&named("small")).is_none());
        residency.keep_partition(&of("other", budget / 4));
        assert!(residency.partition(&named("large")).is_none() && residency.partition(&named("other")).is_some());
        for number in 0..8 {
            residency.keep_partition(&of(&number.to_string(), budget / 4));
            assert!(residency.statistics().partition_bytes <= budget);
            assert!(residency.partition(&named(&number.to_string())).is_some());
        }
    }

    #[test]
    fn blocks_and_partitions_are_under_one_budget() {
        let budget = 4 * PARTITIONS_BYTES_MIN;
        let mut residency = Residency::new(budget);
        let together = |residency: &Residency| {
            let ResidencyStatistics { block_bytes, partition_bytes, .. } = residency.statistics();
            (block_bytes, block_bytes + partition_bytes)
        };
        for number in 0..8 {
            residency.offer((1, 1, number), &block(budget / 8));
        }
        assert_eq!(together(&residency), (budget, budget));
        residency.keep_partition(&Rc::new(ResidentPartition::of_size("small", budget / 8 - 1)));
        assert_eq!(together(&residency), (budget / 8 * 7, budget - 1), "blocks make room for a partition");
        residency.offer((1, 1, 9), &block(budget / 8));
        residency.offer((1, 1, 9), &block(budget / 8));
        assert_eq!(together(&residency), (budget / 8 * 7, budget - 1), "and stay within what it leaves");
        residency.keep_partition(&Rc::new(ResidentPartition::of_size("large", budget)));
        assert_eq!(together(&residency).0, budget / 2, "half stays for blocks beside one that takes all");
        residency.forget_partitions();
        for number in 0..2 {
            residency.offer((1, 2, number), &block(budget / 2));
        }
        assert_eq!(together(&residency), (budget, budget), "all of it is for blocks again");
    }

    #[test]
    fn blocks_that_nobody_finds_again_are_not_kept() {
        let of = |number: u32, segments: &[u32]| {
            let segment = |number: &u32| {
                let schema = "t".to_owned();
                let header = Header { schema, fingerprint: 0, documents: 0, blocks: 2, columns: Vec::new() };
                (Rc::new(ResidentSegment { number: Some(*number), header, memory: Vec::new() }), Bitmap::none(0))
            };
            let stored = segments.iter().map(segment).collect();
            Rc::new(ResidentPartition { number, stored, ..ResidentPartition::of_size("a", 10) })
        };
        let mut residency = Residency::new(1_000);
        let name = PartitionName::new(1, "a");
        let offer = |residency: &mut Residency, partition: u32, segments: &[u32]| {
            for segment in segments {
                (0..2).for_each(|number| residency.offer((partition, *segment, number), &block(10)));
            }
        };
        offer(&mut residency, 9, &[1]);
        offer(&mut residency, 7, &[1, 2, 3]);
        let bytes = |residency: &Residency| residency.statistics().block_bytes;
        residency.keep_partition(&of(7, &[1, 2, 3]));
        assert_eq!(bytes(&residency), 80);
        residency.keep_partition(&of(7, &[2, 3, 4]));
        assert_eq!(bytes(&residency), 60, "a segment that was merged with others");
        assert!(residency.block((7, 1, 0)).is_none() && residency.block((7, 2, 1)).is_some());
        residency.keep_partition(&of(8, &[2, 3, 4]));
        assert_eq!(bytes(&residency), 20, "it is read under another number");
        offer(&mut residency, 8, &[3]);
        residency.forget(&name);
        assert_eq!((bytes(&residency), residency.statistics().partition_bytes), (20, 0), "it is gone");
        assert!(residency.block((9, 1, 1)).is_some(), "others stay");
        residency.forget_partitions();
        assert_eq!(
            (bytes(&residency), residency.statistics().blocks),
            (0, 0),
            "after a deployment all have other numbers"
        );
    }

    #[test]
    fn a_block_larger_than_the_budget_is_never_kept() {
        let mut residency = Residency::new(0);
        residency.offer((1, 1, 1), &block(1));
        residency.offer((1, 1, 1), &block(1));
        assert_eq!(residency.statistics().blocks, 0);
    }
}
