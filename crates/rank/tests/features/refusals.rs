//! What is refused when an application is deployed, and how the names are sorted.

use crate::fixture::{Fixture, split};
use brooklet_rank::features::{FeatureEnvironment, FeatureRequest, FeatureSet, Home, home, prepare};
use brooklet_rank::match_data::{Collection, FieldKind, MatchData, QueryTerms};
use brooklet_task::Code;

fn schema() -> Fixture {
    let mut fixture = Fixture::index(&["title"]);
    fixture.add("tags", FieldKind::Index).collection = Collection::Array;
    fixture.add("year", FieldKind::Attribute);
    fixture
}

fn refusal(fixture: &Fixture, feature: &str) -> (Code, String) {
    let rejection = fixture.try_value(feature, &[]).expect_err(feature);
    (rejection.code, rejection.message)
}

fn assert_refused(feature: &str, message: &str) {
    let (code, actual) = refusal(&schema(), feature);
    assert_eq!(code, Code::InvalidApplication, "{feature}: {actual}");
    assert!(actual.contains(message), "{feature}: {actual}");
}

#[test]
fn wrong_fields_are_named() {
    assert_refused("bm25(year)", "Field 'year' is not an index field");
    assert_refused("bm25(year)", "invalid rank feature bm25(year)");
    assert_refused("fieldMatch(year)", "Field 'year' is not an index field");
    assert_refused("attributeMatch(title)", "Field 'title' is not an attribute field");
    assert_refused("bm25(nothing)", "Field 'nothing' was not found in the schema");
    assert_refused("matches(nothing)", "Field 'nothing' was not found in the schema");
    assert_refused("nativeRank(title,nothing)", "Field 'nothing' was not found in the schema");
    assert_refused("bm25(field: nothing, label: l)", "Field 'nothing' was not found in the schema");
    assert_refused("textSimilarity(tags)", "Field 'tags' is not a single value field");
}

#[test]
fn wrong_parameters_are_told() {
    assert_refused("bm25(title,title)", "expected 'field: name' or 'label: name', got 'title'");
    assert_refused("bm25(label: l)", "no 'field: name'");
    assert_refused("fieldMatch(title,tags)", "takes 1 parameters, but has 2");
    assert_refused("fieldTermMatch(title)", "takes 2 parameters, but has 1");
    assert_refused("fieldTermMatch(title,first)", "'first' is not a whole number");
    assert_refused("term(-1)", "'-1' is not a whole number");
    assert_refused("queryTermCount(title)", "takes 0 parameters, but has 1");
    assert_refused("fieldMatch(title).proximty", "has no output 'proximty'");
}

#[test]
fn wrong_properties_are_told() {
    let refused = |feature: &str, property: &str, value: &str, message: &str| {
        let (code, actual) = refusal(&schema().property(property, value), feature);
        assert_eq!(code, Code::InvalidApplication, "{property}: {actual}");
        assert!(actual.contains(message), "{property}: {actual}");
    };
    refused("bm25(title)", "bm25(title).k1", "much", "'bm25(title).k1' must be a number, but is 'much'");
    refused("bm25(title)", "bm25(title).averageFieldLength", "0", "averageFieldLength (0) positive");
    refused("nativeRank", "nativeRank.useTableNormalization", "no", "must be 'true' or 'false'");
    for table in [
        "expdecay",
        "expdecay(1)",
        "expdecay(1,2,3,4)",
        "linear(1,x)",
        "cubic(1,2)",
        "linear(1,0,0)",
        "linear(1,0,1e9)",
    ] {
        refused("nativeRank", "nativeFieldMatch.firstOccurrenceTable", table, "is not a table");
    }
    refused("nativeRank", "nativeProximity.proximityTable", "loggrowth(1,1,0)", "not finite");
    refused("fieldMatch(title)", "fieldMatch(title).proximityLimit", "5", "for limit 5 it has 21");
    refused("fieldMatch(title)", "fieldMatch(title).maxOccurrences", "0", "must be positive");
    refused("fieldMatch(title)", "fieldMatch(title).maxAlternativeSegmentations", "100001", "at most 100000");
    refused("fieldMatch(title)", "fieldMatch(title).proximityLimit", "-1", "must be a whole number");
    let mut fixture = schema();
    fixture.field("title").rank_type = "odd".to_owned();
    assert!(refusal(&fixture, "nativeRank").1.contains("unknown rank type 'odd'"));
}

#[test]
fn unknown_features_get_a_suggestion() {
    assert_refused("fieldMacth(title)", "Unknown rank feature 'fieldMacth'; did you mean 'fieldMatch'?");
    assert_refused("nativerank", "did you mean 'nativeRank'?");
    assert_refused("clossness(field,x)", "did you mean 'closeness'?");
    assert_eq!(refusal(&schema(), "frobnicate(x)").1, "Unknown rank feature 'frobnicate'");
}

#[test]
fn features_that_nobody_computes_are_named_with_the_reason() {
    for (name, why) in [("debugAttributeWait(a,1)", "wastes"), ("debugWait(1)", "wastes")] {
        let (code, message) = refusal(&schema(), name);
        assert_eq!(code, Code::Unsupported);
        assert!(message.contains("is not supported by this release") && message.contains(why), "{message}");
    }
}

#[test]
fn wrong_parameters_of_dearer_features_are_told() {
    assert_refused("value(1,x)", "'x' is not a number");
    assert_refused("value", "takes at least 1 parameter");
    assert_refused("elementwise(foo(title),d)", "bm25(field) or matches(field) is expected");
    assert_refused("elementwise(bm25(title),d,int4)", "'int4' is no cell type");
    assert_refused("elementwise(bm25(title),9-)", "no name of a dimension");
    assert_refused("queryCompleteness(title,5,5)", "the positions from 5 to 5 are none");
    let odd = |value: &str| {
        refusal(&schema().property("elementSimilarity(tags).output.x", value), "elementSimilarity(tags)").1
    };
    assert!(odd("max(z)").contains("'z' is none of p, o, q, f and w"), "{}", odd("max(z)"));
    assert!(odd("median(p)").contains("must be max, avg or sum"), "{}", odd("median(p)"));
    assert!(odd("p").contains("aggregator(expression) is expected"), "{}", odd("p"));
}

#[test]
fn every_name_has_one_home() {
    assert_eq!(home("bm25"), Some(Home::MatchData));
    assert_eq!(home("attribute"), Some(Home::Document));
    assert_eq!(home("onnx"), Some(Home::Document));
    assert_eq!(home("debugWait"), Some(Home::Unsupported));
    assert_eq!(home("bm26"), None);
}

#[test]
fn a_query_is_not_needed_to_check_an_application() {
    let fixture = schema();
    let query = QueryTerms::default();
    let environment = FeatureEnvironment::new(&fixture.fields, &query, &fixture.properties);
    for feature in ["bm25(title)", "nativeRank", "fieldMatch(tags)", "term(3)", "termDistance(title,0,1)", "matches"] {
        let (name, parameters, _) = split(feature);
        let mut prepared = prepare(name, &parameters, &environment).expect(feature);
        let mut outputs = vec![f64::NAN; prepared.outputs.len()];
        prepared.executor.execute(&MatchData::new(&query), &mut outputs);
        assert!(outputs.iter().all(|output| output.is_finite()), "{feature}: {outputs:?}");
    }
}

#[test]
fn a_set_prepares_each_feature_once_and_computes_it_for_each_document() {
    let mut fixture = schema().query(&["title", "tags"], "a");
    fixture.add("labels", FieldKind::Attribute).collection = Collection::Array;
    let query = fixture.query_terms();
    let environment = FeatureEnvironment::new(&fixture.fields, &query, &fixture.properties);
    let (title, labels) = (["title".to_owned()], ["labels".to_owned()]);
    let request = |parameters, output| FeatureRequest { name: "fieldMatch", parameters, output };
    let attribute = FeatureRequest { name: "attributeMatch", parameters: &labels[..], output: None };
    let requests = [request(&title[..], Some("head")), request(&title[..], Some("tail")), attribute];
    let mut set = FeatureSet::prepare(requests, &environment).unwrap();
    assert_eq!(set.counted_attributes().collect::<Vec<_>>(), [fixture.field("labels").id]);
    for (field, head, tail) in [("x a", 1.0, 0.0), ("a x x", 0.0, 2.0), ("x", 0.0, 0.0)] {
        let data = fixture.match_document(&[("title", vec![(field, 1)])]);
        set.next_document(0);
        assert_eq!((set.number(0, &data), set.number(1, &data)), (head, tail), "{field}");
    }
}
