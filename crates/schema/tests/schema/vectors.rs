//! Recorded answers of the reference implementation: which schemas it takes, what it makes of their fields, and how it
//! refuses the others.
use std::collections::BTreeMap;

use brooklet_schema::Application;
use brooklet_task::{Code, Rejection};
use serde_json::Value;

const VECTORS: &str = include_str!("../../../../test-vectors/schema/schema.jsonl");

/// Rows refused as recorded, with another message.
struct OtherMessage {
    reason: &'static str,
    ids: &'static [&'static str],
}

const OTHER_MESSAGES: &[OtherMessage] = &[
    OtherMessage {
        reason: "expressions that convert values are refused as not supported yet, before their types are looked at",
        ids: &["schema-045"],
    },
    OtherMessage { reason: "the reference prints its internal name of the type", ids: &["schema-021"] },
    OtherMessage { reason: "the message is that of our tensor parser", ids: &["schema-156"] },
];

/// Rows that the parser of the reference takes, which recorded them, and its application model refuses.
const REFUSED_WHEN_DEPLOYED: &[&str] = &[
    // `inherits default, unranked`: both say whether default rank features are ignored.
    "schema-201",
];

fn deploy(schema: &str, name: &str) -> Result<Application, Rejection> {
    let services = format!(
        r#"<services version="1.0"><content id="c" version="1.0"><documents><document type="{name}" mode="streaming"/>
           </documents><redundancy>1</redundancy></content></services>"#
    );
    let schema_file = (format!("schemas/{name}.sd"), schema.as_bytes().to_vec());
    Application::deploy(&[("services.xml".to_owned(), services.into_bytes()), schema_file])
}

/// The recorded script without what indexed mode adds to it: linguistics, which streaming mode does without.
fn without_linguistics(script: &str) -> String {
    let mut script = script.to_owned();
    for step in ["tokenize normalize stem:\"BEST\" | ", "tokenize stem:\"BEST\" | ", "tokenize | ", "exact | "] {
        script = script.replace(step, "");
    }
    script
}

/// What differs between the recorded fields and warnings and those of the deployed schema.
fn compare(application: &Application, name: &str, row: &Value) -> Option<String> {
    let schema = application.schema(name)?;
    let fields = schema.fields.iter().map(|field| {
        let script = without_linguistics(&field.script.to_string());
        (field.name.clone(), format!("{} | {script}", field.data_type))
    });
    let found: BTreeMap<String, String> = fields.collect();
    let recorded = row["schemas"][name].as_object()?.iter();
    let wanted: BTreeMap<String, String> =
        recorded.map(|(name, field)| (name.clone(), without_linguistics(field.as_str().unwrap_or_default()))).collect();
    if found != wanted {
        return Some(format!("found {found:?}, recorded {wanted:?}"));
    }
    let mut warnings = row["warnings"].as_array()?.iter().filter_map(Value::as_str);
    let missing = warnings.find(|warning| !application.warnings.iter().any(|given| given == warning))?;
    Some(format!("not warned: {missing}; given {:?}", application.warnings))
}

/// Whether a refusal says what the reference says, or at least points at the same place.
fn agrees(rejection: &Rejection, recorded: &str) -> bool {
    let Some((_, place)) = recorded.rsplit_once("\" at line ") else { return rejection.message.contains(recorded) };
    rejection.span.is_some_and(|span| place == format!("{}, column {}", span.line, span.column))
}

#[test]
fn schemas_are_taken_and_refused_as_recorded() {
    let (mut rows, mut failures) = (0, Vec::new());
    for line in VECTORS.lines() {
        let row: Value = serde_json::from_str(line).expect("a row is JSON");
        let (id, sd) = (row["id"].as_str().expect("id"), row["sd"].as_str().expect("sd"));
        let recorded = row["schemas"].as_object().and_then(|schemas| schemas.keys().next());
        rows += 1;
        match (deploy(sd, recorded.map_or("t", String::as_str)), recorded) {
            (Ok(_), None) => failures.push(format!("{id}: should be refused: {}", row["error"])),
            (Err(_), Some(_)) if REFUSED_WHEN_DEPLOYED.contains(&id) => {}
            (Err(rejection), Some(_)) => failures.push(format!("{id}: refused: {rejection}")),
            (Ok(application), Some(name)) => {
                failures.extend(compare(&application, name, &row).map(|difference| format!("{id}: {difference}")));
            }
            (Err(rejection), None) => {
                let excused = OTHER_MESSAGES.iter().any(|other| other.ids.contains(&id) && !other.reason.is_empty());
                let message = row["error"].as_str().expect("error");
                if !matches!(rejection.code, Code::InvalidApplication | Code::Unsupported)
                    || excused == agrees(&rejection, message)
                {
                    failures.push(format!("{id}: {rejection}, recorded {message}"));
                }
            }
        }
    }
    assert_eq!(rows, 79, "every row is looked at");
    assert!(failures.is_empty(), "{} rows differ:\n{}", failures.len(), failures.join("\n"));
}
