//! A block of documents is scored and bounded as its documents are one at a time, bit by bit, and nothing more is asked.
use std::collections::BTreeSet;

use crate::forests::{Documents, Random, compiled, lightgbm, xgboost};
use brooklet_rank::block::BLOCK;
use brooklet_rank::{BlockScratch, Interval, Program};
use proptest::prelude::*;

const INPUTS: usize = 4;

/// A number as features have it: also missing, whole, nearly zero, at the thresholds of the models.
fn value(random: &mut Random) -> f64 {
    match random.below(10) {
        0 => f64::NAN,
        1 => [0.0, -0.0, 1e-36, -1e-36, 1e-34, 1.0, f64::INFINITY, f64::NEG_INFINITY][random.below(8)],
        2 => random.below(5) as f64,
        3 => random.below(5) as f64 - 0.5,
        _ => random.unit(),
    }
}

fn rows(random: &mut Random, documents: usize) -> Vec<Vec<f64>> {
    (0..documents).map(|_| (0..INPUTS).map(|_| value(random)).collect()).collect()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }).collect()
}

/// Compares a block with its documents one at a time: scores, what was asked, and bounds.
fn compare(what: &str, program: &Program, rows: &[Vec<f64>], scratch: &mut BlockScratch, spread: f64) {
    let mut one_by_one = Documents::new(program, rows);
    let mut alone = program.scratch();
    let scores: Vec<f64> =
        (0..rows.len()).map(|place| program.score(one_by_one.one(place), &mut alone).unwrap()).collect();
    let mut together = Documents::new(program, rows);
    let mut of_block = vec![0.0; rows.len()];
    program.scores(&mut together, scratch, &mut of_block).unwrap();
    assert_eq!(bits(&of_block), bits(&scores), "{what}\n{rows:?}");
    let asked = |documents: &Documents<'_>| documents.asked.iter().copied().collect::<BTreeSet<_>>();
    assert_eq!(asked(&together), asked(&one_by_one), "{what}");

    let mut bounded = Documents::new(program, rows);
    (bounded.dear_from, bounded.spread) = (2, spread);
    let mut intervals = vec![Interval::exactly(0.0); rows.len()];
    let are_known = program.intervals(&mut bounded, scratch, &mut intervals);
    let apart: Vec<Option<Interval>> =
        (0..rows.len()).map(|place| program.interval(bounded.one(place), &mut alone)).collect();
    if !are_known {
        assert!(what.contains("summed"), "{what} has no bounds");
        return;
    }
    for ((interval, apart), score) in intervals.iter().zip(apart).zip(scores) {
        assert!(interval.contains(score), "{what}: {score} is not within {interval:?}");
        // What is known is computed as numbers: bounds may be closer, but not farther.
        let Some(apart) = apart else { continue };
        let within = |of: &Interval| of.lo > of.hi || apart.lo <= of.lo && of.hi <= apart.hi;
        assert!(within(interval), "{what}: {interval:?} is not within {apart:?}");
        assert!(apart.may_be_nan || !interval.may_be_nan, "{what}: {interval:?} may be NaN, {apart:?} may not");
    }
}

/// An expression over the features and functions of the profile, and a model.
fn expression(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(6) == 0 {
        return match random.below(8) {
            0 => "twice".to_owned(),
            1 => "chosen".to_owned(),
            2 => ["0", "1", "0.5", "3"][random.below(4)].to_owned(),
            3 => "lightgbm(\"model.json\")".to_owned(),
            _ => format!("f{}", random.below(INPUTS)),
        };
    }
    let [a, b, c] = [0; 3].map(|_| expression(random, depth - 1));
    match random.below(16) {
        0 => format!("({a} + {b} - {c})"),
        1 => format!("({a} * {b} / {c})"),
        2 => format!("({a} && {b} || {c})"),
        3 => format!("({a} || {b} && {c})"),
        4 => format!("max({a}, min({b}, {c}))"),
        5 => format!("({a} < {b})"),
        6 => format!("(-({a}) == {b})"),
        7 => format!("if({a}, {b}, {c})"),
        8 => format!("if({a} > {b}, {c}, {a})"),
        9 => format!("switch ({a}) {{ case 1: {b}, case {b}: {c}, default: {a} }}"),
        10 => format!("(({a}) in [0, 1, 2])"),
        11 => format!("sqrt({a})"),
        12 => format!("isNan({a})"),
        13 => format!("(pow({a}, 3) / (pow({a}, 3) + {b}))"),
        14 => format!("(exp({a}) * {b} - max(exp({a}), {c}))"),
        _ => format!("log10({a})"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400)))]

    #[test]
    fn forests_add_up_the_same(seed in any::<u64>(), trees in 0usize..12, leaves in 1usize..90, documents in 1usize..=BLOCK) {
        let random = &mut Random::new(seed);
        let rows = rows(random, documents);
        let scratch = &mut BlockScratch::default();
        let light = lightgbm(random, trees, leaves, INPUTS, true);
        compare(&light, &compiled("lightgbm(\"model.json\")", &light), &rows, scratch, 0.3);
        let xg = xgboost(random, trees, leaves, INPUTS);
        compare(&xg, &compiled("xgboost(\"model.json\")", &xg), &rows, &mut BlockScratch::default(), 0.3);
    }

    #[test]
    fn expressions_yield_the_same(seed in any::<u64>(), documents in proptest::collection::vec(1usize..=BLOCK, 1..4)) {
        let random = &mut Random::new(seed);
        let model = lightgbm(random, 3, 9, INPUTS, true);
        let text = expression(random, 4);
        let program = compiled(&text, &model);
        prop_assert!(program.suits_blocks());
        // One block after another, of whatever size.
        let scratch = &mut BlockScratch::default();
        for documents in documents {
            compare(&text, &program, &rows(random, documents), scratch, [0.0, 0.25, 1e300][random.below(3)]);
        }
    }

    #[test]
    fn what_is_made_of_tensors_is_evaluated_in_between(seed in any::<u64>(), documents in 1usize..=BLOCK) {
        let random = &mut Random::new(seed);
        let model = lightgbm(random, 3, 9, INPUTS, true).replace("\"f2\"", "\"summed\"");
        let text = format!("if({}, summed * {}, lightgbm(\"model.json\"))", expression(random, 2), expression(random, 2));
        compare(&text, &compiled(&text, &model), &rows(random, documents), &mut BlockScratch::default(), 0.25);
    }
}

#[test]
fn what_suits_blocks() {
    let suits = |text: &str| compiled(text, "{\"feature_names\":[],\"tree_info\":[]}").suits_blocks();
    assert!(suits("f0 + twice") && suits("if(f0 > 1, chosen, 2)"));
    assert!(!suits("summed"), "nothing is gained where all is tensors");
    assert!(suits("summed + lightgbm(\"model.json\")"));
}

#[test]
fn a_document_that_fails_fails_its_block() {
    // More cells than an evaluation may make, where f0 is above 0.
    let cells = ["x", "x + 1", "x + 2", "x + 3", "x + 4"].map(|cell| format!("sum(tensor(x[4000000])({cell}))"));
    let text = format!("lightgbm(\"model.json\") + if(f0 > 0, {}, 0)", cells.join(" + "));
    let program = compiled(&text, &lightgbm(&mut Random::new(1), 2, 4, INPUTS, false));
    let scratch = &mut BlockScratch::default();
    let mut scores = [0.0; 3];
    let rows = [0.0, 1.0, 0.0].map(|first| vec![first, 0.0, 0.0, 0.0]);
    let mut documents = Documents::new(&program, &rows);
    let alone = program.score(documents.one(1), &mut program.scratch()).unwrap_err();
    assert_eq!(program.scores(&mut documents, scratch, &mut scores), Err(alone));
    // The next block knows nothing of it.
    let fine = [0.0, 0.0].map(|first| vec![first, 0.0, 0.0, 0.0]);
    assert!(program.scores(&mut Documents::new(&program, &fine), scratch, &mut scores[..2]).is_ok());
}
