//! One number made of the bits of all kernels over many vectors of every kind. `tests/same_bits.rs` knows it; that
//! WebAssembly gives the same is seen by building this file for it and calling its only export:
//!
//! ```sh
//! cargo build --release -p brooklet-kernel --example same_bits --target wasm32-unknown-unknown
//! node -e "WebAssembly.instantiate(fs.readFileSync(process.argv[1]), {}).then(({ instance }) =>
//!   console.log(BigInt.asUintN(64, instance.exports.same_bits()).toString(16)))" path/to/same_bits.wasm
//! ```

use brooklet_kernel::{
    Bitmap, Cells, Code, Codes, Metric, POSTINGS, POSTINGS_BYTES, Query, SCATTERED, SCORES, Saturation, above,
    checksum, padded_dimensions, quantise, read_decimals, scan_bounds, scatter_short, short_postings,
};

const METRICS: [Metric; 3] = [Metric::InnerProduct, Metric::SquaredEuclidean, Metric::Cosine];
const ROWS: usize = 5;

/// Pseudo-random numbers, the same everywhere: integer operations, and exact conversions.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Between −1 and 1.
    fn number(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A cell of one of seven kinds: ordinary, zero, huge, subnormal, around the flushing limit, any bits, whole.
    fn cell(&mut self, kind: u64) -> f64 {
        let number = self.number();
        match kind {
            0 => number,
            1 => 0.0,
            2 => number * 3e38,
            3 => number * 1e-39,
            4 => number / (1u64 << 62) as f64,
            5 => f64::from(f32::from_bits(self.bits() as u32)),
            _ => (number * 127.0).round(),
        }
    }

    fn row(&mut self, cells: Cells, dimensions: usize) -> Vec<u8> {
        let kind = self.bits() % 7;
        let mut row = Vec::new();
        for _ in 0..dimensions {
            cells.write(self.cell(kind), &mut row);
        }
        row
    }
}

/// The bytes of everything the kernels say about a query and some rows.
fn results(query: &Query, rows: &[u8]) -> Vec<u8> {
    let stride = query.row().len();
    let mut bytes = Vec::new();
    let mut out = [0.0; ROWS];
    for metric in METRICS {
        metric.values(query, rows, stride, &mut out);
        bytes.extend(out.iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes.extend(rows.chunks(stride).flat_map(|row| query.hamming(row).to_le_bytes()));
    let Some(code_query) = query.code_query() else {
        return bytes;
    };
    let length = padded_dimensions(query.dimensions());
    let mut codes = vec![0; ROWS * length];
    let mut known = [Code::UNKNOWN; ROWS];
    let mut cells = Vec::new();
    for ((row, codes), code) in rows.chunks(stride).zip(codes.chunks_mut(length)).zip(&mut known) {
        query.cells().read_floats(row, &mut cells);
        *code = quantise(&cells, codes);
        bytes.extend([code.scale, code.residual, code.norm].iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes.extend_from_slice(&codes);
    let columns = Codes {
        scales: &known.map(|code| code.scale),
        residuals: &known.map(|code| code.residual),
        norms: &known.map(|code| code.norm),
        square_sums: &known.map(|code| code.square_sum),
        codes: &codes,
    };
    let mut high = [0.0; ROWS];
    for metric in METRICS {
        scan_bounds(metric, &code_query, &columns, &mut out, &mut high);
        bytes.extend(out.iter().chain(&high).flat_map(|value| value.to_le_bytes()));
    }
    bytes
}

/// A list of numbers as JSON has them, some of which are not read four at a time.
fn list(random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..40 {
        let digits = (random.bits() % 9) as usize;
        text += &format!("{:.digits$},", random.number() * 10.0);
    }
    text.into_bytes()
}

/// The bytes of what is read of a list from each of its commas on.
fn read_from_each_comma(list: &[u8]) -> Vec<u8> {
    let mut numbers = Vec::new();
    let mut lengths = Vec::new();
    for (at, _) in list.iter().enumerate().filter(|(_, byte)| **byte == b',') {
        lengths.push(read_decimals(&list[at + 1..], 400, &mut numbers) as u8);
    }
    lengths.into_iter().chain(numbers.iter().flat_map(|number| number.to_le_bytes())).collect()
}

/// The bytes of what is read of some postings, of the scores that their counts make and of those that are high.
fn postings(random: &mut Random) -> Vec<u8> {
    let mut pairs = [0; POSTINGS_BYTES];
    let longest = if random.bits().is_multiple_of(4) { 0xff } else { 0x7f };
    pairs.iter_mut().for_each(|byte| *byte = random.bits() as u8 & longest);
    let mut bytes = Vec::new();
    let mut group = [[0; 2]; POSTINGS];
    if short_postings(&pairs, random.bits() as u32, &mut group) {
        bytes.extend(group.as_flattened().iter().flat_map(|number| number.to_le_bytes()));
    }
    let mut counts = [0; SCATTERED];
    bytes.extend(scatter_short(&pairs, &mut counts).unwrap_or(0).to_le_bytes());
    Bitmap::of_nonzero(&counts[..1000]).write_bytes(&mut bytes);
    let dampings: Vec<f64> = counts.iter().map(|_| 1.0 + random.number()).collect();
    let mut sums = vec![random.number(); counts.len()];
    Saturation { scale: random.number(), gain: 2.2 }.add_all(&counts, &dampings, &mut sums);
    bytes.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
    let limit = sums[0];
    bytes.extend(sums.as_chunks::<SCORES>().0.iter().flat_map(|sums| above(sums, limit).to_le_bytes()));
    bytes
}

/// The number.
#[unsafe(no_mangle)]
pub extern "C" fn same_bits() -> u64 {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut digest = 0;
    for case in 0..600 {
        let dimensions_max = if case % 8 == 0 { 1024 } else { 64 };
        let dimensions = 1 + (random.bits() % dimensions_max) as usize;
        for cells in [Cells::Float64, Cells::Float32, Cells::Bfloat16, Cells::Int8] {
            let query = Query::from_row(cells, random.row(cells, dimensions));
            let rows = (0..ROWS).flat_map(|_| random.row(cells, dimensions)).collect::<Vec<_>>();
            digest = checksum(digest, &results(&query, &rows));
        }
    }
    for _ in 0..600 {
        digest = checksum(digest, &read_from_each_comma(&list(&mut random)));
    }
    for _ in 0..600 {
        digest = checksum(digest, &postings(&mut random));
    }
    digest
}
