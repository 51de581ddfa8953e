//! The files of models: those of the package, and outlines of those that a package gives the address of.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use brooklet_kernel::map_of;
use brooklet_task::Rejection;

use crate::application::Application;
use crate::constant_files;
use crate::onnx::OnnxSignature;
use crate::package::{Package, text};
use crate::rank_profile::RankProfile;
use crate::remarks::Remarks;
use crate::report::quote;
use crate::resolve::profiles::of_model;
use crate::schema::Schema;
use crate::schema_files::schema_trees;
use crate::sd::lex::SourceFile;
use crate::sd::model::model_file;
use crate::services;

/// What ONNX files say of themselves, by path or address; of a file that is none, why.
type Signatures = BTreeMap<String, Result<Arc<OnnxSignature>, String>>;

/// Addresses of models that a package names, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelAddresses {
    /// Those that rank: what they say of themselves must be known to deploy the package.
    pub ranking: BTreeSet<String>,
    /// Those of embedders, which are opened when they are needed.
    pub embedders: BTreeSet<String>,
}

impl ModelAddresses {
    /// As JSON, in the form docs/abi.md gives.
    #[must_use]
    pub fn to_json(&self) -> String {
        let list = |of: &BTreeSet<String>| of.iter().map(|address| quote(address)).collect::<Vec<_>>().join(",");
        format!("{{\"ranking\":[{}],\"embedders\":[{}]}}", list(&self.ranking), list(&self.embedders))
    }
}

impl Application {
    /// The addresses of models in a package.
    ///
    /// # Errors
    /// If one of its schemas, or services.xml, cannot be read.
    pub fn model_addresses(files: &[(String, Vec<u8>)]) -> Result<ModelAddresses, Rejection> {
        let package = Package::sort(files)?;
        let mut addresses = ModelAddresses::default();
        for tree in schema_trees(&package)? {
            let of_profiles = tree.profiles.iter().flat_map(|profile| &profile.onnx_models);
            let all = tree.onnx_models.iter().chain(of_profiles).filter(|model| model.is_address);
            addresses.ranking.extend(all.map(|model| model.file.clone()));
        }
        if let Some((path, content)) = package.services {
            let settings = services::read(path, content)?.embedders.into_iter().flat_map(|embedder| embedder.settings);
            addresses.embedders.extend(settings.filter(|(name, _)| name.ends_with("@url")).map(|(_, url)| url));
        }
        Ok(addresses)
    }
}

/// Decision trees by their path below `models/`, and what ONNX files say of themselves.
pub(crate) fn read(package: &Package<'_>, outlines: &[(String, Vec<u8>)]) -> (BTreeMap<String, Arc<[u8]>>, Signatures) {
    let trees = package.files.iter().filter_map(|(path, content)| {
        let name = path.strip_prefix("models/").filter(|name| name.ends_with(".json"))?;
        Some((name.to_owned(), Arc::from(*content)))
    });
    let own = package.files.iter().filter(|(path, _)| path.ends_with(".onnx")).map(|(path, content)| (*path, *content));
    let given = outlines.iter().map(|(address, content)| (address.as_str(), content.as_slice()));
    let onnx = own.chain(given).map(|(name, content)| {
        let signature = OnnxSignature::read(content).map(Arc::new).map_err(|rejection| rejection.message);
        (name.to_owned(), signature)
    });
    (map_of(trees), map_of(onnx))
}

/// Models that are ranking expressions, by their path below `models/` without its ending. One that cannot be read is objected to:
/// earlier releases passed it over.
pub(crate) fn expressions(package: &Package<'_>, remarks: &mut Remarks) -> BTreeMap<String, Arc<RankProfile>> {
    let mut models = BTreeMap::new();
    for (path, content) in &package.files {
        let Some(name) = path.strip_prefix("models/").and_then(|name| name.strip_suffix(".model")) else { continue };
        match expression_model(path, content, package) {
            Ok(model) => drop(models.insert(name.to_owned(), Arc::new(model))),
            Err(rejection) => remarks.object(rejection),
        }
    }
    models
}

fn expression_model(path: &str, content: &[u8], package: &Package<'_>) -> Result<RankProfile, Rejection> {
    let mut tree = model_file(&SourceFile::new(path, text(path, content)?.to_owned()))?;
    let folder = path.rfind('/').map_or("", |end| &path[..=end]);
    for constant in &mut tree.constants {
        if let Some(file) = constant.file.clone() {
            constant_files::read(constant, &format!("{folder}{file}"), package)?;
        }
    }
    of_model(&tree)
}

/// Every model that is defined must be one, also where no expression calls it. What calls one that is none does not compile, so
/// these are objections.
pub(crate) fn check(schema: &Schema, files: &Signatures) -> Vec<Rejection> {
    let mut objections = Vec::new();
    for model in schema.rank_profiles.iter().flat_map(|profile| &profile.onnx_models) {
        let path = Rejection::quote(&model.file);
        if !model.is_address && !model.file.ends_with(".onnx") {
            objections.push(model.place.reject(format!("the file of an onnx-model ends with .onnx: {path}")));
            continue;
        }
        match files.get(&model.file) {
            Some(Ok(_)) => {}
            Some(Err(why)) => objections.push(model.place.reject(format!("{path} cannot be used: {why}"))),
            None if model.is_address => {
                // The whole of it: it is to be copied.
                let command = format!("brooklet model pull {}", model.file);
                let message = format!(
                    "the model of '{}' is not on this server, and nothing is downloaded by a deploy: run '{command}' \
                     (with the --model-cache of the server) and deploy again",
                    model.name
                );
                objections.push(model.place.reject(message));
            }
            None => objections.push(model.place.reject(format!("Unable to find ONNX model '{path}'"))),
        }
    }
    objections
}
