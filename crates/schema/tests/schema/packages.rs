//! Recorded answers of the reference implementation to small application packages, each with one feature or one fault:
//! what deploys there deploys here, and what is refused there is refused here, but for what is listed with a reason.
use brooklet_schema::Application;
use serde_json::Value;

const VECTORS: [&str; 2] = [
    include_str!("../../../../test-vectors/schema/packages.jsonl"),
    include_str!("../../../../test-vectors/schema/services.jsonl"),
];

/// All recorded packages.
pub fn rows() -> Vec<Value> {
    let lines = VECTORS.iter().flat_map(|file| file.lines());
    lines.map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

/// Rows that are answered otherwise on purpose.
struct Other {
    reason: &'static str,
    ids: &'static [&'static str],
}

const OTHERS: &[Other] = &[
    Other {
        reason: "a deployment leaves variants for other environments out before it looks at the rest; the rows were recorded \
                 without that",
        ids: &["deploy-variant"],
    },
    Other {
        reason: "later releases of the reference take it with a warning, as is done here: a number has no case",
        ids: &["match-cased-int"],
    },
    Other { reason: "a type that contains itself has no end of parts that could be searched", ids: &["struct-own"] },
    Other {
        reason: "not done: the core knows no name of a host, and no place is made of a text; accents are taken away when \
                 words are compared; `flatten` is of the time before streaming mode",
        ids: &["indexing-made-18", "indexing-made-38", "indexing-made-39", "indexing-made-54"],
    },
    Other { reason: "expressions in linear time look at nothing around", ids: &["indexing-made-28"] },
    Other { reason: "a text cannot be made binary: the reference says so when it is fed", ids: &["indexing-made-63"] },
    Other { reason: "there is nothing to federate: a group is in one place", ids: &["services-federation"] },
    Other {
        reason: "documents would not be what the application makes of them: Java code cannot be run",
        ids: &["services-document-processing"],
    },
    Other {
        reason: "an input that is not declared is a number, in a strict profile too",
        ids: &["profile-strict-unknown-input"],
    },
    Other { reason: "each summary class selects elements as it says", ids: &["summary-selectors-conflict"] },
    Other { reason: "a line may end with a semicolon", ids: &["indexing-own-inputa|set_language;-string"] },
    Other {
        reason: "expressions and features are compiled by the crate that searches, which refuses it",
        ids: &["expression-syntax", "select-elements-by-undefined", "profile-tensor-type-mismatch"],
    },
];

#[test]
fn packages_are_taken_and_refused_as_recorded() {
    let mut failures = Vec::new();
    for row in rows() {
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
