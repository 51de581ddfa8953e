//! Features about single terms: term, queryTermCount, matches, matchCount, fieldLength, fieldTermMatch, termDistance.

use crate::fixture::{Fixture, assert_close, text};
use brooklet_rank::match_data::{Collection, DocumentFrequency, FieldKind};

#[test]
fn term_tells_what_the_query_says() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b c");
    fixture.terms[0].connectivity = Some((1, 0.9));
    fixture.connect(1, 0.7);
    fixture.terms[2].connectivity = fixture.terms[1].connectivity;
    fixture.terms[1].weight = 250;
    fixture.terms[1].significance = Some(0.3);
    fixture.terms[2].document_frequency = Some(DocumentFrequency { frequency: 1.0, count: 1_000.0 });
    fixture.terms[2].significance = Some(0.3);
    let value = |feature: &str| fixture.value(feature, &[]);
    assert_close(value("term(0).connectedness"), 0.1, "nothing is before the first term");
    assert_close(value("term(0).significance"), 1.0, "nothing is known");
    assert_close(value("term(0).weight"), 100.0, "default");
    assert_close(value("term(1)"), 0.7, "the first output is connectedness");
    assert_close(value("term(2).connectedness"), 0.1, "connected to the first, which is not just before it");
    assert_close(value("term(1).significance"), 0.3, "annotated");
    assert_close(value("term(1).weight"), 250.0, "annotated");
    // One in a thousand: ½ + ½·ln(1000)/ln(1000000)
    assert_close(value("term(2).significance"), 0.75, "the frequency wins");
    assert_close(value("term(3).significance") + value("term(3).weight") + value("term(3)"), 0.0, "there is no fourth");
    assert_close(value("queryTermCount"), 3.0, "queryTermCount");
}

#[test]
fn significance_lies_between_a_half_and_one() {
    let significance = |frequency: f64, count: f64| {
        let mut fixture = Fixture::index(&["title"]).query(&["title"], "a");
        fixture.terms[0].document_frequency = Some(DocumentFrequency { frequency, count });
        fixture.value("term(0).significance", &[])
    };
    assert_close(significance(10.0, 10.0), 0.5, "in all documents");
    assert_close(significance(20.0, 10.0), 0.5, "in more than there are");
    assert_close(significance(0.0, 10.0), 1.0, "in none");
    assert_close(significance(0.0, 0.0), 1.0, "of none");
    assert_close(significance(1.0, 1e9), 1.0, "rarer than can be told");
}

#[test]
fn unranked_terms_have_no_number() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b");
    fixture.terms[0].ranked = false;
    fixture.terms[1].weight = 7;
    assert_close(fixture.value("queryTermCount", &[]), 1.0, "queryTermCount");
    assert_close(fixture.value("term(0).weight", &[]), 7.0, "b is the first");
    let document = text("title", "a");
    assert_close(fixture.value("matches(title)", &document), 0.0, "a does not count");
    assert_close(fixture.value("matchCount(title)", &document), 0.0, "a does not count");
    assert_close(fixture.value("fieldLength(title)", &document), 1_000_000.0, "a does not count");
}

#[test]
fn matches_and_match_count_are_about_terms() {
    let mut fixture = Fixture::index(&["title", "body"]);
    fixture.add("year", FieldKind::Attribute);
    let fixture = fixture.query(&["title", "body"], "a b").query(&["year"], "1999");
    let document = [("title", vec![("a a a b", 1)]), ("year", vec![("1999", 1)])];
    let value = |feature: &str| fixture.value(feature, &document);
    assert_close(value("matches(title)"), 1.0, "title");
    assert_close(value("matches(body)"), 0.0, "body");
    assert_close(value("matches(year)"), 1.0, "attributes too");
    assert_close(value("matches"), 1.0, "anything");
    assert_close(value("matches(title,0)") + value("matches(title,1)"), 2.0, "a and b");
    assert_close(value("matches(title,2)") + value("matches(title,9)"), 0.0, "the year is elsewhere");
    assert_close(value("matches(year,2)"), 1.0, "the year");
    assert_close(value("matchCount(title)"), 2.0, "terms, not occurrences");
    assert_close(fixture.value("matches", &[]), 0.0, "nothing");
}

#[test]
fn field_length_is_of_the_longest_element_hit() {
    let mut fixture = Fixture::index(&["tags"]).query(&["tags"], "a b");
    fixture.field("tags").collection = Collection::Array;
    let document = [("tags", vec![("a", 1), ("x a x", 1), ("b x x x", 1), ("x x x x x x", 1)])];
    assert_close(fixture.value("fieldLength(tags)", &document), 4.0, "b's element");
    fixture.field("tags").is_filter = true;
    assert_close(fixture.value("fieldLength(tags)", &document), 1_000_000.0, "filters do not know");
}

#[test]
fn field_term_match_tells_where_a_term_is() {
    let mut fixture = Fixture::index(&["tags", "body"]).query(&["tags"], "a b c");
    fixture.field("tags").collection = Collection::WeightedSet;
    let document = [("tags", vec![("x a a", 3), ("a", -1), ("b", 5)])];
    let value = |output: &str| fixture.value(&format!("fieldTermMatch(tags,0).{output}"), &document);
    assert_close(value("firstPosition"), 0.0, "in the second element");
    assert_close(value("lastPosition"), 2.0, "in the first");
    assert_close(value("occurrences"), 3.0, "all elements");
    assert_close(value("weight"), 5.0, "3 + 3 − 1");
    assert_close(value("exactness"), 1.0, "exactness");
    for missing in ["fieldTermMatch(tags,2)", "fieldTermMatch(tags,7)", "fieldTermMatch(body,0)"] {
        assert_close(fixture.value(missing, &document), 1_000_000.0, missing);
        assert_close(fixture.value(&format!("{missing}.occurrences"), &document), 0.0, missing);
    }
    fixture.field("tags").is_filter = true;
    assert_close(fixture.value("fieldTermMatch(tags,0).occurrences", &document), 1.0, "one, without a place");
    assert_close(fixture.value("fieldTermMatch(tags,0).lastPosition", &document), 1_000_000.0, "without a place");
}

#[test]
fn term_distance_looks_both_ways() {
    let fixture = Fixture::index(&["title"]).query(&["title"], "a b c+d");
    let document = text("title", "x b x x a x b a x c d x a");
    let value = |feature: &str| fixture.value(feature, &document);
    assert_close(value("termDistance(title,0,1)"), 2.0, "a x b");
    assert_close(value("termDistance(title,0,1).forwardTermPosition"), 4.0, "of that a");
    assert_close(value("termDistance(title,0,1).reverse"), 1.0, "b a");
    assert_close(value("termDistance(title,0,1).reverseTermPosition"), 6.0, "of that b");
    assert_close(value("termDistance(title,2,0).forward"), 2.0, "from d");
    assert_close(value("termDistance(title,2,0).forwardTermPosition"), 9.0, "of c");
    assert_close(value("termDistance(title,2,0).reverse"), 2.0, "to c");
    assert_close(value("termDistance(title,0,5).forward"), 1_000_000.0, "no such term");
    assert_close(fixture.value("termDistance(title,0,1).reverse", &text("title", "a a")), 1_000_000.0, "no b");
}

#[test]
fn an_element_gap_joins_neighbouring_elements_only() {
    let mut fixture = Fixture::index(&["tags"]).query(&["tags"], "a b");
    fixture.field("tags").collection = Collection::Array;
    let near = [("tags", vec![("x a x", 1), ("x b", 1)])];
    let far = [("tags", vec![("a", 1), ("x", 1), ("b", 1)])];
    assert_close(fixture.value("termDistance(tags,0,1)", &near), 1_000_000.0, "infinite gap");
    fixture.field("tags").element_gap = Some(5);
    // a at 1, its element ends at 3, 5 more, then b at 1.
    assert_close(fixture.value("termDistance(tags,0,1)", &near), 8.0, "3 + 5 + 1 − 1");
    assert_close(fixture.value("termDistance(tags,0,1)", &far), 1_000_000.0, "there is an element between");
}
