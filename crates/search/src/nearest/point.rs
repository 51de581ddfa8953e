//! The query's vector and what is known of a document's distance to it: exactly from its cells, or between bounds from
//! its codes.
use std::cmp::Reverse;
use std::rc::Rc;

use brooklet_document::{CellType, cells_from_bytes};
use brooklet_kernel::{Cells, CodeQuery, Codes, Metric, Query, scan_bounds, score_key, score_of_key};
use brooklet_rank::distance::{DistanceMetric, DistanceScale, haversine};
use brooklet_segment::column::vector;
use brooklet_segment::column::vector::Vectors;
use brooklet_segment::layout::ColumnSpec;
use brooklet_segment::{BlockSource, Gaps, Halt, vector_rows};
use brooklet_task::Rejection;

use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// The query's vector, prepared for a field and its metric.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) scale: DistanceScale,
    query: Query,
    pub(super) code: Option<CodeQuery>,
    coordinates: Vec<f64>,
}

impl Point {
    /// Prepares `values` for rows of this cell type.
    pub(crate) fn new(metric: DistanceMetric, cell: CellType, values: &[f64]) -> Point {
        let cells = match cell {
            CellType::Double => Cells::Float64,
            CellType::Float => Cells::Float32,
            CellType::Bfloat16 => Cells::Bfloat16,
            CellType::Int8 => Cells::Int8,
        };
        let query = Query::new(cells, values);
        let code = code_metric(metric).and_then(|_| query.code_query());
        let scale = DistanceScale::new(metric, query.squared_norm());
        Point { scale, query, code, coordinates: values.to_vec() }
    }

    /// The internal distance of a row of exact cells.
    pub(crate) fn distance(&self, cell: CellType, row: &[u8]) -> Result<f64, Rejection> {
        Ok(match self.scale.metric() {
            DistanceMetric::Euclidean => self.query.squared_euclidean(row),
            DistanceMetric::Angular => 1.0 - self.query.cosine(row),
            DistanceMetric::PrenormalizedAngular => self.scale.query_norm_squared() - self.query.dot(row),
            DistanceMetric::DotProduct => -self.query.dot(row),
            DistanceMetric::Hamming => self.query.hamming(row),
            DistanceMetric::GeoDegrees => match (&self.coordinates[..], &cells_from_bytes(cell, row)?[..]) {
                ([a, b], [c, d]) => haversine(*a, *b, *c, *d),
                _ => f64::NAN,
            },
        })
    }

    /// The limit of the kernel's value beyond which no interval has a lower end of the internal distance of at most
    /// `distance`; infinite, or no number, if there is none.
    pub(super) fn code_limit(&self, distance: f64) -> f64 {
        let below = |least: f64| least - distance - ROUNDING * (least.abs() + distance.abs());
        match self.scale.metric() {
            DistanceMetric::Angular => below(1.0),
            DistanceMetric::PrenormalizedAngular => below(self.scale.query_norm_squared()),
            DistanceMetric::DotProduct => -distance,
            _ => distance,
        }
    }

    /// Turns intervals of the kernel's value into intervals of the internal distance. Where a norm overflows, infinity is taken from
    /// infinity: such a distance may be anything.
    pub(super) fn internal(&self, low: f64, high: f64) -> (f64, f64) {
        let (low, high) = match self.scale.metric() {
            DistanceMetric::Angular => (1.0 - high, 1.0 - low),
            DistanceMetric::PrenormalizedAngular => {
                (self.scale.query_norm_squared() - high, self.scale.query_norm_squared() - low)
            }
            DistanceMetric::DotProduct => (-high, -low),
            _ => (low, high),
        };
        (if low.is_nan() { f64::NEG_INFINITY } else { low }, if high.is_nan() { f64::INFINITY } else { high })
    }
}

/// The distance with this nearness; NaN for the farthest.
pub(super) fn distance_of(Reverse(key): Reverse<u64>) -> f64 {
    if key == u64::MAX { f64::NAN } else { score_of_key(key) }
}

/// More than what a subtraction and the conversion back lose, as a share of what is subtracted: 2⁻⁵⁰.
const ROUNDING: f64 = 4.0 * f64::EPSILON * 2.0;

/// What the kernel must bound for a metric; nothing if codes say nothing about it.
pub(super) fn code_metric(metric: DistanceMetric) -> Option<Metric> {
    match metric {
        DistanceMetric::Euclidean => Some(Metric::SquaredEuclidean),
        DistanceMetric::Angular => Some(Metric::Cosine),
        DistanceMetric::PrenormalizedAngular | DistanceMetric::DotProduct => Some(Metric::InnerProduct),
        DistanceMetric::Hamming | DistanceMetric::GeoDegrees => None,
    }
}

/// An order of distances, nearest first; NaN is farthest.
pub(super) fn nearness(distance: f64) -> Reverse<u64> {
    Reverse(if distance.is_nan() { u64::MAX } else { score_key(distance) })
}

/// The nearness that a distance with this upper end has at least: what may be infinite may be no number, which is farther.
pub(super) fn least_nearness(high: f64) -> Reverse<u64> {
    nearness(if high == f64::INFINITY { f64::NAN } else { high })
}

/// The smaller of two distances; a number is smaller than none.
pub(super) fn least(a: f64, b: f64) -> f64 {
    if b.is_nan() || a <= b { a } else { b }
}

pub(super) fn column_of<'a>(view: &'a View, spec: &ColumnSpec) -> Result<Option<Vectors<'a>>, Rejection> {
    view.segment.header.column(spec).map(Vectors::from_column).transpose()
}

/// The internal distance of a document's nearest row; nothing if it has none.
pub(crate) fn exact_distance(
    view: &View,
    nearest: &Nearest,
    ordinal: u32,
    reads: &mut Reads,
) -> Result<Option<f64>, Halt> {
    match column_of(view, &nearest.spec)? {
        Some(vectors) => distance_in(view, &vectors, nearest, ordinal, reads),
        None => Ok(None),
    }
}

/// The same where the view's column is at hand.
pub(super) fn distance_in(
    view: &View,
    vectors: &Vectors<'_>,
    nearest: &Nearest,
    ordinal: u32,
    reads: &mut Reads,
) -> Result<Option<f64>, Halt> {
    let rows = vector_rows(vectors, ordinal, &mut reads.segment(&view.segment))?;
    let part = vectors.part(vector::EXACT);
    let mut distance = None;
    let mut gaps = Gaps::default();
    for row in rows {
        let index = part.index_of(row);
        if let Some(block) = gaps.note(reads.segment(&view.segment).block(part.first_block + index))? {
            let cells = vectors.exact(row - part.span_of(index).0, block.bytes())?;
            let measured = nearest.point.distance(vectors.cell, cells)?;
            distance = Some(distance.map_or(measured, |least_so_far| least(least_so_far, measured)));
        }
    }
    gaps.check()?;
    Ok(distance)
}

/// An interval that holds the internal distance of a document, from codes alone; nothing if it has no row or no codes.
pub(crate) fn distance_bounds(
    view: &View,
    nearest: &Nearest,
    ordinal: u32,
    reads: &mut Reads,
) -> Result<Option<(f64, f64)>, Halt> {
    let Some(vectors) = column_of(view, &nearest.spec)? else { return Ok(None) };
    let metric = code_metric(nearest.point.scale.metric());
    let (true, Some(metric), Some(code)) = (vectors.coded(), metric, &nearest.point.code) else { return Ok(None) };
    let rows = vector_rows(&vectors, ordinal, &mut reads.segment(&view.segment))?;
    let part = vectors.part(vector::CODES);
    let stride = vector::code_stride(vectors.size);
    let mut bounds: Option<(f64, f64)> = None;
    for row in rows {
        let index = part.index_of(row);
        let (first, count) = part.span_of(index);
        let block = reads.segment(&view.segment).block(part.first_block + index)?;
        let codes = vectors.codes(count, block.bytes())?;
        let at = (row - first) as usize;
        let one = Codes {
            scales: &codes.scales[at..=at],
            residuals: &codes.residuals[at..=at],
            norms: &codes.norms[at..=at],
            square_sums: &codes.square_sums[at..=at],
            codes: &codes.codes[at * stride..(at + 1) * stride],
        };
        let (mut low, mut high) = ([0.0], [0.0]);
        scan_bounds(metric, code, &one, &mut low, &mut high);
        let (low, high) = nearest.point.internal(low[0], high[0]);
        bounds = Some(bounds.map_or((low, high), |(a, b)| (least(a, low), b.min(high))));
    }
    Ok(bounds)
}

/// A nearest-neighbour operator.
#[derive(Clone, Debug)]
pub(crate) struct Nearest {
    pub(crate) field: String,
    pub(crate) spec: ColumnSpec,
    pub(crate) target_hits: usize,
    pub(crate) label: Option<String>,
    /// Whether it competes: an unranked operator, or one below a `not`, matches everything within the threshold.
    pub(crate) competes: bool,
    pub(crate) point: Rc<crate::nearest::Point>,
    /// Largest internal distance that matches.
    pub(crate) threshold: f64,
}
