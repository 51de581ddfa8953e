//! The scales of the distance metrics.

use crate::fixture::{assert_close, cases_of};
use brooklet_rank::distance::{
    DistanceMetric, DistanceScale, NO_DISTANCE, haversine, haversine_to_km, km_to_haversine,
};
use brooklet_rank::interval::Interval;
use proptest::prelude::*;
use std::f64::consts::{FRAC_PI_2, PI};

fn scale(metric: DistanceMetric) -> DistanceScale {
    DistanceScale::new(metric, 4.0)
}

#[test]
fn names_round_trip() {
    for metric in DistanceMetric::ALL {
        assert_eq!(DistanceMetric::from_name(metric.name()), Some(metric));
    }
    assert_eq!(DistanceMetric::from_name("innerproduct"), Some(DistanceMetric::PrenormalizedAngular));
    assert_eq!(DistanceMetric::from_name("manhattan"), None);
}

#[test]
fn euclidean() {
    let scale = scale(DistanceMetric::Euclidean);
    assert_close(scale.to_closeness(9.0), 0.25, "closeness");
    assert_close(scale.to_distance(9.0), 3.0, "distance");
    assert_close(scale.threshold_to_internal(3.0), 9.0, "threshold");
    assert_close(scale.threshold_to_internal(-3.0), 9.0, "squared");
}

#[test]
fn angular() {
    let scale = scale(DistanceMetric::Angular);
    // Internal is 1 − cosine.
    assert_close(scale.to_distance(1.0), FRAC_PI_2, "right angle");
    assert_close(scale.to_distance(0.0), 0.0, "same direction");
    assert_close(scale.to_distance(2.0), PI, "opposite");
    assert_close(scale.to_closeness(1.0), 1.0 / (1.0 + FRAC_PI_2), "closeness");
    assert_close(scale.to_distance(-1e-12), 0.0, "rounding below");
    assert_close(scale.to_distance(2.0 + 1e-12), PI, "rounding above");
    assert_close(scale.threshold_to_internal(FRAC_PI_2), 1.0, "threshold");
    assert_close(scale.threshold_to_internal(-1.0), 0.0, "clamped");
    assert_close(scale.threshold_to_internal(9.0), 2.0, "clamped");
}

#[test]
fn prenormalized_angular() {
    let scale = scale(DistanceMetric::PrenormalizedAngular);
    // Internal is |q|² − dot.
    assert_close(scale.to_distance(3.0), 0.75, "1 − dot/|q|²");
    assert_close(scale.to_closeness(3.0), 1.0 / 1.75, "closeness");
    assert_close(scale.to_distance(100.0), 2.0, "clamped");
    assert_close(scale.threshold_to_internal(0.75), 3.0, "threshold");
    let of_nothing = DistanceScale::new(DistanceMetric::PrenormalizedAngular, 0.0);
    assert_close(of_nothing.to_distance(of_nothing.query_norm_squared()), 1.0, "a query without length");
}

#[test]
fn dotproduct() {
    let scale = scale(DistanceMetric::DotProduct);
    // Internal is −dot.
    assert_close(scale.to_closeness(-7.0), 7.0, "closeness");
    assert_close(scale.to_distance(-7.0), -7.0, "distance");
    assert_close(scale.threshold_to_internal(-7.0), -7.0, "threshold");
    assert_eq!(DistanceMetric::DotProduct.closeness_without_vector(), f64::MIN);
}

#[test]
fn hamming() {
    let scale = scale(DistanceMetric::Hamming);
    assert_close(scale.to_closeness(3.0), 0.25, "closeness");
    assert_close(scale.to_distance(3.0), 3.0, "distance");
    assert_close(scale.threshold_to_internal(3.0), 3.0, "threshold");
}

#[test]
fn geodegrees() {
    let scale = scale(DistanceMetric::GeoDegrees);
    // A degree of latitude, a quarter of the equator, the antipode.
    let degree = PI * 6_371.008_8 / 180.0;
    assert_close(scale.to_distance(haversine(10.0, 5.0, 11.0, 5.0)), degree, "one degree");
    assert_close(scale.to_distance(haversine(0.0, 0.0, 0.0, 90.0)), 90.0 * degree, "a quarter");
    assert_close(scale.to_distance(haversine(0.0, 0.0, 0.0, 180.0)), 180.0 * degree, "half");
    assert_close(scale.to_distance(haversine(90.0, 0.0, -90.0, 55.0)), 180.0 * degree, "pole to pole");
    assert_close(scale.threshold_to_internal(90.0 * degree), 0.5, "threshold");
    assert_close(scale.threshold_to_internal(-5.0), 0.0, "clamped");
    assert_close(scale.threshold_to_internal(1e9), 1.0, "clamped");
    // Trondheim to Oslo, by the usual formula: about 392 km.
    let km = haversine_to_km(haversine(63.4305, 10.3951, 59.9139, 10.7522));
    assert!((391.0..393.0).contains(&km), "{km}");
    assert_close(haversine_to_km(km_to_haversine(km)), km, "and back");
}

#[test]
fn a_document_without_a_vector_is_as_far_as_can_be() {
    for metric in DistanceMetric::ALL {
        let distance = scale(metric).closeness_to_distance(metric.closeness_without_vector());
        assert_eq!(distance, NO_DISTANCE, "{}", metric.name());
    }
}

/// The internal distances a metric can have.
fn range(metric: DistanceMetric) -> (f64, f64) {
    match metric {
        DistanceMetric::Euclidean | DistanceMetric::Hamming => (0.0, 1e4),
        DistanceMetric::Angular => (-1e-6, 2.0 + 1e-6),
        DistanceMetric::PrenormalizedAngular => (-1.0, 9.0),
        DistanceMetric::DotProduct => (-1e4, 1e4),
        DistanceMetric::GeoDegrees => (0.0, 1.0),
    }
}

fn cases() -> impl Strategy<Value = (DistanceMetric, [f64; 3])> {
    let exact = || 0.0..=1.0f64;
    let tiny = (exact(), -8..8i32).prop_map(|(part, steps)| part + f64::from(steps) * f64::EPSILON);
    let parts = (exact(), tiny, exact());
    (prop::sample::select(DistanceMetric::ALL.to_vec()), parts).prop_map(|(metric, (a, b, near))| {
        let (low, high) = range(metric);
        let third = if near < 0.5 { a + near * 4e-15 } else { near };
        let mut points = [a, b, third].map(|part| low + part.clamp(0.0, 1.0) * (high - low));
        points.sort_by(f64::total_cmp);
        (metric, points)
    })
}

proptest! {
    #![proptest_config(cases_of(4_000))]

    #[test]
    fn intervals_hold_what_lies_between((metric, [low, middle, high]) in cases()) {
        let scale = scale(metric);
        let internal = Interval::between(low, high);
        let closeness = scale.closeness_interval(internal);
        let value = scale.to_closeness(middle);
        prop_assert!(closeness.lo <= value && value <= closeness.hi, "{value} in {closeness:?}");
        let distance = scale.distance_interval(internal);
        let value = scale.to_distance(middle);
        prop_assert!(distance.lo <= value && value <= distance.hi, "{value} in {distance:?}");
        prop_assert!(!closeness.may_be_nan && !distance.may_be_nan);
    }

    #[test]
    fn thresholds_divide_documents_as_distances_do((metric, [low, _, high]) in cases()) {
        // Apart from rounding at the threshold itself.
        let scale = scale(metric);
        let (near, far) = (scale.to_distance(low), scale.to_distance(high));
        if far - near <= 1e-6 * (1.0 + far.abs()) {
            return Ok(());
        }
        let between = scale.threshold_to_internal(near + (far - near) / 2.0);
        prop_assert!(low <= between && between <= high, "{low} {between} {high}");
    }
}

/// Angles in bounds are approximate: nowhere wrong, and nowhere wider by much.
#[test]
fn bounds_of_angles_are_narrow_everywhere() {
    let scale = scale(DistanceMetric::Angular);
    for step in 0..=200_000 {
        let internal = f64::from(step) * 1e-5;
        let closeness = scale.closeness_interval(Interval::between(internal - 1e-12, internal + 1e-12));
        let exact = scale.to_closeness(internal);
        assert!(closeness.lo <= exact && exact <= closeness.hi, "{exact} in {closeness:?} at {internal}");
        assert!(closeness.hi - closeness.lo < 4e-4, "{closeness:?} at {internal}");
        let distance = scale.distance_interval(Interval::between(internal - 1e-12, internal + 1e-12));
        let exact = scale.to_distance(internal);
        assert!(distance.lo <= exact && exact <= distance.hi, "{exact} in {distance:?} at {internal}");
        assert!(distance.hi - distance.lo < 4e-4, "{distance:?} at {internal}");
    }
}

#[test]
fn bounds_of_not_a_number_hold_what_it_becomes() {
    for metric in DistanceMetric::ALL {
        let scale = scale(metric);
        let unknown = Interval { lo: 0.25, hi: 0.5, may_be_nan: true };
        let value = scale.to_closeness(f64::NAN);
        let closeness = scale.closeness_interval(unknown);
        assert!(if value.is_nan() { closeness.may_be_nan } else { (closeness.lo..=closeness.hi).contains(&value) });
        let value = scale.to_distance(f64::NAN);
        let distance = scale.distance_interval(unknown);
        assert!(if value.is_nan() { distance.may_be_nan } else { (distance.lo..=distance.hi).contains(&value) });
    }
}
