//! How large segments get, and how much of them one compaction merges: what building them holds is many times that.
use brooklet_segment::{Header, SegmentBuilder};
use brooklet_task::limits;

/// Full segments that one compaction merges at most. What is left is merged by the next one.
const MERGED_SEGMENTS: usize = 2;

/// The bounds of an instance.
///
/// ```
/// use brooklet_feed::Bounds;
///
/// let small = Bounds::of_segments(4 << 20);
/// assert!(small.merged_bytes() < Bounds::default().merged_bytes());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of all that a segment holds of its documents; the largest number: only their source is bounded.
    segment_bytes: usize,
}

impl Default for Bounds {
    /// Segments as large as the limits let them be.
    fn default() -> Bounds {
        Bounds { segment_bytes: usize::MAX }
    }
}

impl Bounds {
    /// Segments of about so many bytes of documents, vectors included.
    #[must_use]
    pub fn of_segments(bytes: usize) -> Bounds {
        Bounds { segment_bytes: bytes }
    }

    /// Bytes of segments that one compaction merges.
    #[must_use]
    pub fn merged_bytes(self) -> usize {
        if self.segment_bytes == usize::MAX { limits::MERGED_BYTES } else { MERGED_SEGMENTS * self.segment_bytes }
    }

    /// Bytes of source, or of all where that is bounded, that make several segments worth a merge.
    pub(crate) fn worth_merging(self, header: &Header) -> usize {
        if self.segment_bytes == usize::MAX { header.source_bytes() } else { header.bytes() }
    }

    /// What [`worth_merging`](Bounds::worth_merging) of the segments of a tier has to come to.
    pub(crate) fn worth_merging_bytes(self) -> usize {
        MERGED_SEGMENTS * self.segment_bytes.min(limits::SEGMENT_SOURCE_BYTES)
    }

    /// Whether a segment that is being built takes no more documents.
    pub(crate) fn ends(self, builder: &SegmentBuilder) -> bool {
        builder.documents() >= limits::SEGMENT_DOCUMENTS
            || builder.source_bytes() >= limits::SEGMENT_SOURCE_BYTES
            || builder.bytes() >= self.segment_bytes
    }

    /// Whether a segment has three quarters of what one may have, documents or bytes.
    pub(crate) fn is_large(self, header: &Header) -> bool {
        let three_quarters = |most: usize| most / 4 * 3;
        header.documents as usize >= three_quarters(limits::SEGMENT_DOCUMENTS)
            || header.source_bytes() >= three_quarters(limits::SEGMENT_SOURCE_BYTES)
            || header.bytes() >= three_quarters(self.segment_bytes)
    }
}
