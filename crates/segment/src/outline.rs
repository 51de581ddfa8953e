//! What is known of a partition by who looks for one document in it: its segments' headers, and which operation of the
//! tail is the newest on each document. It grows with the operations that came since, so that to find a document takes
//! what is new of the tail and that one operation, not all of the tail; and it is kept within a budget.
use std::collections::BTreeMap;
use std::rc::Rc;

use brooklet_kernel::sort;
use brooklet_task::Rejection;
use rustc_hash::FxHashMap;

use crate::manifest::{Manifest, PartitionName, PartitionVersion, StoredSegment};
use crate::operation::StoredOperation;

/// What all outlines together may take at most: about a hundred tails at their limit, or the short ones of some thousand groups.
const OUTLINES_BYTES: usize = 16 << 20;
/// What they may take at least.
const OUTLINES_BYTES_MIN: usize = 2 << 20;
/// Their share of what blocks may take, in between.
const OUTLINES_SHARE: usize = 4;
/// What an entry takes beside its id, about: the number, and its share of the map.
const ENTRY_BYTES: usize = 40;

/// One partition.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    layout: u32,
    /// The last operation that is known; 0: none.
    operation: u64,
    segments: Vec<Rc<StoredSegment>>,
    /// The number of the newest operation on each document of the tail.
    newest: BTreeMap<Box<str>, u64>,
    bytes: usize,
}

impl Outline {
    /// The layout that is known; 0: none.
    #[must_use]
    pub fn layout(&self) -> u32 {
        self.layout
    }

    /// The last operation that is known.
    #[must_use]
    pub fn operation(&self) -> u64 {
        self.operation
    }

    /// The segments, by ascending number.
    #[must_use]
    pub fn segments(&self) -> &[Rc<StoredSegment>] {
        &self.segments
    }

    /// The number of the newest operation of the tail on a document.
    #[must_use]
    pub fn newest(&self, id: &str) -> Option<u64> {
        self.newest.get(id).copied()
    }

    /// Whether it is of the partition as it is at this place.
    #[must_use]
    pub fn is_of(&self, place: &PartitionVersion) -> bool {
        self.layout == place.layout && self.operation == place.operation
    }

    /// Takes in what was lacking.
    ///
    /// # Errors
    /// If an operation is damaged: whose it is cannot be told then. If the segments were left out though others were known.
    pub fn take(&mut self, key: &str, manifest: Manifest) -> Result<(), Rejection> {
        if let Some(segments) = manifest.segments {
            let headers = segments.iter().map(|segment| segment.header.memory_bytes() + segment.liveness.len() / 8);
            *self = Outline { bytes: headers.sum(), ..Outline::default() };
            self.segments = segments.into_iter().map(Rc::new).collect();
        } else if manifest.layout != self.layout {
            return Err(Rejection::corrupt("a manifest without segments"));
        }
        self.layout = manifest.layout;
        for (number, stored) in &manifest.operations {
            let id = StoredOperation::id_of(key, stored)?;
            match self.newest.get_mut(id) {
                Some(newest) => *newest = *number,
                None => {
                    self.bytes += id.len() + ENTRY_BYTES;
                    self.newest.insert(id.into(), *number);
                }
            }
            self.operation = *number;
        }
        Ok(())
    }
}

/// The outlines that are kept, those used last.
pub struct Outlines {
    kept: FxHashMap<PartitionName, (Outline, u64)>,
    bytes: usize,
    budget_bytes: usize,
    clock: u64,
}

impl Default for Outlines {
    fn default() -> Outlines {
        Outlines::of_cache(OUTLINES_BYTES * OUTLINES_SHARE)
    }
}

impl Outlines {
    /// None yet, beside a cache whose blocks may take so many bytes.
    #[must_use]
    pub fn of_cache(cache_bytes: usize) -> Outlines {
        let budget_bytes = (cache_bytes / OUTLINES_SHARE).clamp(OUTLINES_BYTES_MIN, OUTLINES_BYTES);
        Outlines { kept: FxHashMap::default(), bytes: 0, budget_bytes, clock: 0 }
    }

    /// Takes out what is known of a partition; whoever goes on to use it puts it back.
    #[must_use]
    pub fn take(&mut self, name: &PartitionName) -> Outline {
        let Some((outline, _)) = self.kept.remove(name) else { return Outline::default() };
        self.bytes -= outline.bytes;
        outline
    }

    /// Keeps what is known of a partition. If that is more than the budget, the half used longest ago goes; finding them is
    /// so paid for rarely.
    pub fn keep(&mut self, name: &PartitionName, outline: Outline) {
        if outline.bytes > self.budget_bytes / 2 {
            return;
        }
        self.clock += 1;
        self.bytes += outline.bytes;
        if let Some((older, _)) = self.kept.insert(name.clone(), (outline, self.clock)) {
            self.bytes -= older.bytes;
        }
        if self.bytes > self.budget_bytes {
            let mut by_use: Vec<(u64, PartitionName)> =
                self.kept.iter().map(|(name, (_, used))| (*used, name.clone())).collect();
            sort(&mut by_use);
            for (_, name) in by_use {
                if self.bytes <= self.budget_bytes / 2 {
                    break;
                }
                drop(self.take(&name));
            }
        }
    }

    /// What they take, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;

    const KEY: &str = "g:a";

    fn removal(name: &str) -> Vec<u8> {
        let operation = Operation::Remove(format!("id:n:t:g=a:{name}"));
        StoredOperation { schema: "t".into(), time: 1, operation }.encode(KEY)
    }

    fn manifest(layout: u32, segments: bool, operations: &[(u64, &str)]) -> Manifest {
        let operations = operations.iter().map(|(number, name)| (*number, removal(name))).collect();
        Manifest { layout, segments: segments.then(Vec::new), operations }
    }

    #[test]
    fn the_newest_operation_on_each_document_is_known_and_what_comes_is_added() {
        let mut outline = Outline::default();
        outline.take(KEY, manifest(3, true, &[(5, "x"), (7, "y"), (8, "x")])).expect("a manifest");
        assert_eq!((outline.newest("id:n:t:g=a:x"), outline.newest("id:n:t:g=a:y")), (Some(8), Some(7)));
        assert_eq!((outline.layout(), outline.operation(), outline.newest("id:n:t:g=a:z")), (3, 8, None));
        outline.take(KEY, manifest(3, false, &[(9, "z"), (11, "y")])).expect("a manifest");
        assert_eq!((outline.newest("id:n:t:g=a:z"), outline.newest("id:n:t:g=a:y")), (Some(9), Some(11)));
        assert_eq!(outline.newest("id:n:t:g=a:x"), Some(8));
        let place = |layout, operation| PartitionVersion {
            incarnation: 1,
            partition: 1,
            key: KEY.to_owned(),
            layout,
            operation,
        };
        assert!(outline.is_of(&place(3, 11)) && !outline.is_of(&place(3, 12)) && !outline.is_of(&place(4, 11)));
        outline.take(KEY, manifest(4, true, &[(11, "y")])).expect("a manifest");
        assert_eq!(outline.newest("id:n:t:g=a:x"), None, "folded meanwhile");
        assert!(outline.take(KEY, manifest(5, false, &[])).is_err());
        let mut damaged = manifest(4, false, &[(12, "x")]);
        damaged.operations[0].1[4] ^= 1;
        assert!(outline.take(KEY, damaged).is_err());
    }

    #[test]
    fn the_budget_holds_and_those_used_last_stay() {
        let of = |bytes: usize| Outline { bytes, ..Outline::default() };
        let mut outlines = Outlines::default();
        let named = |key: &str| PartitionName::new(1, key);
        outlines.keep(&named("too large"), of(OUTLINES_BYTES));
        assert_eq!(outlines.bytes(), 0);
        for number in 0..100 {
            outlines.keep(&named(&number.to_string()), Outline { layout: number, ..of(OUTLINES_BYTES / 10) });
            assert!(outlines.bytes() <= OUTLINES_BYTES);
        }
        assert_eq!((outlines.take(&named("99")).layout(), outlines.take(&named("1")).layout()), (99, 0));
        outlines.keep(&named("99"), of(10));
        assert_eq!(outlines.take(&PartitionName::new(2, "99")).bytes, 0, "of another incarnation");
        outlines.keep(&named("99"), of(20));
        let with = outlines.bytes();
        drop(outlines.take(&named("99")));
        assert_eq!(with - outlines.bytes(), 20);
    }
}
