//! What `onnx(model).output` means in a rank profile: which file, what its inputs are, and which output is wanted.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_rank::{Environment, FeatureName, ModelCall};
use brooklet_schema::{OnnxModel, OnnxSignature, RankProfile, Schema};
use brooklet_task::{Code, Rejection};

/// What the models of a rank profile are called with.
pub(crate) struct OnnxCalls<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) profile: &'a RankProfile,
    /// What the ONNX files of the package say of themselves, by their path.
    pub(crate) files: &'a BTreeMap<String, Result<Arc<OnnxSignature>, String>>,
    /// What expressions of the profile may ask.
    pub(crate) environment: &'a dyn Environment,
}

impl OnnxCalls<'_> {
    /// The call of a model that the profile defines, or of a file of the package.
    ///
    /// # Errors
    /// If there is no such model, file, input or output.
    #[inline(never)]
    pub(crate) fn call(&self, feature: &FeatureName) -> Result<ModelCall, Rejection> {
        let refuse = |message: String| self.refuse(message);
        let (name, output) = match (&feature.parameters[..], &feature.output) {
            ([name], output) => (name, output.as_deref()),
            ([name, output], None) => (name, Some(output.as_str())),
            _ => return Err(refuse(format!("'{feature}' takes the name of an onnx-model, and perhaps an output"))),
        };
        let model = self.profile.onnx_model(name);
        let (path, signature) = self.file(feature, name, model)?;
        let mut sources = Vec::with_capacity(signature.inputs.len());
        for input in &signature.inputs {
            let declared = model.and_then(|model| model.inputs.iter().find(|(known, _)| *known == input.name));
            let source = match declared {
                Some((_, source)) => Some(source.text.to_string()),
                None => self.of_that_name(&input.name),
            };
            sources.push(source.ok_or_else(|| {
                let name = Rejection::quote(&input.name);
                let hint = "say what it is in the onnx-model, as 'input \"name\": expression'";
                refuse(format!("'{feature}': nothing is called as the input '{name}' of {path}: {hint}"))
            })?);
        }
        let unknown = model.into_iter().flat_map(|model| &model.inputs).map(|(name, _)| name);
        if let Some(name) = unknown.into_iter().find(|name| signature.inputs.iter().all(|input| input.name != **name)) {
            let known = names(signature.inputs.iter().map(|input| input.name.as_str()));
            return Err(refuse(format!(
                "'{feature}': {path} has no input '{}'; it has {known}",
                Rejection::quote(name)
            )));
        }
        Ok(ModelCall {
            file: path.clone(),
            settings: model.map_or_else(Vec::new, |model| model.settings.clone()),
            output: output_of(&signature, model, output).map_err(|why| refuse(format!("'{feature}': {path} {why}")))?,
            signature,
            sources,
        })
    }

    /// The path of the model's file in the package, and what the file says of itself.
    #[inline(never)]
    fn file(
        &self,
        feature: &FeatureName,
        name: &str,
        model: Option<&OnnxModel>,
    ) -> Result<(String, Arc<OnnxSignature>), Rejection> {
        let refuse = |message: String| match model {
            Some(model) => model.place.reject(message),
            None => self.refuse(message),
        };
        let paths = match model {
            Some(model) => vec![model.file.clone()],
            None => vec![name.to_owned(), format!("models/{name}")],
        };
        let found = paths.iter().find_map(|path| Some((path, self.files.get(path)?)));
        match found {
            Some((path, Ok(signature))) => Ok((path.clone(), signature.clone())),
            Some((path, Err(why))) => Err(refuse(format!("{} cannot be used: {why}", Rejection::quote(path)))),
            None if model.is_some() => {
                Err(refuse(format!("there is no file {} (.onnx) in the package", Rejection::quote(&paths[0]))))
            }
            None => {
                let known = names(self.profile.onnx_models.iter().map(|model| model.name.as_str()));
                Err(refuse(format!("'{feature}' names no onnx-model and no file of the package; there are {known}")))
            }
        }
    }

    /// What has the name of an input: a function, a constant, a field, or an input of the query.
    fn of_that_name(&self, name: &str) -> Option<String> {
        if self.environment.function(name).is_some_and(|function| function.parameters.is_empty()) {
            return Some(name.to_owned());
        }
        if self.environment.constant(name).is_some() {
            return Some(format!("constant({name})"));
        }
        if self.schema.field(name).is_some() {
            return Some(format!("attribute({name})"));
        }
        self.profile.input(name).map(|_| format!("query({name})"))
    }

    fn refuse(&self, message: String) -> Rejection {
        Rejection::new(Code::InvalidApplication, format!("rank profile '{}': {message}", self.profile.name))
    }
}

/// Which output is meant: by its name in expressions, by its name in the graph, or the first.
#[inline(never)]
fn output_of(signature: &OnnxSignature, model: Option<&OnnxModel>, output: Option<&str>) -> Result<usize, String> {
    let in_graph = |name: &str| signature.outputs.iter().position(|output| output.name == name);
    let declared = || model.into_iter().flat_map(|model| &model.outputs);
    if let Some((name, _)) = declared().find(|(name, _)| in_graph(name).is_none()) {
        let known = names(signature.outputs.iter().map(|output| output.name.as_str()));
        return Err(format!("has no output '{}'; it has {known}", Rejection::quote(name)));
    }
    let Some(wanted) = output else {
        return Ok(declared().find_map(|(name, _)| in_graph(name)).unwrap_or(0));
    };
    let renamed = declared().find(|(_, known_as)| known_as == wanted).and_then(|(name, _)| in_graph(name));
    renamed.or_else(|| in_graph(wanted)).ok_or_else(|| {
        let known = declared().map(|(_, known_as)| known_as.as_str());
        let known = names(known.chain(signature.outputs.iter().map(|output| output.name.as_str())));
        format!("has no output '{}'; it has {known}", Rejection::quote(wanted))
    })
}

fn names<'n>(all: impl Iterator<Item = &'n str>) -> String {
    let all: Vec<String> = all.map(|name| format!("'{}'", Rejection::quote(name))).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}
