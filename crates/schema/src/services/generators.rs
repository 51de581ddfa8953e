//! Field generators of services.xml: what asks a language model for the value of a field (`generate` in the indexing
//! language). They are given to the schemas whose scripts call one.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::DataType;
use brooklet_task::{Rejection, did_you_mean};

use super::language::{GeneratorTree, LanguageModelConfig, provider, setting, template};
use crate::generator::GeneratorConfig;
use crate::place::SourcePlace;
use crate::schema::Schema;

/// The generators, each with a model there is and the text of its template.
///
/// # Errors
/// If two have one id, one names a model or a file that is not there, or a setting is none of its words.
pub(crate) fn resolve(
    trees: Vec<GeneratorTree>,
    models: &[LanguageModelConfig],
    files: &BTreeMap<&str, &[u8]>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Arc<GeneratorConfig>>, Rejection> {
    let mut generators: Vec<Arc<GeneratorConfig>> = Vec::new();
    for GeneratorTree { id, settings, place } in trees {
        if generators.iter().any(|other| other.id == id) {
            return Err(place.reject(format!("two components have the id '{}'", Rejection::quote(&id))));
        }
        let said = |name: &str| Some(setting(&settings, name).to_owned()).filter(|value| !value.trim().is_empty());
        let answers_json = word(&place, &settings, "responseFormatType", &["JSON", "TEXT"])? == "JSON";
        let policy = word(&place, &settings, "invalidResponseFormatPolicy", &["DISCARD", "WARN", "FAIL"])?;
        if policy == "WARN" {
            warnings
                .push(format!("{place}: answers of the wrong form are passed over without a warning, as by DISCARD"));
        }
        generators.push(Arc::new(GeneratorConfig {
            provider: provider(&settings, models, &place)?,
            template: match said("promptTemplate") {
                Some(template) => Some(template),
                None => said("promptTemplateFile").map(|path| template(&path, files, &place)).transpose()?,
            },
            json_schema: said("responseJsonSchema"),
            fails: policy == "FAIL",
            id,
            answers_json,
        }));
    }
    Ok(generators)
}

/// Gives the generators to the schemas whose scripts call one.
///
/// # Errors
/// As [`check`].
pub(crate) fn give(schemas: &mut [Arc<Schema>], generators: &[Arc<GeneratorConfig>]) -> Result<(), Rejection> {
    schemas.iter_mut().try_for_each(|schema| {
        if check(schema, generators)? {
            generators.clone_into(&mut Arc::make_mut(schema).generators);
        }
        Ok(())
    })
}

/// Holds what scripts generate with against the components; whether there is anything of the kind.
fn check(schema: &Schema, generators: &[Arc<GeneratorConfig>]) -> Result<bool, Rejection> {
    let mut calls = schema.made_fields().flat_map(|field| {
        field.script.generate_calls(&field.data_type).into_iter().map(move |call| (field.name.as_str(), call))
    });
    calls.try_fold(false, |_, (field, call)| {
        let about = format!("For schema '{}', field '{field}'", schema.name);
        let ids = || generators.iter().map(|generator| generator.id.as_str());
        let Some(generator) = GeneratorConfig::find(generators, &call.generator) else {
            let (shown, hint) = (Rejection::quote(&call.generator), did_you_mean(&call.generator, ids()));
            let known = ids().collect::<Vec<_>>().join(", ");
            let what = match (generators.len(), call.generator.is_empty()) {
                (0, _) => "services.xml has no component of a field generator".to_owned(),
                (_, true) => format!("there are several field generators, one must be named: {known}"),
                (_, false) => format!("there is no field generator '{shown}'{hint}; there are {known}"),
            };
            return Err(call.place.reject(format!("{about}: {what}")));
        };
        if !generator.answers_json && call.target != DataType::String {
            let (id, target) = (&generator.id, &call.target);
            let text =
                format!("{about}: the generator '{id}' answers with texts, which are no values of type {target}");
            return Err(call.place.reject(text));
        }
        Ok(true)
    })
}

/// A setting that is one of some words, of which the first is meant where none is said.
fn word<'w>(
    place: &SourcePlace,
    settings: &[(String, String)],
    name: &str,
    words: &[&'w str],
) -> Result<&'w str, Rejection> {
    let value = setting(settings, name);
    match words.iter().find(|word| **word == value || value.is_empty()) {
        Some(word) => Ok(word),
        None => {
            let (all, shown) = (words.join(", "), Rejection::quote(value));
            Err(place.reject(format!(
                "<{name}> must be one of {all}, not '{shown}'{}",
                did_you_mean(value, words.iter().copied())
            )))
        }
    }
}
