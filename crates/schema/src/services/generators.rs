//! Field generators of services.xml: what asks a language model for the value of a field (`generate` in the indexing
//! language). How a prompt is made, and which form its answer has, is decided here; the host asks the model.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::DataType;
use brooklet_task::Rejection;

use super::language::{LanguageModelConfig, SettingPairs, setting};
use crate::place::Place;
use crate::schema::Schema;
use crate::suggest::did_you_mean;

/// A field generator of services.xml.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorConfig {
    /// The component id, by which scripts name it.
    pub id: String,
    /// The component id of its language model.
    pub provider: String,
    /// The prompt, with `{input}` for the value the script has; nothing: that value is the prompt.
    pub template: Option<String>,
    /// Whether the answer is a JSON object with the value; otherwise it is the value, a text.
    pub answers_json: bool,
    /// The JSON schema asked for instead of the one that follows from the field.
    pub json_schema: Option<String>,
    /// Whether an operation fails whose answer has not the form that was asked for; otherwise the field has no value.
    pub fails: bool,
}

/// A generator as it was read.
#[derive(Debug)]
pub(crate) struct GeneratorTree {
    pub(crate) id: String,
    pub(crate) settings: SettingPairs,
    pub(crate) place: Place,
}

impl GeneratorConfig {
    /// The generator of an id; without an id the only one there is.
    #[must_use]
    pub fn find<'g>(generators: &'g [Arc<GeneratorConfig>], id: &str) -> Option<&'g GeneratorConfig> {
        match generators {
            [only] if id.is_empty() => Some(only),
            all => all.iter().find(|generator| generator.id == id).map(|found| &**found),
        }
    }

    /// The prompt for an input, whose answer has the JSON schema.
    #[must_use]
    pub fn prompt(&self, input: &str, json_schema: &str) -> String {
        let Some(template) = &self.template else { return input.to_owned() };
        let mut prompt = String::with_capacity(template.len() + input.len());
        let mut rest = template.as_str();
        // From left to right, so that nothing is replaced in what was put in.
        while let Some(brace) = rest.find('{') {
            prompt.push_str(&rest[..brace]);
            rest = &rest[brace..];
            let (token, value) = if rest.starts_with("{input}") {
                ("{input}", input)
            } else if rest.starts_with("{jsonSchema}") && !json_schema.is_empty() {
                ("{jsonSchema}", json_schema)
            } else {
                ("{", "{")
            };
            prompt.push_str(value);
            rest = &rest[token.len()..];
        }
        prompt.push_str(rest);
        prompt
    }

    /// The JSON schema of the answer, on one line: an object whose only member is named `member` and of that type. Empty
    /// if the answer is a text.
    #[must_use]
    pub fn answer_schema(&self, member: &str, of: &DataType) -> String {
        match &self.json_schema {
            _ if !self.answers_json => String::new(),
            // Line ends stand between tokens of JSON only.
            Some(own) => own.replace(['\n', '\r'], " "),
            None => json_schema_of_object(&[(member, of)]),
        }
    }
}

/// Whether a language model can be asked for a value of that type.
pub(crate) fn can_be_generated(of: &DataType) -> bool {
    json_schema(of).is_some()
}

/// The JSON schema of an object with these members and no others.
fn json_schema_of_object(members: &[(&str, &DataType)]) -> String {
    let list = |of: Vec<String>| of.join(",");
    let properties = members.iter().map(|(name, of)| format!("\"{name}\":{}", json_schema(of).unwrap_or_default()));
    let required = members.iter().map(|(name, _)| format!("\"{name}\""));
    format!(
        "{{\"type\":\"object\",\"properties\":{{{}}},\"required\":[{}],\"additionalProperties\":false}}",
        list(properties.collect()),
        list(required.collect())
    )
}

/// The JSON schema of a value; nothing for tensors, references, and whatever else no model is asked for.
fn json_schema(of: &DataType) -> Option<String> {
    let plain = |name: &str| Some(format!("{{\"type\":\"{name}\"}}"));
    let of_members =
        |of: &DataType| Some(format!("{{\"type\":\"object\",\"additionalProperties\":{}}}", json_schema(of)?));
    match of {
        DataType::Bool => plain("boolean"),
        DataType::String => plain("string"),
        DataType::Byte | DataType::Int | DataType::Long => plain("integer"),
        DataType::Float16 | DataType::Float | DataType::Double => plain("number"),
        DataType::Array(of) => Some(format!("{{\"type\":\"array\",\"items\":{}}}", json_schema(of)?)),
        DataType::WeightedSet { .. } => of_members(&DataType::Int),
        DataType::Map(_, of) => of_members(of),
        DataType::Struct(of) => {
            let members = of.fields.iter().map(|field| (field.name.as_str(), &field.data_type)).collect::<Vec<_>>();
            members.iter().all(|(_, of)| can_be_generated(of)).then(|| json_schema_of_object(&members))
        }
        _ => None,
    }
}

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
            provider: super::language::provider(&settings, models, &place)?,
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
fn word<'w>(place: &Place, settings: &[(String, String)], name: &str, words: &[&'w str]) -> Result<&'w str, Rejection> {
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

/// The text of a template's file.
pub(super) fn template(path: &str, files: &BTreeMap<&str, &[u8]>, place: &Place) -> Result<String, Rejection> {
    let Some(content) = files.get(path) else {
        let (shown, hint) = (Rejection::quote(path), did_you_mean(path, files.keys().copied()));
        return Err(place.reject(format!("the template '{shown}' is no file of the package{hint}")));
    };
    match std::str::from_utf8(content) {
        Ok(template) => Ok(template.to_owned()),
        Err(_) => Err(place.reject(format!("the template '{}' is not UTF-8", Rejection::quote(path)))),
    }
}
