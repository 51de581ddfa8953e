//! The native features against a second implementation that follows their formulas, text in, number out.

use crate::fixture::{Fixture, assert_close, cases_of, text};
use brooklet_rank::match_data::{Collection, FieldKind};
use proptest::prelude::*;

fn decay(weight: f64, step: f64) -> Vec<f64> {
    (0..256).map(|x| weight * (-f64::from(x) / step).exp()).collect()
}

fn growth(weight: f64, start: f64, step: f64) -> Vec<f64> {
    (0..256).map(|x| weight * (1.0 + f64::from(x) / step).ln() + start).collect()
}

fn at(table: &[f64], index: usize) -> f64 {
    table[index.min(table.len() - 1)]
}

fn positions(word: &str, field: &str) -> Vec<usize> {
    field.split_whitespace().enumerate().filter(|(_, token)| *token == word).map(|(position, _)| position).collect()
}

/// One rank type `about` field, all words ranked alike.
fn naive_field_match(words: &[&str], field: &str) -> f64 {
    let (first, count) = (decay(8000.0, 12.5), growth(1500.0, 4000.0, 19.0));
    let table_max = 0.5 * first[0] + 0.5 * count[255];
    let length = field.split_whitespace().count().max(6);
    let of_word = |word: &&str| {
        let positions = positions(word, field);
        positions.first().map_or(0.0, |position| {
            let early = at(&first, position * 255 / (length - 1));
            let many = at(&count, positions.len() * 255 / length);
            (0.5 * early + 0.5 * many) / table_max
        })
    };
    words.iter().map(of_word).sum::<f64>() / words.len() as f64
}

/// The same for proximity: every pair of words up to three apart, all distances tried.
fn naive_proximity(words: &[&str], field: &str) -> f64 {
    let (forward, reverse) = (decay(500.0, 3.0), decay(400.0, 3.0));
    let smallest = |from: &str, to: &str| {
        let to = positions(to, field);
        let pairs = positions(from, field).into_iter().flat_map(|a| to.clone().into_iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| b > a).map(|(a, b)| b - a).min().unwrap_or(1_000_000)
    };
    let (mut score, mut weights) = (0.0, 0.0);
    for i in 0..words.len() {
        for j in i + 1..words.len().min(i + 4) {
            let weight = 0.1 / (j - i) as f64 * 200.0;
            let (fd, rd) = (smallest(words[i], words[j]), smallest(words[j], words[i]));
            score += weight * (0.5 * at(&forward, fd - 1) + 0.5 * at(&reverse, rd - 1)) / 450.0;
            weights += weight;
        }
    }
    if weights == 0.0 { 0.0 } else { score / weights }
}

#[test]
fn a_single_word_at_the_start_of_a_short_field() {
    let fixture = Fixture::index(&["title"]).query(&["title"], "a");
    // first[0] = 8000, count[⌊255/6⌋ = 42] = 1500·ln(1 + 42/19) + 4000;
    // the tables reach 8000 and 1500·ln(1 + 255/19) + 4000.
    let expected = (8000.0 + 1500.0 * (61.0f64 / 19.0).ln() + 4000.0) / (12_000.0 + 1500.0 * (274.0f64 / 19.0).ln());
    assert_close(fixture.value("nativeFieldMatch", &text("title", "a b")), expected, "nativeFieldMatch");
    assert!((expected - 0.859_190_363).abs() < 1e-9, "{expected} by hand");
    assert_close(fixture.value("nativeProximity", &text("title", "a b")), 0.0, "there is no pair");
    assert_close(fixture.value("nativeRank", &text("title", "a b")), expected * 100.0 / 225.0, "nativeRank");
}

#[test]
fn neighbours_in_both_orders() {
    let fixture = Fixture::index(&["title"]).query(&["title"], "a b");
    let value = fixture.value("nativeProximity", &text("title", "a b a"));
    assert_close(value, 1.0, "as near as can be in both directions");
    let value = fixture.value("nativeProximity", &text("title", "a b"));
    let far = (-255.0f64 / 3.0).exp();
    assert_close(value, (500.0 + 400.0 * far) / 900.0, "forward only");
    let value = fixture.value("nativeProximity", &text("title", "b x a"));
    assert_close(value, (500.0 * far + 400.0 * (-1.0f64 / 3.0).exp()) / 900.0, "reverse only");
}

#[test]
fn terms_weigh_by_significance_and_weight() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b c");
    fixture.terms[0].weight = 300;
    fixture.terms[1].significance = Some(0.5);
    fixture.terms[2].weight = 0;
    let of = |word: &str| naive_field_match(&[word], "x a x b c");
    let expected = (300.0 * of("a") + 50.0 * of("b")) / 350.0;
    assert_close(fixture.value("nativeFieldMatch", &text("title", "x a x b c")), expected, "weighted mean");
}

#[test]
fn fields_weigh_and_the_fields_a_term_searches_share_it() {
    let mut fixture = Fixture::index(&["title", "body", "note"]).query(&["title", "body", "note"], "a");
    fixture.field("body").weight = 300;
    fixture.field("note").is_filter = true;
    let document = [("title", vec![("a", 1)]), ("body", vec![("x x a", 1)]), ("note", vec![("a", 1)])];
    let (title, body) = (naive_field_match(&["a"], "a"), naive_field_match(&["a"], "x x a"));
    let expected = (100.0 * title + 300.0 * body) / 400.0;
    assert_close(fixture.value("nativeFieldMatch", &document), expected, "filters are left out");
    assert_close(fixture.value("nativeFieldMatch(body)", &document), body, "one field");
    assert_close(fixture.value("nativeRank(body,note)", &document), body * 100.0 / 225.0, "the others are ignored");
    assert_close(fixture.value("nativeFieldMatch(body)", &[("title", vec![("a", 1)])]), 0.0, "no hit in it");
}

#[test]
fn connectedness_is_the_least_between_two_terms_over_their_distance() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b c");
    fixture.connect(1, 0.4);
    fixture.connect(2, 0.6);
    let far = (-255.0f64 / 3.0).exp();
    let one_way = (500.0 + 400.0 * far) / 900.0;
    let none = far;
    // Pairs: a-b 0.4 (in the field, next to each other), b-c 0.6 and a-c 0.4/2 (c is not in the field).
    let expected = (0.4 * one_way + 0.6 * none + 0.2 * none) / 1.2;
    assert_close(fixture.value("nativeProximity", &text("title", "a b")), expected, "weighted by connectedness");
}

#[test]
fn connected_are_the_two_terms_that_the_query_names() {
    let mut fixture = Fixture::index(&["title", "body"]).query(&["title"], "a").query(&["body"], "b");
    fixture = fixture.query(&["title"], "c d");
    fixture.terms[0].id = Some(7);
    fixture.terms[2].connectivity = Some((7, 0.5));
    fixture.terms[3].connectivity = Some((7, 0.9));
    let far = (-255.0f64 / 3.0).exp();
    let one_way = (500.0 + 400.0 * far) / 900.0;
    // Neighbours in the field: a-c are connected, c-d are not, as d is connected to a; a-d go over c.
    let expected = (0.5 * one_way + 0.1 * far + 0.05 * far) / 0.65;
    assert_close(fixture.value("nativeProximity(title)", &text("title", "a c")), expected, "by ids");
}

#[test]
fn distance_is_from_the_last_word_of_a_phrase_and_within_an_element_unless_there_is_a_gap() {
    let phrase = Fixture::index(&["title"]).query(&["title"], "a+b c");
    let far = (-255.0f64 / 3.0).exp();
    let value = phrase.value("nativeProximity", &text("title", "a b x c"));
    assert_close(value, (500.0 * (-1.0f64 / 3.0).exp() + 400.0 * far) / 900.0, "two words after b");

    let document = [("tags", vec![("x a", 1), ("c x", 1)])];
    let mut elements = Fixture::index(&["tags"]).query(&["tags"], "a c");
    elements.field("tags").collection = Collection::Array;
    assert_close(elements.value("nativeProximity", &document), far, "elements are worlds apart");
    elements.field("tags").element_gap = Some(3);
    let expected = (500.0 * (-1.0f64).exp() + 400.0 * far) / 900.0;
    assert_close(elements.value("nativeProximity", &document), expected, "distance 1 + gap 3");
    let overridden = elements.property("nativeProximity.elementGap.tags", "infinity");
    assert_close(overridden.value("nativeProximity", &document), far, "the property wins");
}

#[test]
fn attributes_score_by_the_weight_of_the_key() {
    let mut fixture = Fixture::default();
    fixture.add("folder", FieldKind::Attribute);
    fixture.add("tags", FieldKind::Attribute).collection = Collection::WeightedSet;
    fixture.field("tags").rank_type = "tags".to_owned();
    let fixture = fixture.query(&["folder"], "inbox").query(&["tags"], "work");
    let document = [("folder", vec![("inbox", 1)]), ("tags", vec![("home", 50), ("work", 20)])];
    let tags = (38.0 * 21.0f64.ln() + 50.0) / (38.0 * 256.0f64.ln() + 50.0);
    let expected = (1.0 / 255.0 + tags) / 2.0;
    assert_close(fixture.value("nativeAttributeMatch", &document), expected, "both");
    assert_close(fixture.value("nativeRank", &document), expected * 100.0 / 225.0, "nativeRank");
    assert_close(fixture.value("nativeAttributeMatch(tags)", &document), tags, "one");
    let negative = [("tags", vec![("work", -20)])];
    assert_close(fixture.value("nativeAttributeMatch(tags)", &negative), -tags, "a negative key counts against");
}

#[test]
fn the_most_specific_property_wins() {
    let fixture = |property: &str| Fixture::index(&["title"]).query(&["title"], "a").property(property, "linear(0,7)");
    let document = text("title", "x x x x x a");
    let value = |fixture: Fixture| fixture.value("nativeFieldMatch", &document);
    let constant = value(fixture("nativeFieldMatch.firstOccurrenceTable"));
    let count = growth(1500.0, 4000.0, 19.0);
    assert_close(constant, (3.5 + 0.5 * count[42]) / (3.5 + 0.5 * count[255]), "constant first table");
    assert_close(value(fixture("nativeFieldMatch(title).firstOccurrenceTable")), constant, "of the field");
    assert_close(value(fixture("nativeFieldMatch.firstOccurrenceTable.title")), constant, "of the field, old form");
    let conflicting = fixture("nativeFieldMatch.firstOccurrenceTable")
        .property("nativeFieldMatch(title).firstOccurrenceTable", "linear(0,8)")
        .property("nativeFieldMatch.firstOccurrenceTable.title", "linear(0,9)");
    assert_close(value(conflicting), (4.5 + 0.5 * count[42]) / (4.5 + 0.5 * count[255]), "the field's own");
}

#[test]
fn rank_types_choose_tables() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b");
    let document = text("title", "x a b");
    let far = (-255.0f64 / 3.0).exp();
    fixture.field("title").rank_type = "identity".to_owned();
    let expected = (5000.0 + 3000.0 * far) / 8000.0;
    assert_close(fixture.value("nativeProximity", &document), expected, "identity");
    let (first, count) = (decay(100.0, 12.5), growth(1500.0, 4000.0, 19.0));
    let of = |position: usize| (at(&first, position * 51) + count[42]) / (first[0] + count[255]);
    assert_close(fixture.value("nativeFieldMatch", &document), (of(1) + of(2)) / 2.0, "identity");
    fixture.field("title").rank_type = "empty".to_owned();
    assert_close(fixture.value("nativeRank", &document), 0.0, "empty");
    assert_close(fixture.value("nativeFieldMatch", &document), 0.0, "empty, but divided by the least that can be");
}

#[test]
fn normalization_can_be_switched_off_and_weights_set() {
    let fixture = Fixture::index(&["title"])
        .query(&["title"], "a")
        .property("nativeRank.useTableNormalization", "false")
        .property("nativeRank.fieldMatchWeight", "50");
    let raw = (8000.0 + 1500.0 * (61.0f64 / 19.0).ln() + 4000.0) / 2.0;
    assert_close(fixture.value("nativeFieldMatch", &text("title", "a")), raw, "not divided by the tables' maximum");
    assert_close(fixture.value("nativeRank", &text("title", "a")), raw * 50.0 / 250.0, "proximity then weighs 100");
}

#[test]
fn table_sizes_and_lengths_can_be_set() {
    let fixture = Fixture::index(&["title"])
        .query(&["title"], "a")
        .property("nativeFieldMatch.firstOccurrenceTable", "linear(-1,10,11)")
        .property("nativeFieldMatch.firstOccurrenceImportance", "1")
        .property("nativeFieldMatch(title).averageFieldLength", "21");
    // ⌊3·10/20⌋ = 1
    assert_close(fixture.value("nativeFieldMatch", &text("title", "x x x a")), 0.9, "position 3 of 21");
    let fixture = fixture.property("nativeFieldMatch.averageFieldLength.title", "3");
    // ⌊3·10/5⌋ = 6, the least length being 6
    assert_close(fixture.value("nativeFieldMatch", &text("title", "x x x a")), 0.9, "the parenthesised form wins");
    let short = Fixture::index(&["title"])
        .query(&["title"], "a")
        .property("nativeFieldMatch.firstOccurrenceTable", "linear(-1,10,11)")
        .property("nativeFieldMatch.firstOccurrenceImportance", "1")
        .property("nativeFieldMatch.minFieldLength", "1");
    assert_close(short.value("nativeFieldMatch", &text("title", "x x x a")), 0.0, "⌊3·10/3⌋ = 10");
    assert_close(short.value("nativeFieldMatch", &text("title", "a")), 1.0, "a field of one word");
}

fn cases() -> impl Strategy<Value = (Vec<&'static str>, String)> {
    let word = || prop::sample::select(vec!["a", "b", "c", "d", "x"]);
    let words = prop::collection::btree_set(word(), 1..5).prop_map(|words| words.into_iter().collect::<Vec<_>>());
    let field = prop::collection::vec(word(), 1..60).prop_map(|tokens| tokens.join(" "));
    (words.prop_shuffle(), field)
}

proptest! {
    #![proptest_config(cases_of(1_000))]

    #[test]
    fn agrees_with_the_formulas((words, field) in cases()) {
        let fixture = Fixture::index(&["title"]).query(&["title"], &words.join(" "));
        let document = text("title", &field);
        let (field_match, proximity) = (naive_field_match(&words, &field), naive_proximity(&words, &field));
        assert_close(fixture.value("nativeFieldMatch", &document), field_match, "nativeFieldMatch");
        assert_close(fixture.value("nativeProximity", &document), proximity, "nativeProximity");
        let expected = (100.0 * field_match + 25.0 * proximity) / 225.0;
        assert_close(fixture.value("nativeRank", &document), expected, "nativeRank");
        prop_assert!((0.0..=1.0).contains(&fixture.value("nativeRank", &document)));
    }
}
