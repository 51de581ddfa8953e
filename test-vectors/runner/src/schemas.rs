//! Rows of `schema`: a deploy, its report and its fields, or its refusal. Rows of `query-profile`: what is read of the
//! profiles.
use brooklet_schema::Application;
use brooklet_search::Deployed;
use serde_json::{Map, Value as Json};

use crate::host::services;
use crate::row::{needed, outcome, refusal};

/// A row of `schema`: one schema file, or a whole package.
pub(crate) fn schema(row: &Json) -> String {
    let recorded = row["schemas"].as_object().and_then(|schemas| schemas.keys().next());
    let name = recorded.map_or("t", String::as_str);
    let alone = || {
        let sd = needed(row, "sd").as_bytes().to_vec();
        vec![("services.xml".to_owned(), services(&[name]).into_bytes()), (format!("schemas/{name}.sd"), sd)]
    };
    let files = row["files"].as_object().map_or_else(alone, files_of);
    outcome(Application::deploy(&files).map(|application| {
        let fields = application.schemas.iter().flat_map(|schema| &schema.fields);
        let scripts: Vec<String> =
            fields.map(|field| format!("{} {} {}", field.name, field.data_type, field.script)).collect();
        let mut lines = vec![application.report(), scripts.join("\n")];
        // What can be deployed is more than what can be searched yet: both outcomes are answers.
        lines.extend(Deployed::compile(application).err().map(|rejection| refusal(&rejection)));
        lines.join("\n")
    }))
}

/// The files of a package, each with its content.
fn files_of(files: &Map<String, Json>) -> Vec<(String, Vec<u8>)> {
    let bytes = |content: &Json| content.as_str().unwrap_or_default().as_bytes().to_vec();
    files.iter().map(|(path, content)| (path.clone(), bytes(content))).collect()
}

/// A row of `query-profile`.
pub(crate) fn query_profiles(row: &Json) -> String {
    let package = [
        ("services.xml".to_owned(), services(&["t"]).into_bytes()),
        ("schemas/t.sd".to_owned(), b"schema t { document t { field a type int { indexing: attribute } } }".to_vec()),
    ];
    let own = row["files"].as_object().map(files_of).unwrap_or_default();
    let files: Vec<_> = package.into_iter().chain(own).collect();
    outcome(Application::deploy(&files).map(|application| format!("{:?}", application.query_profiles)))
}
