//! Rules of ranking that no recorded answer shows.

use crate::host::Host;
use serde_json::Value;

const SCHEMA: &str = "schema t {
    document t {
        field title type string { indexing: index }
        field flag type bool { indexing: attribute }
        field tiny type byte { indexing: attribute }
        field large type long { indexing: attribute }
        field word type string { indexing: attribute }
        field list type array<int> { indexing: attribute }
        field v type tensor<float>(x[2]) { indexing: attribute }
        field w type tensor<float>(x[2]) {
            indexing: attribute
            attribute { distance-metric: dotproduct }
        }
        field i type tensor<int8>(x[2]) { indexing: attribute }
    }
    rank-profile features {
        inputs {
            query(q) tensor<float>(x[2])
            query(far) tensor<float>(x[2])
        }
        first-phase { expression: 1 }
        match-features {
            attribute(flag) attribute(tiny) attribute(large) attribute(word) attribute(list) attribute(list,1)
            attribute(list,9) attribute(v) closeness(field,v) distance(field,v) closeness(field,w) distance(field,w)
            closeness(field,i) distance(field,i) closeness(label,near) closeness(label,distant) distance(label,near)
            distance(label,distant) closeness(label,none) distance(label,none) firstPhaseRank fieldLength(title)
            age(large) freshness(large)
        }
    }
    rank-profile limited inherits features {
        first-phase { expression: attribute(tiny) }
        second-phase {
            expression: attribute(large)
            rank-score-drop-limit: 100.0
        }
    }
    rank-profile dropping inherits features {
        first-phase {
            expression: attribute(tiny)
            rank-score-drop-limit: 2.0
        }
    }
}";

fn host() -> Host {
    let mut host = Host::with_schema("t", SCHEMA);
    let set = r#"{"title":"a b c","flag":false,"tiny":-128,"large":5,"word":"x","list":[3,4],
        "v":{"values":[1,0]},"w":{"values":[1,2]},"i":{"values":[1,2]}}"#;
    host.put("id:t:t:g=u:set", set).unwrap();
    host.put("id:t:t:g=u:least", r#"{"tiny":3,"large":-9223372036854775808}"#).unwrap();
    host.put("id:t:t:g=u:unset", "{}").unwrap();
    host
}

fn asked(host: &Host, condition: &str, parameters: &[(&str, &str)]) -> Value {
    let yql = format!("select * from t where {condition}");
    let mut all = vec![("yql", yql.as_str()), ("ranking.freshness", "100")];
    all.extend(parameters);
    let answer = host.search("g:u", &all);
    assert!(answer.json["root"]["errors"].is_null(), "{}", answer.body);
    answer.json["root"].clone()
}

/// Match-features of a document.
fn features(host: &Host, document: &str, condition: &str, parameters: &[(&str, &str)]) -> Value {
    let mut all = vec![("ranking", "features")];
    all.extend(parameters);
    let root = asked(host, condition, &all);
    let id = format!("id:t:t:g=u:{document}");
    let hits = root["children"].as_array().unwrap_or_else(|| panic!("{root}"));
    let hit = hits.iter().find(|hit| hit["id"] == id.as_str()).unwrap_or_else(|| panic!("{root}"));
    hit["fields"]["matchfeatures"].clone()
}

#[test]
fn a_number_that_is_not_set_is_nan_and_a_text_is_empty() {
    let host = host();
    let of = |document: &str| features(&host, document, "true", &[]);
    for (name, value) in [("flag", 0.0), ("tiny", -128.0), ("large", 5.0)] {
        assert_eq!(of("set")[format!("attribute({name})")], value);
        assert_eq!(of("unset")[format!("attribute({name})")], "NaN", "{name}");
    }
    // The smallest long stands for none, the smallest byte is a number.
    assert_eq!(of("least")["attribute(large)"], "NaN");
    assert_eq!(of("unset")["attribute(word)"], of("least")["attribute(word)"]);
    assert_ne!(of("unset")["attribute(word)"], of("set")["attribute(word)"]);
    assert_eq!(of("unset")["age(large)"].as_f64().unwrap(), 9_223_372_036_854_775_908.0);
    assert_eq!((&of("unset")["freshness(large)"], &of("set")["age(large)"]), (&Value::from(0.0), &Value::from(95.0)));
}

#[test]
fn lists_are_asked_for_by_place() {
    let of = |document: &str| features(&host(), document, "true", &[]);
    let set = of("set");
    let of_list = ["attribute(list)", "attribute(list,1)", "attribute(list,9)"].map(|name| set[name].clone());
    assert_eq!(of_list, [Value::from(0.0), Value::from(4.0), Value::from(0.0)]);
    assert_eq!(of("unset")["attribute(list,1)"], 0.0);
}

#[test]
fn without_an_operator_nothing_is_close() {
    let given = [("input.query(q)", "[1,0]")];
    let found = features(&host(), "set", "true", &given);
    for field in ["v", "w", "i"] {
        assert_eq!(found[format!("closeness(field,{field})")], 0.0);
        assert_eq!(found[format!("distance(field,{field})")], f64::MAX);
    }
    assert_eq!(
        (&found["closeness(label,none)"], &found["distance(label,none)"]),
        (&Value::from(0.0), &Value::from(f64::MAX))
    );
}

#[test]
fn labels_tell_operators_apart_and_a_field_means_the_best() {
    let condition = "rank(true, {label:'near',targetHits:1}nearestNeighbor(v,q), \
                     {label:'distant',targetHits:1}nearestNeighbor(v,far))";
    let given = [("input.query(q)", "[1,1]"), ("input.query(far)", "[4,4]")];
    let found = features(&host(), "set", condition, &given);
    let close = |name: &str| found[name].as_f64().unwrap();
    assert_eq!(close("closeness(label,near)"), 0.5);
    assert_eq!(close("distance(label,near)"), 1.0);
    assert_eq!(close("closeness(label,distant)"), 1.0 / 6.0);
    assert!((close("distance(label,distant)") - 5.0).abs() < 1e-12);
    assert_eq!((close("closeness(field,v)"), close("distance(field,v)")), (0.5, 1.0));
    let without = features(&host(), "unset", condition, &given);
    assert_eq!(
        (&without["closeness(field,v)"], &without["distance(field,v)"]),
        (&Value::from(0.0), &Value::from(f64::MAX))
    );
}

#[test]
fn a_document_without_a_vector_is_as_far_as_a_product_can_be() {
    let condition = "rank(true, {targetHits:1}nearestNeighbor(w,q))";
    let given = [("input.query(q)", "[3,1]")];
    let found = features(&host(), "set", condition, &given);
    assert_eq!((&found["closeness(field,w)"], &found["distance(field,w)"]), (&Value::from(5.0), &Value::from(-5.0)));
    let without = features(&host(), "unset", condition, &given);
    assert_eq!(without["closeness(field,w)"], -f64::MAX);
}

#[test]
fn the_fields_type_of_cells_decides_what_is_compared() {
    // The query's cells are cut off to those of the field: (1, 2) is where the document is.
    let condition = "rank(true, {targetHits:1}nearestNeighbor(i,q))";
    let found = features(&host(), "set", condition, &[("input.query(q)", "[1.9,2.9]")]);
    assert_eq!((&found["closeness(field,i)"], &found["distance(field,i)"]), (&Value::from(1.0), &Value::from(0.0)));
}

#[test]
fn ranks_of_the_first_phase_and_lengths_are_not_known() {
    let found = features(&host(), "set", "title contains 'b'", &[]);
    assert_eq!((&found["firstPhaseRank"], &found["fieldLength(title)"]), (&Value::from(f64::MAX), &Value::from(3.0)));
    assert_eq!(features(&host(), "set", "true", &[])["fieldLength(title)"], 1_000_000.0);
}

#[test]
fn the_second_phase_scores_all_and_its_limit_drops_nothing() {
    let root = asked(&host(), "true", &[("ranking", "limited")]);
    assert_eq!(root["fields"]["totalCount"], 3);
    let shown = |at: usize| (root["children"][at]["id"].clone(), root["children"][at]["relevance"].clone());
    assert_eq!(shown(0), (Value::from("id:t:t:g=u:set"), Value::from(5.0)));
    assert_eq!(shown(1).1, "-Infinity");
}

#[test]
fn a_profiles_limit_counts_only_where_hits_are_asked_for() {
    let total = |parameters: &[(&str, &str)]| {
        let mut all = vec![("ranking", "dropping")];
        all.extend(parameters);
        asked(&host(), "true", &all)["fields"]["totalCount"].clone()
    };
    assert_eq!(total(&[]), 1);
    assert_eq!(total(&[("hits", "0")]), 3);
    assert_eq!(total(&[("hits", "0"), ("ranking.rankScoreDropLimit", "-1")]), 3);
    assert_eq!(total(&[("hits", "0"), ("ranking.rankScoreDropLimit", "0")]), 0);
    assert_eq!(total(&[("ranking.rankScoreDropLimit", "-200")]), 2);
}
