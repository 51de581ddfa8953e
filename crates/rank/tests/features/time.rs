//! age and freshness.

use crate::fixture::{Fixture, assert_close};
use brooklet_rank::features::FeatureEnvironment;
use brooklet_rank::features::age::{Freshness, age};
use brooklet_rank::match_data::QueryTerms;

const DAY: f64 = 86_400.0;

#[test]
fn age_is_never_negative_and_huge_if_unset() {
    assert_close(age(1_000, Some(400)), 600.0, "past");
    assert_close(age(1_000, Some(4_000)), 0.0, "future");
    assert!((age(1_700_000_000, None) / 9.223_372_038e18 - 1.0).abs() < 1e-9);
    assert!(age(i64::MAX, Some(i64::MIN)).is_finite());
}

#[test]
fn freshness_falls_from_one_to_zero() {
    let freshness = Freshness::new(90.0 * DAY, 7.0 * DAY);
    assert_close(freshness.linear(0.0), 1.0, "now");
    assert_close(freshness.linear(45.0 * DAY), 0.5, "half way");
    assert_close(freshness.linear(91.0 * DAY), 0.0, "old");
    assert_close(freshness.logscale(0.0), 1.0, "now");
    assert_close(freshness.logscale(7.0 * DAY), 0.5, "at the half response");
    assert_close(freshness.logscale(90.0 * DAY), 0.0, "old");
    assert_close(freshness.logscale(age(0, None)), 0.0, "unset");
    assert_close(freshness.linear(age(0, None)), 0.0, "unset");
}

#[test]
fn odd_settings_are_held_in_bounds() {
    let late = Freshness::new(100.0, 80.0);
    assert_close(late.half_response(), 49.0, "before the middle");
    assert_close(late.logscale(49.0), 0.5, "there it is a half");
    for (max_age, half_response) in [(0.0, 0.0), (1.0, 5.0), (2.0, 1.0), (3.0, -7.0), (4.0, 1.0)] {
        let freshness = Freshness::new(max_age, half_response);
        for age in [0.0, 0.5, 1.0, 2.0, 3.0, 10.0] {
            let (linear, logscale) = (freshness.linear(age), freshness.logscale(age));
            assert!(
                (0.0..=1.0).contains(&linear) && (0.0..=1.0).contains(&logscale),
                "{max_age} {half_response} {age}"
            );
        }
    }
}

#[test]
fn settings_come_from_the_properties_of_the_field() {
    let fixture = Fixture::default().property("freshness(created).maxAge", "100");
    let query = QueryTerms::default();
    let environment = FeatureEnvironment::new(&[], &query, &fixture.properties);
    let freshness = Freshness::from_properties("created", &environment).unwrap();
    assert_close(freshness.linear(25.0), 0.75, "of 100");
    assert_close(Freshness::from_properties("other", &environment).unwrap().linear(45.0 * DAY), 0.5, "of 90 days");
}
