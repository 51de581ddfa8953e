//! bm25 against its formula.

use crate::fixture::{Fixture, assert_close, text};
use brooklet_rank::match_data::{Collection, DocumentFrequency};

/// ln(1 + ½/1½).
const IDF: f64 = 0.287_682_072_451_780_9;

fn formula(idf: f64, frequency: f64, length: f64, average: f64, k1: f64, b: f64) -> f64 {
    idf * frequency * (k1 + 1.0) / (frequency + k1 * (1.0 - b + b * length / average))
}

#[test]
fn one_term_without_statistics_has_the_constant_of_streaming_search() {
    let fixture = Fixture::index(&["title"]).query(&["title"], "a");
    let value = fixture.value("bm25(title)", &text("title", "a b c d"));
    // 0.28768207 · 2.2 / (1 + 1.2·(0.25 + 0.75·0.04)) = 0.632900559 / 1.336
    assert_close(value, 0.473_727_963_618_202, "bm25");
    assert_close(value, formula(IDF, 1.0, 4.0, 100.0, 1.2, 0.75), "bm25");
    assert_close(fixture.value("bm25(title)", &text("title", "b c d")), 0.0, "no hit");
}

#[test]
fn terms_add_up_and_a_phrase_is_one_term() {
    let fixture = Fixture::index(&["title", "body"]).query(&["title"], "a b+c").query(&["body"], "a");
    let document = [("title", vec![("a b c a b c a", 1)]), ("body", vec![("a", 1)])];
    let expected = formula(IDF, 3.0, 7.0, 100.0, 1.2, 0.75) + formula(IDF, 2.0, 7.0, 100.0, 1.2, 0.75);
    assert_close(fixture.value("bm25(title)", &document), expected, "bm25");
    assert_close(fixture.value("bm25(title).score", &document), expected, "its output has a name");
}

#[test]
fn frequency_and_length_are_those_of_all_elements() {
    let mut fixture = Fixture::index(&["tags"]).query(&["tags"], "a");
    fixture.field("tags").collection = Collection::Array;
    let value = fixture.value("bm25(tags)", &[("tags", vec![("a b", 1), ("c", 1), ("x a a", 1)])]);
    assert_close(value, formula(IDF, 3.0, 6.0, 100.0, 1.2, 0.75), "bm25");
}

#[test]
fn properties_change_the_formula() {
    let fixture = Fixture::index(&["title", "body"])
        .query(&["title", "body"], "a")
        .property("bm25(title).k1", "2.5")
        .property("bm25(title).b", "0.1")
        .property("bm25(title).averageFieldLength", "3");
    let document = [("title", vec![("a a b b b", 1)]), ("body", vec![("a a b b b", 1)])];
    assert_close(fixture.value("bm25(title)", &document), formula(IDF, 2.0, 5.0, 3.0, 2.5, 0.1), "set");
    assert_close(fixture.value("bm25(body)", &document), formula(IDF, 2.0, 5.0, 100.0, 1.2, 0.75), "default");
}

#[test]
fn a_document_frequency_wins_over_a_significance_and_that_over_nothing() {
    let document = text("title", "a");
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a");
    fixture.terms[0].significance = Some(0.7);
    assert_close(fixture.value("bm25(title)", &document), formula(0.7, 1.0, 1.0, 100.0, 1.2, 0.75), "significance");
    fixture.terms[0].document_frequency = Some(DocumentFrequency { frequency: 10.0, count: 1000.0 });
    let idf = (1.0f64 + 990.5 / 10.5).ln();
    assert_close(fixture.value("bm25(title)", &document), formula(idf, 1.0, 1.0, 100.0, 1.2, 0.75), "frequency");
    fixture.terms[0].document_frequency = Some(DocumentFrequency { frequency: 9.0, count: 3.0 });
    let idf = (1.0f64 + 0.5 / 3.5).ln();
    assert_close(fixture.value("bm25(title)", &document), formula(idf, 1.0, 1.0, 100.0, 1.2, 0.75), "clamped");
}

#[test]
fn a_hit_without_positions_counts_as_idf() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b");
    fixture.field("title").is_filter = true;
    fixture.terms[1].significance = Some(0.5);
    assert_close(fixture.value("bm25(title)", &text("title", "a a a b")), IDF + 0.5, "idf of both");
}

#[test]
fn a_label_selects_terms() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b");
    fixture.terms[1].label = Some("second".to_owned());
    let document = text("title", "a a a b");
    let only_b = formula(IDF, 1.0, 4.0, 100.0, 1.2, 0.75);
    assert_close(fixture.value("bm25(field: title, label: second)", &document), only_b, "labelled");
    assert_close(fixture.value("bm25(label:second,field:title)", &document), only_b, "in any order");
    assert_close(fixture.value("bm25(field:title,label:third)", &document), 0.0, "no such label");
    let both = only_b + formula(IDF, 3.0, 4.0, 100.0, 1.2, 0.75);
    assert_close(fixture.value("bm25(field:title)", &document), both, "no label");
}

#[test]
fn unranked_terms_do_not_count() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b");
    fixture.terms[0].ranked = false;
    let expected = formula(IDF, 1.0, 2.0, 100.0, 1.2, 0.75);
    assert_close(fixture.value("bm25(title)", &text("title", "a b")), expected, "only b");
}

#[test]
fn long_fields_are_counted_up_to_sixteen_bits() {
    let fixture = Fixture::index(&["title"]).query(&["title"], "a");
    let long = "a ".repeat(70_000);
    let expected = formula(IDF, 65_535.0, 65_535.0, 100.0, 1.2, 0.75);
    assert_close(fixture.value("bm25(title)", &text("title", &long)), expected, "saturated");
}
