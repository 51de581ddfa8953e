//! Every limit of the core, with its unit. The host reads them through the border; nothing writes them twice.
//! Names in parentheses are those of the reliability specification's table of limits.

/// Longest document id, bytes (L-id).
pub const ID_BYTES: usize = 4_096;
/// Longest group name, bytes (L-id).
pub const GROUP_BYTES: usize = 512;
/// Nesting of JSON (L-json).
pub const JSON_DEPTH: usize = 64;
/// Members of one JSON object that is not a map or tensor (L-json).
pub const JSON_KEYS: usize = 10_000;
/// Characters of a number token (L-json).
pub const JSON_NUMBER: usize = 64;
/// Bytes of one JSON string (L-json).
pub const JSON_STRING: usize = 4 << 20;
/// Bytes of one stored document (L-doc).
pub const DOCUMENT_BYTES: usize = 4 << 20;
/// Bytes of one operation of a feed, as JSON. It is twice those of a body (L-body), so that what was exported can be fed again: the values of as
/// many cells of bfloat16 as a document may have are 12.5 MiB.
pub const OPERATION_BYTES: usize = 16 << 20;
/// Fields of a document (L-fields).
pub const FIELDS: usize = 512;
/// Elements of an array; entries of a map or weighted set (L-fields).
pub const ELEMENTS: usize = 100_000;
/// Cells of a tensor in a document (L-tensor).
pub const TENSOR_CELLS: usize = 1 << 20;
/// Cells of a tensor given with a query (L-tensor).
pub const QUERY_TENSOR_CELLS: usize = 65_536;
/// Cells of an intermediate tensor (L-tensor).
pub const INTERMEDIATE_CELLS: usize = 4 << 20;
/// Dimensions of a tensor (L-tensor).
pub const TENSOR_DIMENSIONS: usize = 8;
/// Bytes of a tensor label (L-tensor).
pub const TENSOR_LABEL: usize = 256;
/// Bytes of a query text (L-yql).
pub const QUERY_BYTES: usize = 64 << 10;
/// Nesting of a query (L-yql).
pub const QUERY_DEPTH: usize = 100;
/// Terms of a query (L-yql).
pub const QUERY_TERMS: usize = 1_024;
/// Entries of `in` and of weighted operators (L-yql).
pub const QUERY_ENTRIES: usize = 10_000;
/// Places of one document in which the terms of all `near`, `onear` and `sameElement` of a query stand (L-near).
pub const NEAR_PLACES: usize = 2 << 20;
/// Places of one document in which the terms of a query stand, where it is ranked by places (L-places).
pub const TERM_PLACES: usize = 4 << 20;
/// Text of the grouping of a request, bytes (L-grp).
pub const GROUPING_BYTES: usize = 16 << 10;
/// Nesting of operations, filters and expressions of a grouping (L-grp).
pub const GROUPING_NESTING: usize = 32;
/// Operations, expressions, filters and buckets of a grouping, with aliases put in.
pub const GROUPING_NODES: usize = 10_000;
/// Levels of groups inside groups (L-grp).
pub const GROUPING_LEVELS: usize = 8;
/// Groups and hits one grouping may answer with, at worst (L-grp).
pub const GROUPS: usize = 10_000;
/// Memory the groups of one request may take while they are made, bytes.
pub const GROUPS_BYTES: usize = 48 << 20;
/// Bytes of a selection, and of what the path of a visit adds to it: messages quote both as one text, and count in it (L-sel).
pub const SELECTION_BYTES: usize = 16 << 10;
/// Nesting of a selection, the parentheses around what the path of a visit adds to included (L-sel).
pub const SELECTION_DEPTH: usize = 100;
/// Bytes of a regular expression, in which 50 groups may stand inside of each other (L-regex).
pub const PATTERN_BYTES: usize = 1_000;
/// Steps of the regular expressions of a selection that are looked at for one document, and of a filter of a grouping for
/// one value: some tenths of a second.
pub const PATTERN_STEPS: usize = 32 << 20;
/// Hits of one answer (L-hits).
pub const HITS: usize = 400;
/// Offset of the first hit (L-hits).
pub const OFFSET: usize = 1_000;
/// Hits of one answer that a query profile can allow.
pub const HITS_OF_PROFILE: usize = 10_000;
/// The offset that a query profile can allow.
pub const OFFSET_OF_PROFILE: usize = 50_000;
/// Target hits of a nearest-neighbour operator (L-hits).
pub const TARGET_HITS: usize = 10_000;
/// Hits a later phase of ranking scores, if nothing is said.
pub const RERANK_DEFAULT: usize = 100;
/// Hits a later phase of ranking scores at most.
pub const RERANK: usize = 10_000;
/// Text of a ranking expression, bytes (L-rank).
pub const EXPRESSION_BYTES: usize = 64 << 10;
/// The same of one that stands in a file of its own, as what other programs write.
pub const EXPRESSION_FILE_BYTES: usize = 1 << 20;
/// Nesting of a ranking expression (L-rank).
pub const EXPRESSION_DEPTH: usize = 128;
/// Nodes of one compiled ranking expression, the functions it calls included.
pub const PROGRAM_NODES: usize = 100_000;
/// Nesting of one compiled ranking expression, through the functions it calls.
pub const PROGRAM_DEPTH: usize = 512;
/// Cells all tensors of one evaluation of a ranking expression may have together, functions of cells counting by their
/// length: about a tenth of a second.
pub const EVALUATION_CELLS: usize = 16 << 20;
/// Functions of one rank profile (L-rank).
pub const FUNCTIONS: usize = 1_000;
/// Texts one operation may want embedded.
pub const EMBEDDINGS: usize = 4_096;
/// Bytes of the texts one operation may want embedded.
pub const EMBEDDED_BYTES: usize = 4 << 20;
/// Texts one query may want embedded.
pub const QUERY_EMBEDDINGS: usize = 64;
/// Bytes of one schema file (L-pkg).
pub const SCHEMA_BYTES: usize = 1 << 20;
/// Bytes of an XML file (L-pkg).
pub const XML_BYTES: usize = 1 << 20;
/// Nesting of an XML file (L-pkg).
pub const XML_DEPTH: usize = 64;
/// Default timeout of a query, milliseconds (L-time).
pub const TIMEOUT_MS: u32 = 500;
/// Longest timeout of a query, milliseconds (L-time).
pub const TIMEOUT_MAX_MS: u32 = 60_000;
/// Issues told in one answer.
pub const ISSUES: usize = 100;
/// Bytes of one block, its checksum included. Columns aim far lower; a single row of 100,000 weighted values needs this
/// much, and Durable Objects store at most 2 MB in a row.
pub const BLOCK_BYTES: usize = 3 << 19;
/// Bytes a task wants at once, so that deadlines are looked at often.
pub const WANT_BYTES: usize = 4 << 20;
/// Documents of one segment.
pub const SEGMENT_DOCUMENTS: usize = 16_384;
/// Bytes of document source in one segment: what building it holds is many times this if every word is another.
pub const SEGMENT_SOURCE_BYTES: usize = 16 << 20;
/// Bytes of segments, all their columns counted, that one compaction merges, unless an instance is bounded further.
pub const MERGED_BYTES: usize = 128 << 20;
/// Bytes of a constant file, unpacked (L-pkg).
pub const CONSTANT_BYTES: usize = 64 << 20;
/// Bytes of an ONNX file (L-onnx).
pub const ONNX_BYTES: usize = 512 << 20;
/// Inputs and outputs of an ONNX model.
pub const ONNX_VALUES: usize = 256;
/// Runs of ONNX models that one query may want.
pub const MODEL_RUNS: usize = 4_096;
/// Bytes of the inputs of all runs that one query may want, and of what they yield.
pub const MODEL_RUN_BYTES: usize = 32 << 20;
/// Bytes of the file of a significance model (L-rank).
pub const SIGNIFICANCE_MODEL_BYTES: usize = 32 << 20;
/// Bytes of a model file of decision trees (L-rank).
pub const MODEL_BYTES: usize = 64 << 20;
/// Nodes of all trees of one model, leaves included (L-rank).
pub const MODEL_NODES: usize = 4 << 20;
/// Trees of one model (L-rank).
pub const MODEL_TREES: usize = 20_000;
/// Features of one model of decision trees (L-rank).
pub const MODEL_INPUTS: usize = 4_096;
