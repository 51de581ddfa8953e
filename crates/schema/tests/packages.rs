//! Recorded answers of the reference implementation to small application packages, each with one feature or one fault:
//! what deploys there deploys here, and what is refused there is refused here, but for what is listed with a reason.
use brooklet_schema::Application;
use serde_json::Value;

const VECTORS: &str = include_str!("../../../test-vectors/schema/packages.jsonl");

/// Rows that are answered otherwise on purpose.
struct Other {
    reason: &'static str,
    ids: &'static [&'static str],
}

const OTHERS: &[Other] = &[
    Other {
        reason: "not looked at: packages of a library or a test leave it out, and it changes no answer",
        ids: &["container-no-version", "documents-empty", "no-redundancy", "indexing-chain", "deploy-variant"],
    },
    Other {
        reason: "a selection of all documents of a cluster may name the types here, so that one of one type needs no other",
        ids: &["gc"],
    },
    Other {
        reason: "it is refused as not supported",
        ids: &["document-store-only", "provider-local", "inner-profile"],
    },
    Other {
        reason: "tuning that has no effect is not looked into",
        ids: &[
            "diversity-alone",
            "diversity-match-phase",
            "diversity-missing-attribute",
            "diversity-array",
            "match-phase-missing-attribute",
            "match-phase-string",
            "inherits-num-threads",
            "mutate",
            "match-cased-int",
        ],
    },
    Other { reason: "a type that contains itself has no end of parts that could be searched", ids: &["struct-own"] },
    Other {
        reason: "not taken: weights of uris",
        ids: &["type-weightedset<uri>-summary", "type-weightedset<uri>-index"],
    },
    Other {
        reason: "it has no effect, so more forms are taken",
        ids: &["summary-type-mismatch", "sorting", "id-twice", "compression"],
    },
    Other { reason: "an unknown type is refused even where nothing is asked of it", ids: &["input-bad-type"] },
    Other { reason: "expressions are read when ranking is compiled", ids: &["expression-syntax"] },
];

#[test]
fn packages_are_taken_and_refused_as_recorded() {
    let mut failures = Vec::new();
    for line in VECTORS.lines() {
        let row: Value = serde_json::from_str(line).expect("a row is JSON");
        let id = row["id"].as_str().expect("id");
        let files = row["files"].as_object().expect("files").iter();
        let files: Vec<_> =
            files.map(|(path, text)| (path.clone(), text.as_str().expect("a text").as_bytes().to_vec())).collect();
        let excused = OTHERS.iter().any(|other| other.ids.contains(&id) && !other.reason.is_empty());
        let difference = match (Application::deploy(&files), row["error"].as_str()) {
            (Ok(_), None) | (Err(_), Some(_)) => None,
            (Ok(_), Some(error)) => Some(format!("{id}: should be refused: {error}")),
            (Err(rejection), None) => Some(format!("{id}: refused: {rejection}")),
        };
        match difference {
            Some(difference) if !excused => failures.push(difference),
            None if excused => failures.push(format!("{id}: needs no excuse")),
            _ => {}
        }
    }
    assert!(failures.is_empty(), "{} rows differ:\n{}", failures.len(), failures.join("\n"));
}
