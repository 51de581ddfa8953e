//! The recorded answers of the reference implementation to queries in JSON: what it accepts, and the trees it makes.
use brooklet_query::{Form, Query, Select, parse_grouping, parse_select, tree_text, yql_text};
use brooklet_task::Rejection;
use serde_json::Value;

use crate::fixture::rows::{Omission, Skip, check_skips, rows, skipped, text};
use crate::fixture::{RequestParameters, surroundings};

fn parse_row(row: &Value) -> Result<Query, Rejection> {
    let select = Select {
        filter: text(row, "where").unwrap_or("true"),
        grouping: text(row, "grouping"),
        fields: text(row, "fields"),
    };
    let query = parse_select(&select, &surroundings(&RequestParameters::default(), None))?;
    for grouping in &query.grouping {
        parse_grouping(&grouping.text)?;
    }
    Ok(query)
}

/// Differences between a parsed query and its row.
fn differences(row: &Value, query: &Query, skips: &[Skip]) -> Vec<String> {
    let id = text(row, "id").unwrap();
    let mut found = Vec::new();
    let mut compare = |what: &str, expected: String, got: String| {
        if expected != got {
            found.push(format!("{what}: expected {expected}, got {got}"));
        }
    };
    if let Some(recorded) = text(row, "serialized") {
        if recorded.starts_with("ERROR") {
            compare("answerable", "false".into(), (!query.item.holds_null()).to_string());
        } else if !skipped(skips, id, Omission::Serialized) {
            compare("serialized", recorded.to_owned(), yql_text(&query.item, Form::Reference));
        }
    }
    if let Some(tree) = text(row, "tree").filter(|_| !skipped(skips, id, Omission::Tree)) {
        compare("tree", tree.to_owned(), tree_text(&query.item));
    }
    let list = |member: &str| row.get(member).cloned().unwrap_or(Value::Array(Vec::new()));
    if row.get("steps").is_some() && !skipped(skips, id, Omission::Tree) {
        let operations = query.grouping.iter().flat_map(|grouping| parse_grouping(&grouping.text).unwrap());
        let groupings: Vec<String> = operations.map(|operation| operation.to_string()).collect();
        compare("grouping", list("steps").to_string(), Value::from(groupings).to_string());
    }
    if row.get("summary").is_some() {
        compare("fields", list("summary").to_string(), Value::from(query.fields.clone()).to_string());
    }
    found
}

fn skips() -> Vec<Skip> {
    vec![
        Skip {
            reason: "composites with nothing or one thing in them have no form of their own",
            what: Omission::Serialized,
            ids: &["select-009", "select-010", "select-090"],
        },
        Skip {
            reason: "would silently ignore what was written: arguments too many or of a kind that is not looked at, a second operator or bound, two members of one name, text after the end",
            what: Omission::Everything,
            ids: &[
                "select-011",
                "select-014",
                "select-018",
                "select-144",
                "select-145",
                "select-146",
                "select-161",
                "select-194",
                "select-195",
                "select-198",
                "select-203",
                "select-212",
                "select-226",
                "select-262",
                "select-375",
                "select-376",
                "select-377",
                "select-t03",
                "select-t08",
                "select-t09",
                "select-t15",
                "select-g08",
            ],
        },
        Skip {
            reason: "would become another value: what is of another type becomes false, 0 or empty in the recorded version, fractions are cut, numbers beyond 32 bits wrap",
            what: Omission::Everything,
            ids: &[
                "select-037",
                "select-038",
                "select-039",
                "select-040",
                "select-041",
                "select-047",
                "select-049",
                "select-050",
                "select-107",
                "select-149",
                "select-150",
                "select-164",
                "select-235",
                "select-241",
                "select-287",
                "select-289",
                "select-294",
                "select-301",
                "select-303",
                "select-308",
                "select-315",
                "select-317",
                "select-322",
                "select-328",
                "select-348",
                "select-353",
            ],
        },
        Skip {
            reason: "accepted by the reference parser, then answered with an error: an origin outside its text, negative hits, nothing in near or sameElement",
            what: Omission::Everything,
            ids: &["select-044", "select-106", "select-200", "select-209", "select-267"],
        },
        Skip {
            reason: "as the documentation says: a field and its text as a condition, in with field and value, uri, userQuery, userInput, nonEmpty",
            what: Omission::Everything,
            ids: &[
                "select-017",
                "select-075",
                "select-083",
                "select-170",
                "select-171",
                "select-172",
                "select-175",
                "select-183",
                "select-242",
                "select-243",
                "select-354",
                "select-355",
                "select-357",
                "select-368",
                "select-369",
                "select-370",
            ],
        },
        Skip {
            reason: "a number is a coordinate whether it has a fraction or not, and texts may stand beside numbers, as in YQL",
            what: Omission::Everything,
            ids: &["select-333", "select-334", "select-343"],
        },
        Skip {
            reason: "a field that does not exist is refused by every operator, as in YQL",
            what: Omission::Everything,
            ids: &["select-126", "select-293", "select-307", "select-321"],
        },
        Skip {
            reason: "the elements to match are not left out",
            what: Omission::Everything,
            ids: &["select-268", "select-269"],
        },
        Skip { reason: "a word is not cut, however it is annotated", what: Omission::Serialized, ids: &["select-035"] },
        Skip { reason: "languages are not detected here", what: Omission::Serialized, ids: &["select-063"] },
        Skip {
            reason: "the same range written in two ways is one tree here",
            what: Omission::Serialized,
            ids: &["select-135", "select-147", "select-156", "select-158"],
        },
        Skip {
            reason: "a regular expression is read when it is bound to a field",
            what: Omission::Everything,
            ids: &["select-167"],
        },
        Skip {
            reason: "the weight of a phrase is not repeated for its words",
            what: Omission::Serialized,
            ids: &["select-193"],
        },
        Skip {
            reason: "the label of an input counts for its terms, as in newer versions",
            what: Omission::Serialized,
            ids: &["select-255"],
        },
        Skip {
            reason: "an index's annotations are in the order of the documentation, and none is left out",
            what: Omission::Everything,
            ids: &["select-324", "select-330"],
        },
        Skip {
            reason: "the reference form of a position ends in the cosine of its latitude, which is of no use here",
            what: Omission::Tree,
            ids: &["select-331", "select-332", "select-335", "select-339", "select-340"],
        },
        Skip { reason: "nested deeper than JSON may be", what: Omission::Everything, ids: &["select-378"] },
        Skip {
            reason: "is no JSON: a number with a zero in front, a name without quotes",
            what: Omission::Everything,
            ids: &["select-t13", "select-t14"],
        },
        Skip {
            reason: "a label names what is said of each group, as newer versions do",
            what: Omission::Everything,
            ids: &["select-g11"],
        },
    ]
}

#[test]
fn recorded_queries() {
    let skips = skips();
    let rows = rows("select-json/recorded.jsonl");
    check_skips(&skips, &rows);
    let (mut failures, mut compared) = (Vec::new(), 0);
    for row in &rows {
        let id = text(row, "id").unwrap();
        if skipped(&skips, id, Omission::Everything) {
            continue;
        }
        compared += 1;
        let input = text(row, "grouping").or(text(row, "fields")).or(text(row, "where")).unwrap();
        match (parse_row(row), text(row, "error")) {
            (Err(rejection), Some(_)) => {
                assert!(rejection.span.is_some(), "{id} {input}: no place: {}", rejection.message);
            }
            (Ok(query), None) => {
                let differences = differences(row, &query, &skips);
                failures.extend(differences.into_iter().map(|difference| format!("{id} {input}\n    {difference}")));
            }
            (Ok(query), Some(error)) => {
                failures.push(format!("{id} {input}\n    accepted as {}, should be: {error}", tree_text(&query.item)));
            }
            (Err(rejection), None) => failures.push(format!("{id} {input}\n    refused: {}", rejection.message)),
        }
    }
    assert!(failures.is_empty(), "{} of {compared} vectors differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn what_a_list_does_not_know_is_refused() {
    let given = RequestParameters::default();
    let parse = |members: &str| {
        let filter = format!("{{\"in\":{{{members}}}}}");
        parse_select(&Select { filter: &filter, grouping: None, fields: None }, &surroundings(&given, None))
    };
    for (members, reason) in [
        (r#""field":"sender","value":["a"],"atributes":{"weight":7}"#, "got 'atributes', a map."),
        (
            r#""field":"sender","value":["a"],"attributes":[7]"#,
            "or an object as 'attributes' in 'in', got 'attributes', an array.",
        ),
        (r#""field":"sender","value":"a""#, "got 'value', a string."),
        (r#""field":"sender","value":["a"],"values":["b"]"#, "got 'values', an array."),
        (r#""field":"sender""#, "Expected 'value' in 'in'."),
    ] {
        let rejection = parse(members).expect_err(members);
        assert!(rejection.message.ends_with(reason), "{members}: {rejection}");
    }
    let query = parse(r#""attributes":{"weight":7},"values":["a","b"],"field":"sender""#).unwrap();
    assert_eq!(query.item.annotations.weight, 7);
}
