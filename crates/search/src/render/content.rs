//! What an answer is made of, before it is written.
use brooklet_task::Issue;

use super::tree::Tree;
use crate::found::stages::StageCosts;
use crate::grouping::Writing;

/// A hit, ready to be shown.
pub(crate) struct ShownHit {
    pub(crate) id: String,
    pub(crate) relevance: f64,
    pub(crate) source: String,
    /// The `fields` object in the format of the answer, if it has members.
    pub(crate) fields: Option<Vec<u8>>,
    /// Why it is one, likewise.
    pub(crate) explanation: Option<Vec<u8>>,
}

/// What was looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coverage {
    /// Documents looked at.
    pub(crate) documents: u64,
    /// Documents not looked at for want of time.
    pub(crate) unseen: u64,
    /// Partitions looked at.
    pub(crate) partitions: u64,
    /// Partitions that could not be looked at, however many documents they have.
    pub(crate) damaged: u64,
    /// Searches that were run: one for each schema (and group).
    pub(crate) results: usize,
}

impl Coverage {
    /// How many of a hundred documents were looked at, rounded down. How many a damaged partition has is not known: it
    /// counts as one partition among all.
    pub(super) fn percent(self) -> u64 {
        let of_documents = if self.unseen == 0 { 100 } else { self.documents * 100 / (self.documents + self.unseen) };
        if self.damaged == 0 { of_documents } else { of_documents * self.partitions / (self.partitions + self.damaged) }
    }
}

/// What an answer says beside its hits.
pub(crate) struct Answer<'a> {
    pub(crate) total: u64,
    pub(crate) coverage: Coverage,
    /// Results of grouping, shown among the hits as what has the relevance 1.
    pub(crate) groups: &'a [Writing<'a>],
    /// How many hits are shown before them.
    pub(crate) hits_before_groups: usize,
    /// Names of the clusters that documents are of, by schema.
    pub(crate) sources: &'a [&'a str],
    pub(crate) hits: &'a [ShownHit],
    /// What is told of the document that was asked about.
    pub(crate) explanation: Option<&'a Tree>,
    pub(crate) issues: &'a [Issue],
    pub(crate) timing: Option<Timing<'a>>,
    /// The trace's children; none: no trace.
    pub(crate) trace: &'a [Tree],
}

/// Times in milliseconds and bytes, shown when asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing<'a> {
    pub(crate) elapsed_ms: f64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_scanned: u64,
    /// The same by stage.
    pub(crate) stages: &'a StageCosts,
}
