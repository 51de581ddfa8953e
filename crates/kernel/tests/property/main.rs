//! Properties of the kernels, each against a slow twin written from its definition.

mod bits;
mod bounds;
mod codes;
mod exact;
mod extreme;
mod naive;
mod scan;
mod selection;
mod vectors;

use proptest::prelude::ProptestConfig;

/// As many cases as `PROPTEST_CASES` says, else `cases`.
fn config(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}
