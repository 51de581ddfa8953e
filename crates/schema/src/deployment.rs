//! The deployment of a package: it is read, resolved, and held against what streaming mode serves.
use std::collections::BTreeSet;
use std::sync::Arc;

use brooklet_document::legal_text::is_legal;
use brooklet_document::selection::Selection;
use brooklet_kernel::sort_by;
use brooklet_task::{Code, Rejection, did_you_mean};

use crate::application::Application;
use crate::cluster::Mode;
use crate::package::Package;
use crate::place::SourcePlace;
use crate::query_profiles::QueryProfiles;
use crate::rank_profile::{Input, InputType};
use crate::remarks::Remarks;
use crate::resolve::ResolvedSchema;
use crate::schema::Schema;
use crate::schema_files::schema_trees;
use crate::services::{Cluster, EmbedderConfig, generators, language};
use crate::{model_files, overrides, query_profiles, resolve, services, significance, validate};

impl Application {
    /// Deploys a package: all its files, by path relative to its root.
    ///
    /// # Errors
    /// If anything in it is malformed, contradictory, or not supported; the message names file, line and column.
    pub fn deploy(files: &[(String, Vec<u8>)]) -> Result<Application, Rejection> {
        Application::deploy_with(files, &[])
    }

    /// Deploys a package whose models have addresses: the outlines of those that the host has, by their address.
    ///
    /// # Errors
    /// As of [`Application::deploy`]; and if a model is not among them.
    pub fn deploy_with(files: &[(String, Vec<u8>)], models: &[(String, Vec<u8>)]) -> Result<Application, Rejection> {
        let (application, objections) = Application::read(files, models)?;
        objections.into_iter().next().map_or(Ok(application), Err)
    }

    /// Reads a package that was deployed before, perhaps by a release that refused less: what this one only objects to does
    /// not keep it from being served. It comes with the objections.
    ///
    /// # Errors
    /// As of [`Application::deploy_with`], but for objections.
    pub fn restore(files: &[(String, Vec<u8>)], models: &[(String, Vec<u8>)]) -> Result<Application, Rejection> {
        let (mut application, objections) = Application::read(files, models)?;
        application.objections = objections.into_iter().map(|objection| objection.message).collect();
        Ok(application)
    }

    fn read(
        files: &[(String, Vec<u8>)],
        models: &[(String, Vec<u8>)],
    ) -> Result<(Application, Vec<Rejection>), Rejection> {
        let mut package = Package::sort(files)?;
        let mut remarks = std::mem::take(&mut package.remarks);
        let Some((path, content)) = package.services else {
            return Err(Rejection::new(Code::InvalidApplication, "services.xml is missing in the application package"));
        };
        let services = services::read(path, content)?;
        let resolved = resolve::schemas(&schema_trees(&package)?)?;
        let overrides = match package.overrides {
            Some((path, content)) => overrides::read(path, content, &mut remarks)?,
            None => Vec::new(),
        };
        let (models, onnx_files) = model_files::read(&package, models);
        let expression_models = model_files::expressions(&package, &mut remarks);
        let model_evaluation = services.model_evaluation;
        let significance = significance::read(&services.significance_models, &package)?;
        remarks.add(services.remarks);
        let query_profiles = query_profiles::read(&package.query_profiles, &package.query_profile_types, &mut remarks)?;
        let mut schemas = serve(&resolved, &services.clusters, &mut remarks)?;
        let unserved = unserved(&resolved, &schemas, &mut remarks);
        for schema in &schemas {
            remarks.objections.extend(model_files::check(schema, &onnx_files));
            remarks.warnings.extend(check_embedders(schema, &services.embedders)?);
        }
        let generators =
            generators::resolve(services.generators, &services.language_models, &package.files, &mut remarks.warnings)?;
        generators::give(&mut schemas, &generators)?;
        give_inputs(&mut schemas, &query_profiles, &mut remarks);
        let Remarks { mut warnings, mut objections } = remarks;
        sort_by(&mut schemas, |a, b| a.name.cmp(&b.name));
        let mut seen = BTreeSet::new();
        warnings.retain(|warning| seen.insert(warning.clone()));
        let (configs, places): (Vec<_>, Vec<_>) =
            services.clusters.into_iter().map(|cluster| (cluster.config, cluster.places)).unzip();
        let ignore_undefined_fields = services.ignore_undefined_fields;
        let search_chains = language::resolve(&services.chains, &services.language_models, &package.files)?;
        let embedders = services.embedders;
        let language_models = services.language_models;
        let clusters = configs;
        let application = Application {
            schemas,
            unserved,
            clusters,
            ignore_undefined_fields,
            embedders,
            language_models,
            generators,
            search_chains,
            warnings,
            overrides,
            models,
            onnx_files,
            expression_models,
            model_evaluation,
            significance,
            query_profiles,
            objections: Vec::new(),
            history: None,
        };
        objections.extend(application.check_selections(&places)?);
        Ok((application, objections))
    }

    /// Every selection of services.xml must be one, and name what exists. One of a document type that names others is
    /// objected to, and one of all documents of a cluster that names any.
    fn check_selections(&self, places: &[Vec<SourcePlace>]) -> Result<Vec<Rejection>, Rejection> {
        let mut objections = Vec::new();
        for (cluster, places) in self.clusters.iter().zip(places) {
            for (config, place) in cluster.types.iter().zip(places) {
                let Some(selection) = cluster.stored_selection(&config.name) else { continue };
                let parse = |text: &str| Selection::parse(text, self, Code::InvalidApplication);
                parse(&selection)
                    .map_err(|error| place.reject(format!("document type '{}': {}", config.name, error.message)))?;
                let own = config.selection.as_deref().and_then(|own| parse(own).ok());
                let named = own.iter().flat_map(Selection::types);
                objections.extend(named.filter(|name| **name != config.name).map(|other| {
                    place.reject(format!(
                        "Selection for document type '{}' cannot contain references to other document types, but references {other}",
                        config.name
                    ))
                }));
            }
            let Some((of_all, place)) = cluster.selection.as_deref().zip(places.first()) else { continue };
            // It stands alone too, whatever it gives together with others.
            let of_all = match Selection::parse(of_all, self, Code::InvalidApplication) {
                Ok(of_all) => of_all,
                Err(error) => {
                    objections.push(place.reject(format!("content cluster '{}': {}", cluster.name, error.message)));
                    continue;
                }
            };
            if let Some(name) = of_all.types().first() {
                objections.push(place.reject(format!(
                    "Document type references are not allowed in global <documents> tag selection attribute, but references {name}"
                )));
            }
        }
        Ok(objections)
    }
}

/// The schemas that the clusters serve, and what is said of all.
fn serve(
    resolved: &[ResolvedSchema],
    clusters: &[Cluster],
    remarks: &mut Remarks,
) -> Result<Vec<Arc<Schema>>, Rejection> {
    remarks.objections.extend(resolved.iter().flat_map(|of| of.remarks.objections.iter().cloned()));
    let mut schemas: Vec<Arc<Schema>> = Vec::new();
    for cluster in clusters {
        for (config, place) in cluster.config.types.iter().zip(&cluster.places) {
            let Some(found) = resolved.iter().find(|resolved| resolved.schema.name == config.name) else {
                let hint = did_you_mean(&config.name, resolved.iter().map(|known| known.schema.name.as_str()));
                let name = Rejection::quote(&config.name);
                return Err(place.reject(format!("document type '{name}' has no schema schemas/{name}.sd{hint}")));
            };
            remarks.warnings.extend(found.remarks.warnings.iter().cloned());
            let of_streaming = validate::streaming(found, &cluster.config.name)?;
            found.schema.check_allowed_values(&found.place)?;
            let mut schema = found.schema.clone();
            let own = Arc::make_mut(&mut schema);
            own.cluster.clone_from(&cluster.config.name);
            own.is_marked = schemas.iter().any(|other| other.name == config.name);
            own.is_shared = is_shared(clusters, &config.name);
            if own.is_shared && own.cluster.contains(|c: char| c == ':' || !is_legal(c)) {
                let name = Rejection::quote(&config.name);
                return Err(place.unsupported_here(format!(
                    "the id '{}' of a content cluster with document type '{name}', which others have too",
                    Rejection::quote(&own.cluster)
                )));
            }
            match config.mode {
                Mode::Streaming => remarks.warnings.extend(of_streaming),
                Mode::StoreOnly => own.document_only = true,
            }
            schemas.push(schema);
        }
    }
    Ok(schemas)
}

/// The schemas that no cluster serves, each of which is warned of.
fn unserved(resolved: &[ResolvedSchema], served: &[Arc<Schema>], remarks: &mut Remarks) -> Vec<Arc<Schema>> {
    let is_served = |name: &str| served.iter().any(|schema| schema.name == name);
    let unserved: Vec<_> = resolved.iter().map(|of| &of.schema).filter(|schema| !is_served(&schema.name)).collect();
    for schema in &unserved {
        remarks.warn(format!("Schema '{}' is in no content cluster: it is not served", schema.name));
    }
    unserved.into_iter().cloned().collect()
}

/// Whether several clusters have a document type.
fn is_shared(clusters: &[Cluster], document_type: &str) -> bool {
    let has = |cluster: &&Cluster| cluster.config.types.iter().any(|config| config.name == document_type);
    clusters.iter().filter(has).nth(1).is_some()
}

/// Gives rank profiles the inputs that types of query profiles declare, where they have none of the name themselves.
fn give_inputs(schemas: &mut [Arc<Schema>], query_profiles: &QueryProfiles, remarks: &mut Remarks) {
    let inputs = query_profiles.tensor_inputs(remarks);
    if inputs.is_empty() {
        return;
    }
    for profile in schemas.iter_mut().flat_map(|schema| &mut Arc::make_mut(schema).rank_profiles) {
        for (name, of) in &inputs {
            if profile.input(name).is_none() {
                let input_type = InputType::Tensor(Arc::clone(of));
                profile.inputs.push(Input { name: (*name).to_owned(), input_type, default: None });
            }
        }
    }
}

/// Holds what scripts embed with against the components. A server may have embedders of its own, so one that is no
/// component is only warned about.
fn check_embedders(schema: &Schema, embedders: &[EmbedderConfig]) -> Result<Vec<String>, Rejection> {
    let mut warnings = Vec::new();
    for field in schema.made_fields() {
        for call in field.script.embed_calls() {
            let ids = || embedders.iter().map(|embedder| embedder.id.as_str());
            if call.embedder.is_empty() && embedders.len() > 1 {
                let all = ids().collect::<Vec<_>>().join(", ");
                let about = format!("For schema '{}', field '{}'", schema.name, field.name);
                return Err(call
                    .place
                    .reject(format!("{about}: there are several embedders, one must be named: {all}")));
            }
            if !call.embedder.is_empty() && !ids().any(|id| id == call.embedder) {
                let hint = did_you_mean(&call.embedder, ids());
                let shown = Rejection::quote(&call.embedder);
                let rest = "is no component of services.xml: the server must be given it";
                warnings.push(format!("{}: the embedder '{shown}' {rest}{hint}", call.place));
            }
        }
    }
    Ok(warnings)
}
