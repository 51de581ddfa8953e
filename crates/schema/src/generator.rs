//! Field generators: how a prompt for the value of a field is made, and which form its answer has. The host asks the model.
use std::sync::Arc;

use brooklet_document::DataType;

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
