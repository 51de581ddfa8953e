//! Nearest neighbours found through codes and bounds are those of measuring everything: over random groups of every
//! cell type, metric and shape of data, however the group is cut into tail and segments.
//!
//! The twin knows the kernels' exact distance of two vectors (checked against plain loops below) and the definition of
//! the operator, nothing else.

use crate::host::{Answer, Host, ids, services};
use crate::random::{Random, config};
use brooklet_kernel::{Cells, Query, score_key, squared_norm};
use brooklet_rank::distance::{DistanceMetric, DistanceScale, haversine};
use proptest::prelude::*;

const SIZES: [usize; 8] = [1, 3, 16, 31, 32, 33, 64, 384];
const CELLS: [Cells; 4] = [Cells::Float32, Cells::Bfloat16, Cells::Int8, Cells::Float64];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Uniform,
    Gaussian,
    Clustered,
    Duplicate,
    Zero,
    Subnormal,
    Huge,
    Scales,
}

const SHAPES: [Shape; 8] = [
    Shape::Uniform,
    Shape::Gaussian,
    Shape::Clustered,
    Shape::Duplicate,
    Shape::Zero,
    Shape::Subnormal,
    Shape::Huge,
    Shape::Scales,
];

/// What a case is made of; everything else follows from the seed.
#[derive(Clone, Debug)]
struct Case {
    metric: DistanceMetric,
    cells: Cells,
    size: usize,
    mapped: bool,
    /// Every document has a vector: then its row is its number, which is looked for in another way.
    each: bool,
    shape: Shape,
    documents: usize,
    target_hits: usize,
    hits: usize,
    folds: usize,
    resident: bool,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let group = (0usize..6, 0usize..4, 0usize..8, any::<bool>(), any::<bool>(), 0usize..8);
    let sizes = (0usize..400, 1usize..400, 1usize..60, 0usize..4, any::<bool>(), any::<u64>());
    (group, sizes).prop_map(|((metric, cells, size, mapped, each, shape), sizes)| {
        let (documents, target_hits, hits, folds, resident, seed) = sizes;
        let metric = DistanceMetric::ALL[metric];
        let size = if metric == DistanceMetric::GeoDegrees { 2 } else { SIZES[size] };
        // Long vectors in small groups: the texts that are fed grow with both.
        let documents = if size > 64 { documents / 3 } else { documents };
        let target_hits = 1 + target_hits % documents.max(1);
        let (cells, shape) = (CELLS[cells], SHAPES[shape]);
        Case { metric, cells, size, mapped, each, shape, documents, target_hits, hits, folds, resident, seed }
    })
}

/// Cases of vectors so near to each other that the intervals of many hold the distances of others: only a threshold that is of
/// the right ends leaves no neighbour out. Of all cases one in a hundred is so.
fn close_cases() -> impl Strategy<Value = Case> {
    let metrics = vec![
        DistanceMetric::Euclidean,
        DistanceMetric::Angular,
        DistanceMetric::PrenormalizedAngular,
        DistanceMetric::DotProduct,
    ];
    let kinds = (prop::sample::select(metrics), prop::sample::select(vec![Cells::Float32, Cells::Bfloat16]));
    let sizes = (prop::sample::select(vec![32usize, 33, 64]), 150usize..300, 1usize..12, 1usize..30, 0usize..4);
    (kinds, any::<(bool, bool)>(), sizes, any::<bool>(), any::<u64>()).prop_map(
        |((metric, cells), (mapped, each), (size, documents, target_hits, hits, folds), resident, seed)| {
            let shape = Shape::Clustered;
            Case { metric, cells, size, mapped, each, shape, documents, target_hits, hits, folds, resident, seed }
        },
    )
}

/// Makes vectors of a shape.
struct Vectors {
    random: Random,
    case: Case,
    few: Vec<Vec<f64>>,
}

impl Vectors {
    fn new(case: &Case) -> Vectors {
        let mut vectors = Vectors { random: Random::new(case.seed), case: case.clone(), few: Vec::new() };
        vectors.few = (0..3).map(|_| (0..case.size).map(|_| vectors.random.gaussian()).collect()).collect();
        vectors
    }

    fn next(&mut self) -> Vec<f64> {
        let near = self.few[self.random.below(3)].clone();
        let empty = !self.random.once_in(3);
        let double = self.case.cells == Cells::Float64;
        let scale = libm_power(self.random.below(61) as i32 - 30);
        let random = &mut self.random;
        let mut cell = |index: usize| match self.case.shape {
            Shape::Uniform => random.unit(),
            Shape::Gaussian => random.gaussian(),
            Shape::Clustered => near[index] + 0.01 * random.gaussian(),
            Shape::Duplicate => near[index],
            Shape::Zero => {
                if empty {
                    0.0
                } else {
                    random.gaussian()
                }
            }
            Shape::Subnormal => random.gaussian() * if double { 1e-310 } else { 1e-41 },
            Shape::Huge => random.gaussian() * if double { 1e307 } else { 1e38 },
            Shape::Scales => random.gaussian() * scale,
        };
        let values: Vec<f64> = (0..self.case.size).map(&mut cell).collect();
        values.into_iter().map(|value| representable(value, self.case.cells)).collect()
    }
}

fn libm_power(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().expect("a number")
}

/// A number that the cell type holds exactly, so that reading it rounds nothing.
fn representable(value: f64, cells: Cells) -> f64 {
    match cells {
        Cells::Float64 => value,
        Cells::Float32 => f64::from((value as f32).clamp(-f32::MAX, f32::MAX)),
        Cells::Bfloat16 => {
            let bits = (value as f32).clamp(-f32::MAX, f32::MAX).to_bits() & 0xffff_0000;
            f64::from(f32::from_bits(bits))
        }
        Cells::Int8 => (value * 60.0).round().clamp(-128.0, 127.0),
    }
}

struct Document {
    id: String,
    invoice: bool,
    year: i32,
    rows: Vec<Vec<f64>>,
}

/// A group, in a host and as plain values.
struct Group {
    host: Host,
    documents: Vec<Document>,
    query: Vec<f64>,
    other: Vec<f64>,
}

const KEY: &str = "g:u";

fn cell_name(cells: Cells) -> &'static str {
    match cells {
        Cells::Float64 => "double",
        Cells::Float32 => "float",
        Cells::Bfloat16 => "bfloat16",
        Cells::Int8 => "int8",
    }
}

fn schema(case: &Case) -> String {
    let (cell, size, metric) = (cell_name(case.cells), case.size, case.metric.name());
    let labels = if case.mapped { "p{}," } else { "" };
    format!(
        "schema item {{ document item {{
            field title type string {{ indexing: summary | index }}
            field year type int {{ indexing: summary | attribute }}
            field vec type tensor<{cell}>({labels}x[{size}]) {{
                indexing: attribute
                attribute {{ distance-metric: {metric} }}
            }}
        }}
        rank-profile near {{
            inputs {{
                query(q) tensor<{cell}>(x[{size}])
                query(r) tensor<{cell}>(x[{size}])
                query(w) double
            }}
            first-phase {{ expression: closeness(field, vec) }}
        }}
        rank-profile hybrid inherits near {{
            first-phase {{ expression: query(w) * closeness(field, vec) + bm25(title) + attribute(year) }}
        }}
        rank-profile parts inherits near {{
            first-phase {{ expression: attribute(year) }}
            match-features: closeness(field, vec) bm25(title) attribute(year)
        }} }}"
    )
}

fn numbers(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", texts.join(","))
}

fn group(case: &Case) -> Group {
    let cache = if case.resident { 64 << 20 } else { 0 };
    let mut host = Host::new(&[("services.xml", &services(&["item"])), ("schemas/item.sd", &schema(case))], cache);
    let mut vectors = Vectors::new(case);
    let mut documents = Vec::new();
    let order = vectors.random.order(case.documents);
    for (number, local) in order.into_iter().enumerate() {
        let rows = match vectors.random.below(10) {
            _ if case.each && !case.mapped => 1,
            0 => 0,
            _ if case.mapped => vectors.random.below(4),
            _ => 1,
        };
        let rows: Vec<Vec<f64>> = (0..rows).map(|_| vectors.next()).collect();
        let (invoice, year) = (vectors.random.once_in(3), vectors.random.below(20) as i32);
        let title = if invoice { "the invoice" } else { "another matter of some length" };
        let mut fields = format!("{{\"title\":\"{title}\",\"year\":{year}");
        if case.mapped && !rows.is_empty() {
            let blocks: Vec<String> =
                rows.iter().enumerate().map(|(label, row)| format!("\"l{label}\":{}", numbers(row))).collect();
            fields.push_str(&format!(",\"vec\":{{\"blocks\":{{{}}}}}", blocks.join(",")));
        } else if let [row] = &rows[..] {
            fields.push_str(&format!(",\"vec\":{}", numbers(row)));
        }
        fields.push('}');
        let id = format!("id:t:item:g=u:{local}");
        host.put(&id, &fields).unwrap_or_else(|rejection| panic!("{rejection}: {fields}"));
        documents.push(Document { id, invoice, year, rows });
        if case.folds > 0 && (number + 1) % case.documents.div_ceil(case.folds) == 0 {
            host.compact(KEY, 1);
        }
    }
    let mut query = || match documents.iter().find(|document| !document.rows.is_empty()) {
        Some(document) if vectors.random.once_in(4) => document.rows[0].clone(),
        _ => vectors.next(),
    };
    let (query, other) = (query(), query());
    Group { host, documents, query, other }
}

/// A query vector as the twin uses it.
struct Twin {
    metric: DistanceMetric,
    query: Query,
    values: Vec<f64>,
    scale: DistanceScale,
}

impl Twin {
    fn new(case: &Case, values: &[f64]) -> Twin {
        let query = Query::new(case.cells, values);
        let scale = DistanceScale::new(case.metric, query.squared_norm());
        Twin { metric: case.metric, query, values: values.to_vec(), scale }
    }

    fn row_distance(&self, values: &[f64]) -> f64 {
        let mut row = Vec::new();
        values.iter().for_each(|value| self.query.cells().write(*value, &mut row));
        let dot = || self.query.dot(&row);
        let distance = match self.metric {
            DistanceMetric::Euclidean => self.query.squared_euclidean(&row),
            DistanceMetric::Angular => {
                let squares = self.query.squared_norm() * squared_norm(self.query.cells(), &row);
                let quotient = dot() / if squares > 0.0 { squares.sqrt() } else { 1.0 };
                if quotient.is_nan() { f64::NAN } else { 1.0 - quotient.clamp(-1.0, 1.0) }
            }
            DistanceMetric::PrenormalizedAngular => {
                let norm = self.query.squared_norm();
                (if norm > 0.0 { norm } else { 1.0 }) - dot()
            }
            DistanceMetric::DotProduct => -dot(),
            DistanceMetric::Hamming => self.query.hamming(&row),
            DistanceMetric::GeoDegrees => haversine(self.values[0], self.values[1], values[0], values[1]),
        };
        let plain = plain_distance(self.metric, self.query.cells(), &self.values, values);
        assert!(plain.is_none_or(|(plain, slack)| (plain - distance).abs() <= slack), "{distance} is not {plain:?}");
        distance
    }

    /// Of several rows the nearest; a number is nearer than none.
    fn distance(&self, document: &Document) -> Option<f64> {
        let distances = document.rows.iter().map(|row| self.row_distance(row));
        distances.reduce(|a, b| if b.is_nan() || a <= b { a } else { b })
    }

    fn closeness(&self, document: &Document) -> f64 {
        match self.distance(document) {
            Some(distance) => self.scale.to_closeness(distance),
            None if self.metric == DistanceMetric::DotProduct => -f64::MAX,
            None => 0.0,
        }
    }

    /// The nearest `k` of some documents that are not farther than `threshold` (internal).
    fn nearest<'a>(&self, among: Vec<&'a Document>, k: usize, threshold: f64) -> Vec<&'a Document> {
        let mut measured: Vec<(u64, &Document)> = Vec::new();
        for document in among {
            let Some(distance) = self.distance(document) else { continue };
            if distance <= threshold || threshold == f64::INFINITY {
                measured.push((if distance.is_nan() { u64::MAX } else { score_key(distance) }, document));
            }
        }
        measured.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.id.cmp(&b.1.id)));
        measured.into_iter().take(k).map(|(_, document)| document).collect()
    }

    /// A threshold in the units of `distance()` that stands well between two of the documents, with its internal value.
    fn threshold(&self, documents: &[Document], at: usize) -> Option<(f64, f64)> {
        let mut all: Vec<f64> = documents.iter().filter_map(|document| self.distance(document)).collect();
        all.retain(|distance| distance.is_finite());
        all.sort_by(f64::total_cmp);
        let (a, b) = (*all.get(at % all.len().max(1))?, *all.get(at % all.len().max(1) + 1)?);
        let shown = |internal| self.scale.to_distance(internal);
        let (low, high) = (shown(a), shown(b));
        let apart = low.is_finite() && high.abs() < 1e300 && high - low > 1e-6 * (low.abs() + high.abs());
        apart.then_some((low + (high - low) / 2.0, a + (b - a) / 2.0))
    }
}

/// The distance by plain loops over float64, and how far the kernel may be from it; nothing if it leaves the numbers.
fn plain_distance(metric: DistanceMetric, cells: Cells, query: &[f64], row: &[f64]) -> Option<(f64, f64)> {
    let sum = |of: &dyn Fn(f64, f64) -> f64| query.iter().zip(row).map(|(a, b)| of(*a, *b)).sum::<f64>();
    let error = if cells == Cells::Float64 { 1e-12 } else { 1e-4 };
    let dot = sum(&|a, b| a * b);
    let norms = (sum(&|a, _| a * a), sum(&|_, b| b * b));
    let dot_slack = error * sum(&|a, b| (a * b).abs()) + 1e-30;
    let limit = if cells == Cells::Float64 { 1e300 } else { 1e37 };
    if norms.0 > limit || norms.1 > limit || sum(&|a, b| (a - b) * (a - b)) > limit {
        return None;
    }
    // Cells below 2⁻⁶³ count as zero: products of such with others are lost.
    let tiny = 2f64.powi(-63) * sum(&|a, b| a.abs() + b.abs());
    Some(match metric {
        DistanceMetric::Euclidean => {
            let squares = sum(&|a, b| (a - b) * (a - b));
            (squares, error * squares + 4.0 * tiny + 1e-30)
        }
        DistanceMetric::DotProduct => (-dot, dot_slack + tiny),
        DistanceMetric::PrenormalizedAngular if norms.0 > 1e-20 => (norms.0 - dot, error * norms.0 + dot_slack + tiny),
        DistanceMetric::Angular if norms.0 > 1e-20 && norms.1 > 1e-20 => {
            (1.0 - dot / (norms.0 * norms.1).sqrt(), error + (dot_slack + tiny) / (norms.0 * norms.1).sqrt())
        }
        DistanceMetric::Hamming if cells == Cells::Int8 => {
            (sum(&|a, b| f64::from((a as i8 ^ b as i8).count_ones())), 0.0)
        }
        _ => return None,
    })
}

/// An expected answer: documents with their scores.
type Expected<'a> = Vec<(&'a Document, f64)>;

impl Group {
    fn search(&self, condition: &str, profile: &str, hits: usize, more: &[(&str, &str)]) -> Answer {
        let yql = format!("select * from item where {condition}");
        let (q, r, hits) = (numbers(&self.query), numbers(&self.other), hits.to_string());
        let mut parameters = vec![
            ("yql", yql.as_str()),
            ("ranking", profile),
            ("input.query(q)", &q),
            ("input.query(r)", &r),
            ("input.query(w)", "3.5"),
            ("hits", &hits),
            ("timeout", "60s"),
        ];
        parameters.extend_from_slice(more);
        let answer = self.host.search(KEY, &parameters);
        assert_eq!(answer.status, 200, "{condition}: {}", answer.json);
        assert!(answer.json["root"]["errors"].is_null(), "{condition}: {}", answer.json);
        answer
    }

    /// Compares an answer with what is expected, as far as `hits` go.
    fn check(&self, condition: &str, profile: &str, hits: usize, more: &[(&str, &str)], mut expected: Expected<'_>) {
        let answer = self.search(condition, profile, hits, more);
        let score = |score: f64| if score.is_finite() { score } else { f64::NEG_INFINITY };
        expected.sort_by(|a, b| score_key(score(b.1)).cmp(&score_key(score(a.1))).then_with(|| a.0.id.cmp(&b.0.id)));
        assert_eq!(answer.json["root"]["fields"]["totalCount"], expected.len(), "{condition} {profile}");
        expected.truncate(hits);
        let wanted: Vec<(&str, u64)> =
            expected.iter().map(|(d, s)| (d.id.as_str(), (score(*s) + 0.0).to_bits())).collect();
        let ids = ids(&answer);
        let got = ids.iter().enumerate().map(|(at, id)| (id.as_str(), (relevance(&answer, at) + 0.0).to_bits()));
        assert_eq!(got.collect::<Vec<_>>(), wanted, "{condition} {profile} hits={hits}");
    }

    fn scored<'a>(&self, twin: &Twin, documents: Vec<&'a Document>) -> Expected<'a> {
        documents.into_iter().map(|document| (document, twin.closeness(document))).collect()
    }
}

fn relevance(answer: &Answer, at: usize) -> f64 {
    number(&answer.json["root"]["children"][at]["relevance"])
}

fn number(value: &serde_json::Value) -> f64 {
    match value.as_str() {
        Some("-Infinity") => f64::NEG_INFINITY,
        Some("Infinity") => f64::INFINITY,
        Some("NaN") => f64::NAN,
        _ => value.to_string().parse().expect("a number"),
    }
}

fn matches_the_nearest(case: &Case) {
    let group = group(case);
    let twin = Twin::new(case, &group.query);
    let (k, all) = (case.target_hits, || group.documents.iter().collect::<Vec<_>>());
    let filtered = || group.documents.iter().filter(|document| document.year < 7).collect::<Vec<_>>();
    // So few that their codes are not looked at.
    let few = || group.documents.iter().filter(|document| document.year == 3).collect::<Vec<_>>();
    let near = format!("({{targetHits:{k}}}nearestNeighbor(vec,q))");
    for hits in [400, case.hits] {
        let check = |condition: &str, expected| group.check(condition, "near", hits, &[], expected);
        check(&near, group.scored(&twin, twin.nearest(all(), k, f64::INFINITY)));
        check(&format!("{near} and year < 7"), group.scored(&twin, twin.nearest(filtered(), k, f64::INFINITY)));
        check(&format!("{near} and year = 3"), group.scored(&twin, twin.nearest(few(), k, f64::INFINITY)));
        let mut either = twin.nearest(all(), k, f64::INFINITY);
        either.extend(group.documents.iter().filter(|document| document.invoice));
        either.sort_by(|a, b| a.id.cmp(&b.id));
        either.dedup_by(|a, b| a.id == b.id);
        check(&format!("{near} or title contains 'invoice'"), group.scored(&twin, either));
        check(&format!("rank(year < 7, {near})"), group.scored(&twin, filtered()));
    }
}

/// Norms that overflow: no distance is a number, and none is nearer than another.
#[test]
fn what_overflows_may_be_anything() {
    for (documents, target_hits, seed) in [(5, 2, 2_927_448_176_512_193_180), (24, 1, 7), (90, 3, 8)] {
        let (metric, cells, shape) = (DistanceMetric::PrenormalizedAngular, Cells::Float32, Shape::Huge);
        let (size, mapped, each, resident, folds, hits) = (32, false, false, false, 0, 1);
        matches_the_nearest(&Case {
            metric,
            cells,
            size,
            mapped,
            each,
            shape,
            documents,
            target_hits,
            hits,
            folds,
            resident,
            seed,
        });
    }
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn an_operator_matches_the_nearest(case in cases()) {
        matches_the_nearest(&case);
    }

    #[test]
    fn neighbours_whose_intervals_overlap_are_told_apart(case in close_cases()) {
        matches_the_nearest(&case);
    }

    #[test]
    fn a_threshold_cuts_and_a_not_takes_away(case in cases()) {
        let group = group(&case);
        let (twin, other) = (Twin::new(&case, &group.query), Twin::new(&case, &group.other));
        let (k, all) = (case.target_hits, || group.documents.iter().collect::<Vec<_>>());
        if let Some((shown, internal)) = twin.threshold(&group.documents, case.target_hits) {
            let expected = twin.nearest(all(), k, internal);
            let near = format!("({{targetHits:{k},distanceThreshold:{shown:?}}}nearestNeighbor(vec,q))");
            group.check(&near, "near", case.hits, &[], group.scored(&twin, expected));
        }
        if let Some((shown, internal)) = other.threshold(&group.documents, case.target_hits) {
            let away = other.nearest(all(), usize::MAX, internal);
            let left: Vec<&Document> =
                group.documents.iter().filter(|document| !away.iter().any(|gone| gone.id == document.id)).collect();
            let far = format!("({{targetHits:1,distanceThreshold:{shown:?}}}nearestNeighbor(vec,r))");
            let invoices = left.iter().copied().filter(|document| document.invoice).collect::<Vec<_>>();
            let expected = invoices.into_iter().map(|document| (document, 0.0)).collect();
            group.check(&format!("title contains 'invoice' and !{far}"), "near", case.hits, &[], expected);
            let expected = group.scored(&twin, twin.nearest(left, k, f64::INFINITY));
            let both = format!("({{targetHits:{k}}}nearestNeighbor(vec,q)) and !{far}");
            group.check(&both, "near", case.hits, &[], expected);
        }
    }

    #[test]
    fn a_bounded_score_is_the_plain_one(case in cases(), drop_at in 0usize..60) {
        let group = group(&case);
        let near = format!("({{targetHits:{}}}nearestNeighbor(vec,q))", case.target_hits);
        let either = format!("{near} or title contains 'invoice'");
        let ranked = format!("rank(true, {near})");
        let both = format!("({near} or year > 10) and title contains 'invoice'");
        let except = format!("true and !({near} and title contains 'invoice')");
        for condition in [near, either, ranked, both, except] {
            let parts = group.search(&condition, "parts", 400, &[]);
            let children = parts.json["root"]["children"].as_array().cloned().unwrap_or_default();
            let mut expected: Expected<'_> = Vec::new();
            for hit in &children {
                let feature = |name: &str| number(&hit["fields"]["matchfeatures"][name]);
                let score = 3.5 * feature("closeness(field,vec)") + feature("bm25(title)") + feature("attribute(year)");
                let document = group.documents.iter().find(|document| hit["id"] == document.id.as_str());
                // What is no number, or none that can be compared, ranks last.
                let score = if score.is_finite() { score } else { f64::NEG_INFINITY };
                expected.push((document.expect("a document that was put"), score));
            }
            prop_assert_eq!(parts.json["root"]["fields"]["totalCount"].as_u64(), Some(children.len() as u64));
            group.check(&condition, "hybrid", case.hits, &[], expected.clone());
            // Dropping at a score that a document has exactly: at the limit counts as below it.
            let limit = expected.get(drop_at).map(|(_, score)| *score).filter(|score| score.is_finite());
            if let Some(limit) = limit {
                expected.retain(|(_, score)| *score > limit);
                let limit = format!("{limit:?}");
                group.check(&condition, "hybrid", case.hits, &[("ranking.rankScoreDropLimit", &limit)], expected);
            }
        }
    }
}

/// A tail may grow while nobody folds it: it is searched as several segments then.
#[test]
fn a_tail_of_more_documents_than_a_segment_has_is_searched() {
    let case = Case {
        metric: DistanceMetric::Euclidean,
        cells: Cells::Float32,
        size: 1,
        mapped: true,
        each: false,
        shape: Shape::Gaussian,
        documents: brooklet_task::limits::SEGMENT_DOCUMENTS + 600,
        target_hits: 50,
        hits: 50,
        folds: 0,
        resident: true,
        seed: 11,
    };
    let group = group(&case);
    let twin = Twin::new(&case, &group.query);
    let expected = twin.nearest(group.documents.iter().collect(), 50, f64::INFINITY);
    group.check("({targetHits:50}nearestNeighbor(vec,q))", "near", 50, &[], group.scored(&twin, expected));
}
