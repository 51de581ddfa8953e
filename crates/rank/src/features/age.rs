//! `age` and `freshness`: arithmetic on times that the search crate reads from attributes and the clock.
//!
//! age = max(0, now − time) seconds; freshness = max(0, 1 − age/maxAge);
//! logscale = (ln(m+s) − ln(age+s)) / (ln(m+s) − ln(s)) with m = maxAge, h = halfResponse, s = h²/(m−2h) and age held
//! within 0…m, so that it is 1 now, ½ at h and 0 at m.

use super::properties::Properties;
use crate::features::environment::FeatureEnvironment;
use brooklet_task::Rejection;

/// Seconds between a document's time (integer seconds) and now, never negative; an unset time is the distance from the
/// least 64-bit number, about 9.22e18.
#[must_use]
pub fn age(now_seconds: i64, time_seconds: Option<i64>) -> f64 {
    let time = time_seconds.unwrap_or(i64::MIN);
    (i128::from(now_seconds) - i128::from(time)).max(0) as f64
}

/// The curve by which `freshness(field)` falls with age.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Freshness {
    max_age: f64,
    half_response: f64,
    shift: f64,
}

impl Freshness {
    /// Limits in seconds: those below 1 become 1, and a half response must lie before half of the maximum age.
    #[must_use]
    pub fn new(max_age: f64, half_response: f64) -> Freshness {
        let max_age = max_age.max(1.0);
        let mut half_response = half_response.max(1.0);
        if half_response >= max_age / 2.0 {
            half_response = max_age / 2.0 - 1.0;
        }
        let shift = half_response * half_response / (max_age - 2.0 * half_response);
        Freshness { max_age, half_response, shift }
    }

    /// The settings of `freshness(field)` in the rank properties: `freshness(field).maxAge` (90 days) and
    /// `.halfResponse` (7 days).
    ///
    /// # Errors
    /// If a property is not a number.
    pub fn from_properties(field: &str, environment: &FeatureEnvironment<'_>) -> Result<Freshness, Rejection> {
        let properties = Properties::new(environment, format!("freshness({field})"));
        Ok(Freshness::new(properties.number("maxAge", 7_776_000.0)?, properties.number("halfResponse", 604_800.0)?))
    }

    /// Falls evenly from 1 (now) to 0 (the maximum age and beyond).
    #[must_use]
    pub fn linear(&self, age: f64) -> f64 {
        (1.0 - age / self.max_age).max(0.0)
    }

    /// Falls fast at first: ½ at the half response.
    #[must_use]
    pub fn logscale(&self, age: f64) -> f64 {
        if age <= 0.0 {
            return 1.0;
        }
        if age >= self.max_age {
            return 0.0;
        }
        let end = libm::log(self.max_age + self.shift);
        (end - libm::log(age + self.shift)) / (end - libm::log(self.shift))
    }

    /// The age at which [`Freshness::logscale`] is ½, seconds.
    #[must_use]
    pub const fn half_response(&self) -> f64 {
        self.half_response
    }
}
