//! The arithmetic of the core, without any knowledge of documents: exact vector kernels, int8 codes with proven bounds,
//! bitmaps, bounded selection, sorting, search of bytes and of pairs of numbers, reading of lists of numbers, of postings and of
//! places, and checksums.
//!
//! # Same bits everywhere
//! Every kernel is one algorithm over the few operations of `lanes.rs`, which `arch/scalar.rs` and `arch/wasm32.rs`
//! provide. The order of additions is fixed: cell `i` of a block of eight goes to accumulator `i` (for bfloat16 the even
//! cells of a block go to accumulators 0–3 and the odd ones to 4–7), and in the end accumulators are added as
//! `s[i] = a[i] + a[i+4]`, `t[i] = s[i] + s[i+2]`, `t[0] + t[1]`. A row whose length is not a multiple of the block is
//! treated as if zeros followed. A result that is not a number is always the same NaN.
//!
//! # Tiny cells
//! WebAssembly cannot ask the processor to flush subnormal numbers, and a column of them makes a scan a hundred times
//! slower: one hostile group could stall everybody. So cells below [`FLUSH_FLOAT32`] (double cells: [`FLUSH_FLOAT64`])
//! in magnitude count as zero in all floating-point kernels, in the query as in the rows, and so do differences below it
//! in the Euclidean kernel. No product of two cells is then subnormal (sums of products just above the limit can be, which
//! costs a factor of four at worst). Counting of differing cells is not affected.
//!
//! # Memory
//! Rows are little-endian cells as stored. No alignment is required (aligned rows are a little faster); nothing is read
//! beyond a row. Codes are one byte a dimension, two's complement, each row padded with zeros to
//! [`padded_dimensions`] bytes.

mod arch;
mod bitmap;
mod bounds;
mod cells;
mod checksum;
mod code;
mod code_query;
mod code_scan;
mod decimals;
mod distances;
mod exact;
mod find;
mod hamming;
mod lanes;
mod order;
mod pairs;
mod postings;
mod products;
mod query;
mod top;

pub use bitmap::{Bitmap, Filler, Ones};
pub use bounds::{Codes, Metric, scan_bounds};
pub use cells::{Cells, FLUSH_FLOAT32, FLUSH_FLOAT64};
pub use checksum::{checksum, hash128};
pub use code::{CODE_DIMENSIONS_MAX, Code, padded_dimensions, quantise};
pub use code_query::{CodeQuery, code_dots};
pub use code_scan::{Among, CodeScan};
pub use decimals::read_decimals;
pub use distances::{collect_places, each_place, each_place_of, write_places};
pub use find::Needle;
pub use lanes::Posting;
pub use order::{map_of, set_of, sort, sort_by, sort_by_key};
pub use pairs::{PairNumber, each_pair};
pub use postings::{POSTINGS, POSTINGS_BYTES, SCATTERED, SCORES, Saturation, above, scatter_short, short_postings};
pub use products::{NARROW_SUMS, PRODUCT_LANES, sums_of_products};
pub use query::{Query, cosine, squared_norm};
pub use top::{TopK, score_key, score_of_key};
