//! Features that tell of matches: examples worked out by hand, and second implementations that share no code.

use crate::fixture::{Content, Fixture, assert_close, cases_of, text};
use brooklet_rank::match_data::{Collection, FieldKind};
use proptest::prelude::*;

fn title(query: &str) -> Fixture {
    Fixture::index(&["title"]).query(&["title"], query)
}

fn elements<'a>(values: &[(&'a str, i32)]) -> Vec<(&'static str, Content<'a>)> {
    vec![("tags", values.to_vec())]
}

fn tags(query: &str) -> Fixture {
    let mut fixture = Fixture::index(&["tags"]);
    fixture.field("tags").collection = Collection::WeightedSet;
    fixture.query(&["tags"], query)
}

#[test]
fn the_match_data_of_all_terms_adds_up() {
    let mut fixture = tags("a b c");
    fixture.terms[1].weight = 250;
    let document = elements(&[("a x a", 7), ("b", 3)]);
    let value = |output: &str| fixture.value(&format!("termFieldMd(tags).{output}"), &document);
    assert_eq!(value("score"), 10.0);
    assert_eq!(value("terms"), 3.0);
    assert_eq!(value("match"), 1.0);
    assert_eq!(value("termsmatched"), 2.0);
    assert_eq!(value("firstweight"), 7.0);
    assert_eq!(value("occurrences"), 3.0);
    assert_eq!(value("maxTermWeight"), 250.0);
    assert_eq!(fixture.value("nativeDotProduct(tags)", &document), 100.0 * 7.0 + 250.0 * 3.0);
    assert_eq!(fixture.value("nativeDotProduct", &document), 100.0 * 7.0 + 250.0 * 3.0);
    assert_eq!(fixture.value("subqueries(tags).msb", &document), 0.0);
    let nothing = fixture.value("nativeDotProduct", &elements(&[("other", 1)]));
    assert!(nothing == 0.0 && nothing.is_sign_positive(), "{nothing}");
}

#[test]
fn proximity_goes_forward_and_backward() {
    let fixture = title("a b");
    let near = |field: &str, feature: &str| {
        [".out", ".posA", ".posB"]
            .map(|output| fixture.value(&format!("{feature}(title,0,1){output}"), &text("title", field)))
    };
    assert_eq!(near("a x x b a b", "proximity"), [1.0, 4.0, 5.0]);
    assert_eq!(near("a x x b a b", "reverseProximity"), [1.0, 4.0, 3.0]);
    assert_eq!(near("b a", "proximity"), [f64::MAX, f64::MAX, -f64::MAX]);
    assert_eq!(near("a b", "reverseProximity"), [f64::MAX, -f64::MAX, f64::MAX]);
    assert_eq!(near("x", "reverseProximity"), [f64::MAX, -f64::MAX, f64::MAX]);
}

#[test]
fn terms_hit_within_a_window() {
    let fixture = title("a b c");
    let document = text("title", "x a x b");
    let hit_and_miss =
        |feature: &str| [".hit", ".miss"].map(|output| fixture.value(&format!("{feature}{output}"), &document));
    assert_eq!(hit_and_miss("queryCompleteness(title)"), [2.0, 1.0]);
    assert_eq!(hit_and_miss("queryCompleteness(title,2)"), [1.0, 2.0]);
    assert_eq!(hit_and_miss("queryCompleteness(title,0,3)"), [1.0, 2.0]);
}

#[test]
fn what_the_first_term_found_in_a_field() {
    let mut fixture = Fixture::index(&["title", "body"]);
    fixture.add("year", FieldKind::Attribute);
    let fixture = fixture.query(&["title", "year"], "a");
    let of = |feature: &str, document: &[(&str, Content<'_>)]| {
        let outputs = ["type", "filter", "search", "hit", "len", "first", "last", "cnt"];
        outputs.map(|output| fixture.value(&format!("fieldInfo({feature}).{output}"), document))
    };
    let unknown = 1_000_000.0;
    assert_eq!(of("title", &text("title", "x a a")), [1.0, 0.0, 1.0, 1.0, 3.0, 1.0, 2.0, 2.0]);
    assert_eq!(of("body", &text("title", "x a a")), [1.0, 0.0, 0.0, 0.0, unknown, unknown, unknown, 0.0]);
    assert_eq!(of("year", &text("year", "a")), [2.0, 0.0, 1.0, 1.0, unknown, 0.0, 0.0, 1.0]);
    assert_eq!(of("nothing", &[]), [0.0, 0.0, 0.0, 0.0, unknown, unknown, unknown, 0.0]);
    assert_eq!(fixture.value("fieldInfo.indexCnt", &[]), 2.0);
    assert_eq!(fixture.value("fieldInfo.attrCnt", &[]), 1.0);
}

#[test]
fn jaro_winkler_by_hand() {
    let distance = |query: &str, field: &str| title(query).value("jaroWinklerDistance(title)", &text("title", field));
    assert_close(distance("a b c", "a b c"), 0.0, "equal");
    assert_close(distance("a b", "x y"), 1.0, "nothing");
    // Two of three match, both in place: (2/3 + 2/3 + 1)/3 = 7/9, boosted by 0.1f·2·(1 − 7/9).
    let jaro = (2.0 / 3.0 + 2.0 / 3.0 + 1.0) / 3.0;
    assert_close(distance("a b z", "a b c"), 1.0 - (jaro + f64::from(0.1f32) * 2.0 * (1.0 - jaro)), "boosted");
    // Swapped: two matches, both moved, one transposition: (1 + 1 + ½)/3, and no prefix.
    assert_close(distance("a b", "b a"), 1.0 - 2.5 / 3.0, "swapped");
}

#[test]
fn fields_weigh_in_the_match_of_all() {
    let mut fixture = Fixture::index(&["title", "tags"]);
    fixture.field("title").weight = 300;
    fixture.field("tags").collection = Collection::Array;
    fixture.add("vector", FieldKind::Attribute).is_matchable = false;
    let fixture = fixture.query(&["title", "tags"], "a b");
    let document = vec![("title", vec![("a b", 1)]), ("tags", vec![("a x", 1)])];
    let of_title = fixture.value("fieldMatch(title)", &document);
    let of_tags = fixture.value("elementCompleteness(tags)", &document);
    assert_close(fixture.value("match", &document), (300.0 * of_title + 100.0 * of_tags) / 400.0, "score");
    assert_eq!(fixture.value("match.totalWeight", &document), 400.0);
    assert_eq!(fixture.value("match.weight.title", &document), 300.0);
    assert_eq!(fixture.value("match.totalWeight", &text("title", "a")), 300.0);
    assert!(fixture.try_value("match.weight.vector", &document).is_err());
}

#[test]
fn each_position_flows_to_one_term() {
    // Both terms are the same word: only one position for the two of them in the first element.
    let fixture = tags("a a b");
    let document = elements(&[("a x", 1), ("a b a z", 5)]);
    let value = |output: &str| fixture.value(&format!("flowCompleteness(tags).{output}"), &document);
    assert_eq!(value("flow"), 3.0);
    assert_eq!(value("fieldCompleteness"), 0.75);
    assert_eq!(value("queryCompleteness"), 1.0);
    assert_eq!(value("completeness"), 0.875);
    assert_eq!(value("elementWeight"), 5.0);
    assert_eq!(value("weight"), 100.0);
    assert_eq!(fixture.value("flowCompleteness(tags).flow", &elements(&[("a x", 1)])), 1.0);
    assert_eq!(fixture.value("flowCompleteness(tags)", &elements(&[("x", 1)])), 0.0);
}

#[test]
fn elements_are_similar_one_by_one() {
    let document = elements(&[("a b", 2), ("b x a", 3)]);
    let fixture = tags("a b").property("elementSimilarity(tags).output.best", "max(p)");
    let fixture = fixture.property("elementSimilarity(tags).output.mean", "avg(q*w)");
    let fixture = fixture.property("elementSimilarity(tags).output.all", "sum(f)");
    // First element: p = 1, o = 1, q = 1, f = 1. Second: p = 1 − (1/8)², o = 0, q = 1, f = ⅔.
    let second = (0.35 * (1.0 - 1.0 / 64.0) + 0.30 + 0.20 * 2.0 / 3.0) * 3.0;
    assert_close(fixture.value("elementSimilarity(tags)", &document), f64::max(2.0, second), "default");
    assert_close(fixture.value("elementSimilarity(tags).best", &document), 1.0, "best");
    assert_close(fixture.value("elementSimilarity(tags).mean", &document), 2.5, "mean");
    assert_close(fixture.value("elementSimilarity(tags).all", &document), 5.0 / 3.0, "all");
    assert_eq!(fixture.value("elementSimilarity(tags)", &elements(&[("x", 9)])), 0.0);
}

#[test]
fn an_element_alone_is_as_similar_as_a_text() {
    let (single, several) = (title("a b c"), tags("a b c"));
    for field in ["a b c", "c b a", "a", "x a x x b", "b b b a"] {
        let of_text = single.value("textSimilarity(title)", &text("title", field));
        assert_close(several.value("elementSimilarity(tags)", &elements(&[(field, 1)])), of_text, field);
    }
}

#[test]
fn labels_have_cells_where_their_terms_hit() {
    let mut fixture = title("a b c");
    for (term, label) in fixture.terms.iter_mut().zip(["x", "y", "x"]) {
        term.label = Some(label.to_owned());
    }
    let document = text("title", "a a z");
    assert_eq!(fixture.cells("matches_for_labels(title)", &document), [("x".to_owned(), 1.0)]);
    assert_eq!(fixture.cells("matches_for_labels", &text("title", "b c")).len(), 2);
    let of_label = fixture.value("bm25(field: title,label: x)", &document);
    assert_eq!(fixture.cells("bm25_for_labels(title)", &document), [("x".to_owned(), f64::from(of_label as f32))]);
}

#[test]
fn elements_have_a_bm25_of_their_own() {
    let fixture = tags("a b").property("elementwise(bm25(tags)).averageElementLength", "2");
    let document = elements(&[("x", 1), ("a a b", 1), ("b", 1)]);
    let idf = (1.0f64 + 0.5 / 1.5).ln();
    let term = |frequency: f64, length: f64| idf * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length / 2.0));
    let cells = fixture.cells("elementwise(bm25(tags),e)", &document);
    assert_eq!(cells.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    assert_close(cells[0].1, term(2.0, 3.0) + term(1.0, 3.0), "element 1");
    assert_close(cells[1].1, term(1.0, 1.0), "element 2");
    let matches = fixture.cells("elementwise(matches(tags),e,int8)", &document);
    assert_eq!(matches, [("1".to_owned(), 1.0), ("2".to_owned(), 1.0)]);
}

#[test]
fn streaming_search_knows_no_statistics() {
    let fixture = title("a b");
    assert_eq!(fixture.value("averageFieldLength(title)", &[]), 100.0);
    assert_eq!(fixture.value("num_docs_indexed", &[]), 1.0);
    let frequencies = fixture.cells("queryTermDocumentFrequency(title)", &[]);
    assert_eq!(frequencies, [("0".to_owned(), 0.0), ("1".to_owned(), 0.0)]);
    assert_eq!(fixture.value("value(3,4.5).1", &[]), 4.5);
}

/// Words of a query without repetition, and of a field.
fn words() -> impl Strategy<Value = (Vec<&'static str>, Vec<&'static str>)> {
    let query = Just(vec!["a", "b", "c", "d"])
        .prop_shuffle()
        .prop_flat_map(|all| (1..=4usize).prop_map(move |n| all[..n].to_vec()));
    (query, proptest::collection::vec(prop::sample::select(vec!["a", "b", "c", "d", "x", "y"]), 1..9))
}

/// The classic recursion, from the end.
fn edits(query: &[&str], field: &[&str]) -> usize {
    match (query.split_last(), field.split_last()) {
        (None, _) => field.len(),
        (_, None) => query.len(),
        (Some((q, query_rest)), Some((f, field_rest))) if q == f => edits(query_rest, field_rest),
        (Some((_, query_rest)), Some((_, field_rest))) => {
            1 + edits(query_rest, field).min(edits(query, field_rest)).min(edits(query_rest, field_rest))
        }
    }
}

/// The most terms that can have a position of their own, trying all ways.
fn most(positions: &[Vec<usize>], taken: &mut Vec<usize>) -> usize {
    let Some((first, rest)) = positions.split_first() else { return 0 };
    let mut best = most(rest, taken);
    for position in first {
        if !taken.contains(position) {
            taken.push(*position);
            best = best.max(1 + most(rest, taken));
            taken.pop();
        }
    }
    best
}

proptest! {
    #![proptest_config(cases_of(200))]

    #[test]
    fn edits_agree_with_the_recursion((query, field) in words()) {
        let fixture = title(&query.join(" "));
        prop_assume!(query.iter().any(|word| field.contains(word)));
        let document = text("title", Box::leak(field.join(" ").into_boxed_str()));
        let cost = fixture.value("termEditDistance(title)", &document);
        prop_assert_eq!(cost, edits(&query, &field) as f64);
        let parts: f64 = [".del", ".ins", ".sub"].iter().map(|output| fixture.value(&format!("termEditDistance(title){output}"), &document)).sum();
        prop_assert_eq!(parts, cost);
    }

    #[test]
    fn flow_is_the_largest_matching((mut query, field) in words(), again in 0..3usize) {
        for index in 0..again {
            query.push(query[index % query.len()]);
        }
        let positions: Vec<Vec<usize>> = query.iter().map(|word| (0..field.len()).filter(|at| field[*at] == *word).collect()).collect();
        let document = vec![("title", vec![(&*Box::leak(field.join(" ").into_boxed_str()), 1)])];
        let flow = title(&query.join(" ")).value("flowCompleteness(title).flow", &document);
        prop_assert_eq!(flow, most(&positions, &mut Vec::new()) as f64);
    }

    #[test]
    fn proximity_is_the_least_of_all_pairs((_, field) in words()) {
        let fixture = title("a b");
        let at = |word: &str| (0..field.len()).filter(|at| field[*at] == word).collect::<Vec<_>>();
        let pairs = at("a").into_iter().flat_map(|a| at("b").into_iter().map(move |b| (a, b)));
        let least = pairs.filter(|(a, b)| a < b).map(|(a, b)| (b - a) as f64).fold(f64::MAX, f64::min);
        let document = text("title", Box::leak(field.join(" ").into_boxed_str()));
        prop_assert_eq!(fixture.value("proximity(title,0,1)", &document), least);
    }
}
