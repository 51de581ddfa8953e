//! Whatever matching hands over, every feature is a finite number; for what matching can really find, the features
//! that promise it lie between 0 and 1.

use crate::fixture::{Fixture, cases_of};
use brooklet_rank::features::{FeatureEnvironment, prepare};
use brooklet_rank::match_data::{
    AttributeContent, Collection, DocumentFrequency, FieldId, FieldKind, MatchData, Occurrence, Slot,
};
use proptest::prelude::*;

const FEATURES: &[(&str, &[&str])] = &[
    ("attributeMatch", &["labels"]),
    ("attributeMatch", &["year"]),
    ("bm25", &["title"]),
    ("bm25", &["tags"]),
    ("elementCompleteness", &["tags"]),
    ("fieldLength", &["title"]),
    ("fieldMatch", &["title"]),
    ("fieldMatch", &["tags"]),
    ("fieldTermMatch", &["tags", "1"]),
    ("matchCount", &["title"]),
    ("matches", &["labels"]),
    ("nativeAttributeMatch", &[]),
    ("nativeFieldMatch", &[]),
    ("nativeProximity", &[]),
    ("nativeRank", &[]),
    ("queryTermCount", &[]),
    ("term", &["0"]),
    ("termDistance", &["tags", "0", "1"]),
    ("textSimilarity", &["title"]),
];

fn schema() -> Fixture {
    let mut fixture = Fixture::index(&["title", "tags"]);
    fixture.field("tags").collection = Collection::WeightedSet;
    fixture.field("tags").element_gap = Some(u32::MAX);
    fixture.add("labels", FieldKind::Attribute).collection = Collection::WeightedSet;
    fixture.add("year", FieldKind::Attribute);
    fixture
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..20u32, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

fn occurrences() -> impl Strategy<Value = Vec<Occurrence>> {
    let weight = prop_oneof![3 => -2..300i32, 1 => any::<i32>(), 1 => Just(i32::MIN)];
    let occurrence =
        (number(), number(), number(), weight).prop_map(|(element, position, element_length, element_weight)| {
            Occurrence { element, position, element_length, element_weight }
        });
    prop::collection::vec(occurrence, 0..12).prop_map(|mut occurrences| {
        occurrences.sort_unstable();
        occurrences
    })
}

/// Settings of a term: weight, words, significance, document frequency, connectedness.
type Term = (i32, u32, Option<f64>, Option<(f64, f64)>, f64);

fn term() -> impl Strategy<Value = Term> {
    let weight = prop_oneof![2 => 0..200i32, 1 => any::<i32>()];
    let frequency = prop::option::of((-1.0..1e7f64, -1.0..1e7f64));
    (weight, 1..4u32, prop::option::of(0.0..1.0f64), frequency, 0.0..1.0f64)
}

fn fixture_of(terms: &[Term]) -> Fixture {
    let mut fixture = schema();
    for (weight, words, significance, frequency, connectedness) in terms {
        fixture = fixture.query(&["title", "tags", "labels", "year"], "a");
        let last = fixture.terms.len() - 1;
        fixture.connect(last, *connectedness);
        let term = &mut fixture.terms[last];
        (term.weight, term.words, term.significance) = (*weight, *words, *significance);
        term.document_frequency = frequency.map(|(frequency, count)| DocumentFrequency { frequency, count });
    }
    fixture
}

/// Runs `check` on every output of every feature.
fn for_each_output(fixture: &Fixture, documents: &[MatchData], mut check: impl FnMut(&str, &str, f64)) {
    let query = fixture.query_terms();
    let environment = FeatureEnvironment::new(&fixture.fields, &query, &fixture.properties);
    for (name, parameters) in FEATURES {
        let parameters: Vec<String> = parameters.iter().map(|parameter| (*parameter).to_owned()).collect();
        let mut prepared = prepare(name, &parameters, &environment).expect(name);
        for data in documents {
            let mut outputs = vec![f64::NAN; prepared.outputs.len()];
            prepared.executor.execute(data, &mut outputs);
            for (output, value) in prepared.outputs.iter().zip(outputs) {
                check(&prepared.text, output, value);
            }
        }
    }
}

/// Outputs that are shares or scores. (fieldMatch promises them for single-valued fields only.)
fn is_normalized(name: &str, output: &str) -> bool {
    match name.split('(').next().unwrap_or(name) {
        "nativeRank"
        | "nativeFieldMatch"
        | "nativeProximity"
        | "nativeAttributeMatch"
        | "textSimilarity"
        | "matches" => true,
        "elementCompleteness" => output != "elementWeight",
        "attributeMatch" => !matches!(output, "matches" | "totalWeight" | "averageWeight" | "maxWeight"),
        "fieldMatch" if name == "fieldMatch(title)" => matches!(
            output,
            "proximity"
                | "completeness"
                | "queryCompleteness"
                | "fieldCompleteness"
                | "relatedness"
                | "earliness"
                | "longestSequenceRatio"
                | "unweightedProximity"
                | "absoluteProximity"
                | "occurrence"
                | "absoluteOccurrence"
                | "weightedOccurrence"
                | "weightedAbsoluteOccurrence"
                | "significantOccurrence"
                | "weight"
                | "significance"
                | "importance"
        ),
        _ => false,
    }
}

proptest! {
    #![proptest_config(cases_of(1_000))]

    #[test]
    fn arbitrary_hits_make_finite_numbers(
        terms in prop::collection::vec(term(), 0..5),
        hits in prop::collection::vec((0..20u32, occurrences(), number()), 0..16),
        content in (number(), any::<i64>()),
    ) {
        let fixture = fixture_of(&terms);
        let query = fixture.query_terms();
        let mut data = MatchData::new(&query);
        for (slot, occurrences, length) in hits.iter().filter(|(slot, ..)| (*slot as usize) < query.slots()) {
            data.record(Slot(*slot), occurrences, *length);
        }
        data.record_content(FieldId(2), AttributeContent { values: content.0, weights: content.1 });
        let empty = MatchData::new(&query);
        for_each_output(&fixture, &[data.clone(), empty, data], |name, output, value| {
            assert!(value.is_finite(), "{name}.{output} is {value}");
        });
    }

    #[test]
    fn real_hits_make_normalized_numbers(
        query in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d"]), 1..6),
        title in "[a-e]( [a-e]){0,30}",
        tags in prop::collection::vec(("[a-e]( [a-e]){0,4}", 0..300i32), 0..5),
        weights in prop::collection::vec(0..300i32, 6),
    ) {
        let mut fixture = schema().query(&["title", "tags", "labels"], &query.join(" "));
        for (term, weight) in fixture.terms.iter_mut().zip(&weights) {
            term.weight = *weight;
        }
        let tags: Vec<(&str, i32)> = tags.iter().map(|(text, weight)| (text.as_str(), *weight)).collect();
        let labels = query.iter().zip(&weights).map(|(label, weight)| (*label, *weight)).collect();
        let document = [("title", vec![(title.as_str(), 1)]), ("tags", tags), ("labels", labels)];
        let data = fixture.match_document(&document);
        for_each_output(&fixture, &[data], |name, output, value| {
            assert!(value.is_finite(), "{name}.{output} is {value}");
            if is_normalized(name, output) {
                assert!((0.0..=1.000_001).contains(&value), "{name}.{output} is {value}");
            }
        });
    }
}

#[test]
fn data_can_be_filled_again_without_a_trace_of_the_document_before() {
    let fixture = Fixture::index(&["title"]).query(&["title"], "a b");
    let mut data = fixture.match_document(&[("title", vec![("a b a", 1)])]);
    data.reset();
    assert_eq!(fixture.value_of("nativeFieldMatch", &data), Ok(0.0));
    assert_eq!(data.hits(Slot(0)), None);
    assert_eq!(data.content(FieldId(0)), None);
    let at = Occurrence { element: 0, position: 2, element_length: 3, element_weight: 1 };
    data.record(Slot(1), &[at], 3);
    assert_eq!(data.hits(Slot(1)).map(|hits| hits.occurrences.to_vec()), Some(vec![at]));
    assert_eq!(data.hits(Slot(0)), None);
    data.record_raw_score(Slot(0), 0.5);
    assert_eq!(data.hits(Slot(0)).map(|hits| (hits.raw_score, hits.has_positions())), Some((0.5, false)));
    assert_eq!(data.hits(Slot(9)), None);
}
