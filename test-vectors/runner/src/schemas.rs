//! Rows of `schema`: a deploy, its report and its fields, or its refusal.
use brooklet_schema::Application;
use brooklet_search::Deployed;
use serde_json::Value as Json;

use crate::host::services;
use crate::row::{needed, outcome, refusal};

/// A row of `schema`.
pub(crate) fn schema(row: &Json) -> String {
    let recorded = row["schemas"].as_object().and_then(|schemas| schemas.keys().next());
    let name = recorded.map_or("t", String::as_str);
    let files = [
        ("services.xml".to_owned(), services(&[name]).into_bytes()),
        (format!("schemas/{name}.sd"), needed(row, "sd").as_bytes().to_vec()),
    ];
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
