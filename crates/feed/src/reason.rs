//! Why a partition is compacted.

/// Why a partition is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its tail is long.
    Fold,
    /// Operations that were never in the tail are loaded.
    Load,
    /// The schema stores other columns now.
    Rewrite,
    /// A shard of a large group gives half of its documents away.
    Split,
    /// It is idle: one large segment is faster to search than several small ones.
    Settle,
}
