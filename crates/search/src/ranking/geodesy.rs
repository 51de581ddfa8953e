//! Distances along the surface of the Earth.
use std::f64::consts::PI;

use brooklet_rank::distance::{EARTH_RADIUS_KM, haversine, haversine_to_km};

/// Micro-degrees from the nearest of some places to the nearest position (longitude and latitude in micro-degrees);
/// nothing if there is none on either side.
pub(crate) fn microdegrees_between(places: &[(f64, f64)], positions: &[(i32, i32)]) -> Option<f64> {
    let nearest = nearest(places, positions);
    (nearest.index >= 0.0).then_some(nearest.microdegrees)
}

pub(crate) const MICRODEGREES_PER_KM: f64 = 1e6 * 180.0 / (PI * EARTH_RADIUS_KM);

/// The nearest of a document's places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nearest {
    pub(crate) index: f64,
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
    pub(crate) microdegrees: f64,
    pub(crate) km: f64,
}

/// What holds where there is no place on either side.
pub(crate) const NOWHERE: Nearest =
    Nearest { index: -1.0, latitude: 90.0, longitude: -180.0, microdegrees: 6_400_000_000.0, km: 40_000.0 };

/// The first of the nearest of the positions (longitude and latitude in micro-degrees).
pub(crate) fn nearest(places: &[(f64, f64)], positions: &[(i32, i32)]) -> Nearest {
    let mut best = NOWHERE;
    for (latitude, longitude) in places {
        for (index, (x, y)) in positions.iter().enumerate() {
            let (lat, lng) = (f64::from(*y) / 1e6, f64::from(*x) / 1e6);
            let km = haversine_to_km(haversine(*latitude, *longitude, lat, lng));
            if best.index < 0.0 || km < best.km {
                let microdegrees = km * MICRODEGREES_PER_KM;
                best = Nearest { index: index as f64, latitude: lat, longitude: lng, microdegrees, km };
            }
        }
    }
    best
}
