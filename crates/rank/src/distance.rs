//! Distances between a query vector and a document vector: the three scales a nearest-neighbour metric has, and the
//! way between them. The sums over vectors are the kernel's; here are only the scalar conversions.
//!
//! * the **internal** distance is what scanning compares: cheap, smaller is closer;
//! * the **closeness** (also the raw score of a hit) is what `closeness(field,f)` shows: larger is closer;
//! * the **distance** is what `distance(field,f)` and `distanceThreshold` are given in: smaller is closer.
//!
//! Every conversion is monotonic ([`DistanceScale::to_closeness`] falls, the others rise with their argument), also
//! after rounding: sums, quotients and square roots round monotonically, and `acos`, `asin` and `cos` are kept in step
//! by [`Interval`] widening. So a range of internal distances maps to a range by its ends.

use crate::interval::Interval;
use core::f64::consts::{FRAC_PI_2, PI};

/// Mean radius of the earth, kilometres.
pub const EARTH_RADIUS_KM: f64 = 6_371.008_8;

/// What `closeness` is for a document without a vector, and the least it can be for any metric but `dotproduct`.
pub const NO_CLOSENESS: f64 = 0.0;

/// What `distance` is when the query has no nearestNeighbor for the field, or the document has no vector.
pub const NO_DISTANCE: f64 = f64::MAX;

/// How far apart two vectors are (`distance-metric` of a schema).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DistanceMetric {
    /// Square root of the sum of squared differences.
    Euclidean,
    /// Angle between the vectors, radians.
    Angular,
    /// One minus the cosine, for vectors known to have the length of the query's.
    PrenormalizedAngular,
    /// Minus the dot product: the largest product is closest.
    DotProduct,
    /// Bits (of int8 cells) or cells that differ.
    Hamming,
    /// Kilometres between two (latitude, longitude) in degrees.
    GeoDegrees,
}

impl DistanceMetric {
    /// All metrics.
    pub const ALL: [DistanceMetric; 6] = [
        DistanceMetric::Euclidean,
        DistanceMetric::Angular,
        DistanceMetric::PrenormalizedAngular,
        DistanceMetric::DotProduct,
        DistanceMetric::Hamming,
        DistanceMetric::GeoDegrees,
    ];

    /// The metric a schema calls `name`; `innerproduct` is the old name of `prenormalized-angular`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<DistanceMetric> {
        let name = if name == "innerproduct" { "prenormalized-angular" } else { name };
        DistanceMetric::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Its name in a schema.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DistanceMetric::Euclidean => "euclidean",
            DistanceMetric::Angular => "angular",
            DistanceMetric::PrenormalizedAngular => "prenormalized-angular",
            DistanceMetric::DotProduct => "dotproduct",
            DistanceMetric::Hamming => "hamming",
            DistanceMetric::GeoDegrees => "geodegrees",
        }
    }

    /// The closeness of a document that has no vector.
    #[must_use]
    pub const fn closeness_without_vector(self) -> f64 {
        match self {
            DistanceMetric::DotProduct => -f64::MAX,
            _ => NO_CLOSENESS,
        }
    }
}

/// A metric bound to one query vector: converts between the three scales.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistanceScale {
    metric: DistanceMetric,
    /// Squared length of the query vector; only prenormalized-angular uses it, and never as zero.
    query_norm_squared: f64,
}

impl DistanceScale {
    /// The scales of `metric` for a query vector whose squared length (summed in the field's cell type) is given; it
    /// only matters to `prenormalized-angular`, where a length that is not positive counts as 1.
    #[must_use]
    pub fn new(metric: DistanceMetric, query_norm_squared: f64) -> DistanceScale {
        let query_norm_squared = if query_norm_squared > 0.0 { query_norm_squared } else { 1.0 };
        DistanceScale { metric, query_norm_squared }
    }

    /// Its metric.
    #[must_use]
    pub const fn metric(&self) -> DistanceMetric {
        self.metric
    }

    /// The squared length of the query vector that the internal distance of `prenormalized-angular` must use.
    #[must_use]
    pub const fn query_norm_squared(&self) -> f64 {
        self.query_norm_squared
    }

    /// Closeness (raw score) of an internal distance. Falls as the distance rises.
    #[must_use]
    pub fn to_closeness(&self, internal: f64) -> f64 {
        match self.metric {
            DistanceMetric::Euclidean => 1.0 / (1.0 + internal.sqrt()),
            DistanceMetric::Angular => 1.0 / (1.0 + libm::acos(within_cosine(1.0 - internal))),
            DistanceMetric::PrenormalizedAngular => {
                let dot = self.query_norm_squared - internal;
                1.0 / (1.0 + (1.0 - within_cosine(dot / self.query_norm_squared)))
            }
            DistanceMetric::DotProduct => -internal,
            DistanceMetric::Hamming => 1.0 / (1.0 + internal),
            DistanceMetric::GeoDegrees => 1.0 / (1.0 + haversine_to_km(internal)),
        }
    }

    /// The distance a hit of this closeness shows. Falls as the closeness rises; a document without a vector is at
    /// [`NO_DISTANCE`].
    #[must_use]
    pub fn closeness_to_distance(&self, closeness: f64) -> f64 {
        match self.metric {
            DistanceMetric::DotProduct => -closeness,
            _ => (1.0 / closeness - 1.0).min(NO_DISTANCE),
        }
    }

    /// The distance shown for an internal distance, by way of its closeness as ranking does. Rises with it.
    #[must_use]
    pub fn to_distance(&self, internal: f64) -> f64 {
        self.closeness_to_distance(self.to_closeness(internal))
    }

    /// The internal distance a `distanceThreshold` stands for. Rises with it, but for negative euclidean thresholds:
    /// those count as positive, because they are squared.
    #[must_use]
    pub fn threshold_to_internal(&self, threshold: f64) -> f64 {
        match self.metric {
            DistanceMetric::Euclidean => threshold * threshold,
            DistanceMetric::Angular => 1.0 - libm::cos(threshold.clamp(0.0, PI)),
            DistanceMetric::PrenormalizedAngular => {
                self.query_norm_squared - (1.0 - threshold) * self.query_norm_squared
            }
            DistanceMetric::DotProduct | DistanceMetric::Hamming => threshold,
            DistanceMetric::GeoDegrees => km_to_haversine(threshold),
        }
    }

    /// Bounds of the closeness of every internal distance within bounds. Those of angles are a little wider than need be:
    /// an interval of distances is wide, and an arc cosine to the last digit dear.
    #[must_use]
    pub fn closeness_interval(&self, internal: Interval) -> Interval {
        match self.angles(internal) {
            Some(angles) => Interval::between(1.0 / (1.0 + angles.hi), 1.0 / (1.0 + angles.lo)),
            None => self.map_interval(internal, |distance| self.to_closeness(distance)),
        }
    }

    /// Bounds of the distance of every internal distance within bounds, of angles likewise.
    #[must_use]
    pub fn distance_interval(&self, internal: Interval) -> Interval {
        self.angles(internal).unwrap_or_else(|| self.map_interval(internal, |distance| self.to_distance(distance)))
    }

    /// Bounds of the angles of internal distances, if these are several numbers and of angles.
    fn angles(&self, internal: Interval) -> Option<Interval> {
        let are_several = internal.lo < internal.hi && !internal.may_be_nan;
        (are_several && self.metric == DistanceMetric::Angular).then(|| {
            let (least, most) = (angle_about(1.0 - internal.lo), angle_about(1.0 - internal.hi));
            Interval::between((least - ANGLE_ERROR).max(0.0), most + ANGLE_ERROR)
        })
    }

    /// Bounds of a monotonic conversion: its values at both ends, and for NaN.
    fn map_interval(&self, internal: Interval, convert: impl Fn(f64) -> f64) -> Interval {
        let mut bounds = Interval::exactly(f64::NAN);
        bounds.may_be_nan = false;
        if internal.lo <= internal.hi {
            // Bounds may be looser than distances can be: below zero there are none to convert.
            let least = match self.metric {
                DistanceMetric::Euclidean | DistanceMetric::Hamming => 0.0,
                _ => f64::NEG_INFINITY,
            };
            let ends = [convert(internal.lo.max(least)), convert(internal.hi.max(least))];
            bounds = self.widen(ends[0].min(ends[1]), ends[0].max(ends[1]));
        }
        if internal.may_be_nan {
            let of_nan = convert(f64::NAN);
            bounds.may_be_nan = of_nan.is_nan();
            bounds.lo = bounds.lo.min(of_nan);
            bounds.hi = bounds.hi.max(of_nan);
        }
        bounds
    }

    /// Where `acos` or `asin` took part, neighbouring arguments may come out in the wrong order by a rounding error.
    fn widen(&self, low: f64, high: f64) -> Interval {
        match self.metric {
            DistanceMetric::Angular | DistanceMetric::GeoDegrees => {
                Interval::between(low - (1.0 + low.abs()) * SLACK, high + (1.0 + high.abs()) * SLACK)
            }
            _ => Interval::between(low, high),
        }
    }
}

/// Half of the earth's circumference: nothing is farther, kilometres.
const HALF_CIRCUMFERENCE_KM: f64 = EARTH_RADIUS_KM * PI;

/// Relative slack (of one plus the value) that covers the rounding of `acos` and `asin`, which is below one unit in the
/// last place, and of the few operations after them.
const SLACK: f64 = 16.0 * f64::EPSILON;

/// What [`angle_about`] may be wrong by at most, radians, and a third more.
const ANGLE_ERROR: f64 = 9e-5;

/// The angle of a cosine by a polynomial (Abramowitz and Stegun 4.4.45, whose error is below 6.7·10⁻⁵).
fn angle_about(cosine: f64) -> f64 {
    let cosine = within_cosine(cosine);
    let size = cosine.abs();
    let sum = 1.570_728_8 + size * (-0.212_114_4 + size * (0.074_261 - size * 0.018_729_3));
    let angle = (1.0 - size).sqrt() * sum;
    if cosine < 0.0 { PI - angle } else { angle }
}

/// Rounding may carry a cosine out of its range; NaN becomes 1, as minimum and maximum prefer numbers.
fn within_cosine(cosine: f64) -> f64 {
    if cosine.is_nan() { 1.0 } else { cosine.clamp(-1.0, 1.0) }
}

/// Internal `geodegrees` distance: the haversine of the central angle between two places given in degrees.
#[must_use]
pub fn haversine(latitude_a: f64, longitude_a: f64, latitude_b: f64, longitude_b: f64) -> f64 {
    const RADIANS_PER_DEGREE: f64 = PI / 180.0;
    let half_sine_squared = |angle: f64| {
        let sine = libm::sin(0.5 * angle);
        sine * sine
    };
    let (latitude_a, latitude_b) = (latitude_a * RADIANS_PER_DEGREE, latitude_b * RADIANS_PER_DEGREE);
    let (longitude_a, longitude_b) = (longitude_a * RADIANS_PER_DEGREE, longitude_b * RADIANS_PER_DEGREE);
    let from_latitude = half_sine_squared(latitude_a - latitude_b);
    let from_longitude = half_sine_squared(longitude_a - longitude_b);
    from_latitude + libm::cos(latitude_a) * libm::cos(latitude_b) * from_longitude
}

/// Kilometres along the surface for a haversine; rounding beyond 1 counts as 1 (the antipode).
#[must_use]
pub fn haversine_to_km(haversine: f64) -> f64 {
    let root = haversine.max(0.0).sqrt();
    let half_angle = if root < 1.0 { libm::asin(root) } else { FRAC_PI_2 };
    2.0 * half_angle * EARTH_RADIUS_KM
}

/// The haversine of a distance along the surface, which is held between nothing and half the circumference.
#[must_use]
pub fn km_to_haversine(km: f64) -> f64 {
    let root = libm::sin(0.5 * km.clamp(0.0, HALF_CIRCUMFERENCE_KM) / EARTH_RADIUS_KM);
    root * root
}
