//! textSimilarity, elementCompleteness and attributeMatch: examples, and second implementations over the texts.

use crate::fixture::{Content, Fixture, assert_close, cases_of, text};
use brooklet_rank::match_data::{Collection, FieldKind};
use proptest::prelude::*;

#[test]
fn text_similarity_of_the_same_text_is_one() {
    let fixture = Fixture::index(&["title"]).query(&["title"], "a b c");
    for output in ["", ".score", ".proximity", ".order", ".queryCoverage", ".fieldCoverage"] {
        assert_close(fixture.value(&format!("textSimilarity(title){output}"), &text("title", "a b c")), 1.0, output);
        assert_close(fixture.value(&format!("textSimilarity(title){output}"), &text("title", "x y z")), 0.0, output);
    }
}

#[test]
fn text_similarity_by_hand() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b c");
    fixture.terms[2].weight = 200;
    // Taken: b at 1, a at 3 (out of order), of 5 tokens; c is missing.
    let document = text("title", "x b x a x");
    let proximity = 1.0 - 1.0 / 64.0;
    assert_close(fixture.value("textSimilarity(title).proximity", &document), proximity, "distance 2");
    assert_close(fixture.value("textSimilarity(title).order", &document), 0.0, "a after b");
    assert_close(fixture.value("textSimilarity(title).queryCoverage", &document), 0.5, "200 of 400");
    assert_close(fixture.value("textSimilarity(title).fieldCoverage", &document), 0.4, "2 of 5");
    assert_close(fixture.value("textSimilarity(title)", &document), 0.35 * proximity + 0.15 + 0.08, "score");
    let one = text("title", "x x c x");
    assert_close(fixture.value("textSimilarity(title).proximity", &one), 1.0 - 9.0 / 64.0, "of length 4");
    assert_close(fixture.value("textSimilarity(title).order", &one), 0.0, "one of three terms");
}

/// Walks the field token by token and takes the earliest query word that is due.
fn naive_text_similarity(words: &[&str], tokens: &[&str]) -> [f64; 5] {
    let mut left: Vec<usize> = (0..words.len()).collect();
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for (position, token) in tokens.iter().enumerate() {
        if let Some(index) = left.iter().position(|word| words[*word] == *token) {
            taken.push((left.remove(index), position));
        }
    }
    if taken.is_empty() {
        return [0.0; 5];
    }
    let near = |distance: usize| if distance > 8 { 0.0 } else { 1.0 - ((distance as f64 - 1.0) / 8.0).powi(2) };
    let matches = taken.len().min(tokens.len()) as f64;
    let pairs = || taken.windows(2).map(|pair| (pair[0], pair[1]));
    let (proximity, order) = if matches < 2.0 {
        (near(tokens.len()), if words.len() == 1 { 1.0 } else { 0.0 })
    } else {
        let proximity: f64 = pairs().map(|(a, b)| near(b.1 - a.1)).sum();
        (proximity / (matches - 1.0), pairs().filter(|(a, b)| b.0 > a.0).count() as f64 / (matches - 1.0))
    };
    let (query, field) = (taken.len() as f64 / words.len() as f64, matches / tokens.len() as f64);
    [0.35 * proximity + 0.15 * order + 0.3 * query + 0.2 * field, proximity, order, query, field]
}

#[test]
fn element_completeness_takes_the_best_element() {
    let mut fixture = Fixture::index(&["tags"]).query(&["tags"], "a b");
    fixture.field("tags").collection = Collection::WeightedSet;
    let document = [("tags", vec![("a", 2), ("a b x x", 2), ("b a", 1), ("b", -9)])];
    let value =
        |fixture: &Fixture, output: &str| fixture.value(&format!("elementCompleteness(tags){output}"), &document);
    // a: (½·1 + ½·½)·2 = 1.5; a b x x: (½·½ + ½)·2 = 1.5; b a: 1; the first of equals stays.
    assert_close(value(&fixture, ""), 0.75, "completeness");
    assert_close(value(&fixture, ".fieldCompleteness"), 1.0, "of a");
    assert_close(value(&fixture, ".queryCompleteness"), 0.5, "of a");
    assert_close(value(&fixture, ".elementWeight"), 2.0, "of a");
    let query_only = fixture.clone().property("elementCompleteness(tags).fieldCompletenessImportance", "0");
    assert_close(value(&query_only, ".fieldCompleteness"), 0.5, "a b x x covers the query");
    let negative = [("tags", vec![("b", -9)])];
    assert_close(fixture.value("elementCompleteness(tags)", &negative), 0.0, "negative weights never win");
    assert_close(
        fixture.value("elementCompleteness(tags).elementWeight", &negative),
        0.0,
        "negative weights never win",
    );
}

fn naive_element_completeness(words: &[&str], elements: &Content<'_>) -> [f64; 4] {
    let (mut best, mut best_score) = ([0.0; 4], 0.0);
    for (element, weight) in elements {
        let tokens: Vec<&str> = element.split_whitespace().collect();
        let found = words.iter().filter(|word| tokens.contains(word)).count();
        let (field, query) = (found.min(tokens.len()) as f64 / tokens.len() as f64, found as f64 / words.len() as f64);
        let completeness = 0.5 * field + 0.5 * query;
        if completeness * f64::from(*weight) > best_score {
            best_score = completeness * f64::from(*weight);
            best = [completeness, field, query, f64::from(*weight)];
        }
    }
    best
}

#[test]
fn attribute_match_of_an_array() {
    let mut fixture = Fixture::default();
    fixture.add("tags", FieldKind::Attribute).collection = Collection::Array;
    fixture.add("title", FieldKind::Index);
    let mut fixture = fixture.query(&["tags"], "red blue green").query(&["title"], "a");
    fixture.terms[0].weight = 200;
    fixture.terms[3].significance = Some(0.5);
    let document = [("tags", vec![("red", 1), ("blue", 1), ("pink", 1), ("grey", 1)])];
    let value = |output: &str| fixture.value(&format!("attributeMatch(tags){output}"), &document);
    assert_close(value(".matches"), 2.0, "red and blue");
    assert_close(value(".queryCompleteness"), 2.0 / 3.0, "of three");
    assert_close(value(".fieldCompleteness"), 0.5, "of four values");
    assert_close(value(""), 2.0 / 3.0 * (0.95 + 0.05 * 0.5), "completeness");
    assert_close(value(".weight"), 0.6, "300 of 500");
    assert_close(value(".significance"), 2.0 / 3.5, "of the whole query");
    assert_close(value(".importance"), (0.6 + 2.0 / 3.5) / 2.0, "their mean");
    for output in [".normalizedWeight", ".normalizedWeightedWeight", ".totalWeight", ".averageWeight", ".maxWeight"] {
        assert_close(value(output), 0.0, output);
    }
}

#[test]
fn attribute_match_of_a_weighted_set() {
    let mut fixture = Fixture::default();
    fixture.add("tags", FieldKind::Attribute).collection = Collection::WeightedSet;
    let mut fixture = fixture.query(&["tags"], "red blue green");
    fixture.terms[1].weight = 300;
    let document = [("tags", vec![("red", 64), ("blue", 128), ("pink", 192)])];
    let value = |output: &str| fixture.value(&format!("attributeMatch(tags).{output}"), &document);
    assert_close(value("totalWeight"), 192.0, "64 + 128");
    assert_close(value("averageWeight"), 96.0, "of two");
    assert_close(value("maxWeight"), 128.0, "blue");
    assert_close(value("fieldCompleteness"), 0.5, "192 of 384");
    assert_close(value("normalizedWeight"), 0.25, "192 of 3·256");
    assert_close(value("normalizedWeightedWeight"), (6_400.0 + 38_400.0) / (256.0 * 500.0), "with the terms' weights");
    let scarce = fixture.clone().property("attributeMatch(tags).maxWeight", "32");
    assert_close(scarce.value("attributeMatch(tags).normalizedWeight", &document), 1.0, "at most 1");
    let negative = [("tags", vec![("red", -64), ("blue", -128)])];
    let value = |output: &str| fixture.value(&format!("attributeMatch(tags).{output}"), &negative);
    assert_close(value("totalWeight"), -192.0, "negative");
    assert_close(value("maxWeight"), -64.0, "the largest");
    assert_close(value("fieldCompleteness") + value("normalizedWeight"), 0.0, "nothing positive");
}

#[test]
fn attribute_match_of_a_single_value() {
    let mut fixture = Fixture::default();
    fixture.add("folder", FieldKind::Attribute);
    let fixture = fixture.query(&["folder"], "inbox");
    assert_close(fixture.value("attributeMatch(folder)", &text("folder", "inbox")), 1.0, "hit");
    assert_close(fixture.value("attributeMatch(folder)", &text("folder", "sent")), 0.0, "no hit");
}

fn words() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..5)
}

fn element() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "x", "y"]), 1..12)
        .prop_map(|tokens| tokens.join(" "))
}

proptest! {
    #![proptest_config(cases_of(1_000))]

    #[test]
    fn text_similarity_agrees_with_a_walk_over_the_tokens(words in words(), field in element()) {
        let fixture = Fixture::index(&["title"]).query(&["title"], &words.join(" "));
        let tokens: Vec<&str> = field.split(' ').collect();
        let outputs = ["score", "proximity", "order", "queryCoverage", "fieldCoverage"];
        for (output, expected) in outputs.iter().zip(naive_text_similarity(&words, &tokens)) {
            assert_close(fixture.value(&format!("textSimilarity(title).{output}"), &text("title", &field)), expected, output);
        }
    }

    #[test]
    fn element_completeness_agrees_with_each_element_alone(
        words in words(),
        elements in prop::collection::vec((element(), -3..4i32), 1..6),
    ) {
        let mut fixture = Fixture::index(&["tags"]).query(&["tags"], &words.join(" "));
        fixture.field("tags").collection = Collection::WeightedSet;
        let elements: Content<'_> = elements.iter().map(|(text, weight)| (text.as_str(), *weight)).collect();
        let outputs = ["completeness", "fieldCompleteness", "queryCompleteness", "elementWeight"];
        let document = [("tags", elements.clone())];
        for (output, expected) in outputs.iter().zip(naive_element_completeness(&words, &elements)) {
            assert_close(fixture.value(&format!("elementCompleteness(tags).{output}"), &document), expected, output);
        }
    }
}
