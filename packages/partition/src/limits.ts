/** When tails are folded and logs emptied. The limits of documents and queries are the core's, not written here. */

/** Operations of a tail that is folded into a segment, off the path of requests. */
export const FOLD_OPERATIONS = 256;
/** Bytes of a tail that is folded. */
export const FOLD_BYTES: number = 1 << 20;

/** Operations of a tail that takes no more before it is folded: a search reads it all. */
export const TAIL_OPERATIONS_MAX = 4_096;
/** Bytes of a tail that takes no more. */
export const TAIL_BYTES_MAX: number = 32 << 20;

/** Operations that are worth a segment when nothing more comes … */
export const IDLE_OPERATIONS = 32;
/** … or bytes … */
export const IDLE_BYTES: number = 64 << 10;
/** … for so long. */
export const IDLE_MS = 2_000;
/** Any tail is folded when nothing came for so long, in time to erase what was removed within a minute. */
export const RESTING_MS = 30_000;

/**
 * Segments that hold removed documents are written anew after so long, and small ones of a partition that rests are
 * joined: with the folding before and the emptying of the log after it, removed bytes are gone within a minute.
 */
export const SETTLE_MS = 20_000;
/** Partitions of a bucket that an earlier process left, looked at in one sweep. */
export const SETTLE_PARTITIONS = 16;

/** What was removed is known to visits that ask for removes for so long: two weeks. */
export const KEEP_REMOVES_SECONDS: number = 14 * 24 * 3_600;
/** How often all partitions are looked through for removes that are old enough to be forgotten. */
export const FORGET_MS: number = 24 * 3_600_000;

/** How often tails are looked at. */
export const SWEEP_MS = 1_000;
/** Looks until a tail rests; no more of them are ever due, where a machine does not come to them in time. */
export const RESTING_SWEEPS: number = Math.ceil(RESTING_MS / SWEEP_MS);
/** How many of a bucket in one look. */
export const SWEEP_PARTITIONS = 64;

/** Partitions that are folded in one commit, at most … */
export const TOGETHER_PARTITIONS = 16;
/** … each with a tail of so many bytes at most … */
export const TOGETHER_TAIL_BYTES: number = 64 << 10;
/** … on segments of so many … */
export const TOGETHER_SEGMENT_BYTES: number = 256 << 10;
/** … until so many bytes of new segments are held: with the last of them they are less than 4 MiB. */
export const TOGETHER_BYTES: number = 3 << 20;

/** One slice of maintenance: about what a request waits for it. */
export const SLICE_MS = 4;

/** One turn of a search through the partitions of a bucket: about what a request waits for it. */
export const SEARCH_TURN_MS = 8;
/** Partitions whose names such a search reads at a time. */
export const SEARCH_PARTITIONS = 64;
/** Partial results that are merged at a time. */
export const MERGE_PARTIALS = 16;
/** Bytes of them after which they are merged earlier. */
export const MERGE_BYTES: number = 1 << 20;
/** A partial result below this is merged as soon as it is there. */
export const MERGED_AT_ONCE_BYTES: number = 16 << 10;
/** Buckets that one search looks at in each thread at a time: one is searched while the other's result is merged. */
export const SEARCH_BUCKETS_OF_THREAD = 2;

/** One turn of a visit: about what a request waits for it. */
export const VISIT_TURN_MS = 8;
/** The same of one that only looks for the first document of each partition, which comes far in little: it is to be felt less. */
export const LIST_TURN_MS = 2;
/** Longest step of a visit, or of an operation on many documents, within one object: who asks sees in between whether anybody still waits. */
export const OBJECT_STEP_MS = 1_000;
/** Partitions whose names a visit reads at a time. */
export const VISIT_PARTITIONS = 64;
/** Documents that an operation on many takes at a time: about one commit. */
export const MASS_DOCUMENTS = 256;

/** How long a deployment looks whether documents have a value of a field whose type changes; then they may have. */
export const STORED_LOOK_MS = 30_000;
/** The same where each group is an object that has to be asked: there may be thousands. */
export const OBJECTS_LOOK_MS = 600_000;
/** How often a gateway whose groups are objects looks what is deployed, while it is asked: nobody is told of a deployment. */
export const APPLICATION_LOOK_MS = 10_000;
/** How often such a look says that it goes on. */
export const LEASE_RENEWAL_MS = 20_000;
/** The same of what was written in the last moments, while writes wait. */
export const HELD_LOOK_MS = 1_000;
/** Longest step of that through a bucket; within it requests are served in turns. */
export const STORED_STEP_MS = 1_000;

/** In so many seconds every bucket that was not opened is looked into for documents of schemas that were removed. */
export const UNSEEN_SECONDS = 8;
/** Segments of schemas that were removed that are deleted in one transaction. */
export const ERASE_SEGMENTS = 64;

/** Bytes of erased partitions that are deleted in one transaction: about what a request waits for it. */
export const ERASE_BYTES: number = 1 << 20;
/** The longest that closing waits for what is left of them; the rest goes when the directory is opened again. */
export const ERASE_CLOSING_MS = 5_000;

/** The longest that a receipt waits until what was erased is gone from the files … */
export const PURGE_MS = 20_000;
/** … and how often it is looked whether it is. */
export const PURGE_LOOK_MS = 100;

/** Bytes that a file gives back in one transaction: about what a request waits for it. */
export const GIVE_BACK_BYTES: number = 512 << 10;
/** The most that it gives back before its log is moved to it. */
export const GIVE_BACK_BYTES_MAX: number = 32 << 20;

/** Committed bytes after which the log is moved to the file. */
export const LOG_BYTES: number = 8 << 20;
/** A log with something in it is emptied after this time, so that removed bytes do not stay in it. */
export const LOG_MS = 20_000;

/** Waiting after maintenance of a partition failed the first time; it doubles with each. */
export const RETRY_MS = 1_000;
/** The longest such waiting. */
export const RETRY_MAX_MS = 60_000;

/** How often it is looked whether documents are due to expire. */
export const EXPIRY_LOOK_MS = 1_000;
/** Waiting after a start before the first look, if the interval is not shorter. */
export const EXPIRY_FIRST_MS = 10_000;
/** Longest step of expiry through a bucket; within it requests are served in turns. */
export const EXPIRY_STEP_MS = 1_000;
/** The same of one that came no further in less. */
export const EXPIRY_STEP_MS_MAX = 64_000;

/** Operations, or bytes, of loads of one bucket that are told together: what the bucket commits at a time. */
export const TOLD_OPERATIONS = 1_024;
/** See there. */
export const TOLD_BYTES: number = 8 << 20;
/** Loads, which is partitions, likewise. */
export const TOLD_LOADS = 256;

/** Bytes of a feed that are split at a time. */
export const SPLIT_BYTES: number = 256 << 10;
/** Bytes, or operations, of one partition that are loaded at a time: about what a segment has. */
export const LOAD_BYTES: number = 8 << 20;
/** Operations of one partition that are loaded at a time. */
export const LOAD_OPERATIONS = 16_384;
/**
 * Operations of one load, or bytes, from which on it writes a segment: a tail of as many would be decoded by the first search, and
 * written as a segment soon after it.
 */
export const LOAD_SEGMENT_OPERATIONS = 48;
/** See there. */
export const LOAD_SEGMENT_BYTES: number = 128 << 10;
/** Bytes of a feed that may be held at a time, unless it says so. The more, the fewer and larger the segments. */
export const FEED_HELD_BYTES: number = 32 << 20;
/** What an operation takes beside its bytes while it is held, about. */
export const FEED_OPERATION_BYTES = 256;
/** What the operations of one partition take beside that together, few as they are: of very many partitions it is most of all. */
export const FEED_QUEUE_BYTES = 1_024;
/** Loads of a feed that are under way at a time: more of them would be held, and done no sooner. */
export const FEED_LOADS = 4_096;
/** Outcomes that nobody took yet, after which no more of a feed is read. */
export const FEED_TOLD = 16_384;
/** A source that brings nothing for so long has what it brought loaded; longer while a long operation is on its way. */
export const FEED_PATIENCE_MS = 20;
/** The same where so many bytes wait: loads that are cut short become small segments, which are merged later. */
export const FEED_PATIENCE_IN_BULK_MS = 200;
/** Bytes that wait after which a feed is one in bulk. */
export const FEED_BULK_BYTES: number = 1 << 20;
/** Operations of one load that are written by their own at a time. */
export const FEED_APART = 256;

/**
 * Of objects of a platform, of which many share the memory of one isolate: bytes of documents in a segment, which are held several
 * times while it is built …
 */
export const OBJECT_SEGMENT_BYTES: number = 4 << 20;
/** … of a tail that takes no more before it is folded: a search has ten times that of it in memory … */
export const OBJECT_TAIL_BYTES_MAX: number = 1 << 20;
/** … and of one load. */
export const OBJECT_LOAD_BYTES: number = 3 << 20;

/** Bytes of a group, or of one of its shards, from which on it is split: about 50,000 vectors of 384 dimensions with their texts. */
export const SHARD_BYTES: number = 96 << 20;
/** How often it is looked whether a group has become so large. */
export const SPLIT_LOOK_MS = 2_000;
/** Partitions that are remembered until then. */
export const FOLDED_KEPT = 10_000;
/** Documents that are copied to another shard at a time. */
export const SPLIT_PAGE_DOCUMENTS = 1_024;
/** Bytes after which a page of them ends. */
export const SPLIT_PAGE_BYTES: number = 1 << 20;
/** The longest that writes wait for the last of them; then the split is given up, to be tried again. */
export const SPLIT_WAIT_MS = 20_000;
