//! Bounded selection against sorting.

use crate::config;
use brooklet_kernel::{TopK, score_key};
use proptest::prelude::*;
use std::cmp::Reverse;

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn the_best_are_kept(scores in prop::collection::vec(0u8..40, 0..400), limit in 0usize..30) {
        let mut top = TopK::new(limit);
        for (document, score) in scores.iter().enumerate() {
            let entry = (*score, Reverse(document));
            let refused = top.threshold().is_some_and(|threshold| entry <= *threshold);
            top.push(entry);
            if refused {
                let better = scores[..document].iter().enumerate().filter(|(other, score)| (**score, Reverse(*other)) > entry);
                prop_assert!(better.count() >= limit);
            }
        }
        let mut expected: Vec<_> = scores.iter().enumerate().map(|(document, score)| (*score, Reverse(document))).collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        expected.truncate(limit);
        top.tighten();
        prop_assert_eq!(top.threshold(), expected.get(limit.wrapping_sub(1)));
        prop_assert_eq!(top.into_sorted(), expected);
    }

    #[test]
    fn score_keys_order_scores(a: f64, b: f64) {
        prop_assert_eq!(score_key(a).cmp(&score_key(b)), a.partial_cmp(&b).expect("proptest makes no NaN here"));
    }
}

#[test]
fn score_keys_of_special_values() {
    let ascending = [f64::NAN, f64::NEG_INFINITY, f64::MIN, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY];
    assert!(ascending.windows(2).all(|pair| score_key(pair[0]) < score_key(pair[1])));
    assert_eq!(score_key(-0.0), score_key(0.0));
    assert_eq!(score_key(-f64::NAN), score_key(f64::NAN));
}
