//! services.xml: content clusters and document types, and what of the rest is read, ignored, warned about or refused.
//!
//! Every element and attribute is looked up in a table (`tables`); one that is in none is refused, so that nothing is
//! ignored by oversight.
use brooklet_task::{Rejection, did_you_mean};
use roxmltree::Node;

use crate::cluster::{ContentCluster, DocumentTypeConfig, Mode};
use crate::onnx::ModelEvaluation;
use crate::place::SourcePlace;
use crate::remarks::Remarks;
use crate::sd::onnx_model::is_runtime_setting;
use crate::snippet_settings::SnippetConfig;

mod components;
mod elements;
pub(crate) mod generators;
pub(crate) mod language;
mod snippets;
mod tables;
pub(crate) mod xml;

pub use components::EmbedderConfig;
use elements::{Elements, Read, is_ours};
pub use language::{LanguageModelConfig, SearchChain};
use xml::{XmlFile, name, text};

/// What services.xml says.
#[derive(Debug, Default)]
pub(crate) struct Services {
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) ignore_undefined_fields: bool,
    pub(crate) embedders: Vec<EmbedderConfig>,
    /// Paths of significance models, in their order, and where they are named.
    pub(crate) significance_models: Vec<(String, SourcePlace)>,
    pub(crate) language_models: Vec<LanguageModelConfig>,
    pub(crate) generators: Vec<language::GeneratorTree>,
    pub(crate) chains: Vec<language::ChainTree>,
    pub(crate) model_evaluation: Option<ModelEvaluation>,
    pub(crate) remarks: Remarks,
}

/// A content cluster, and where its document types stand.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) config: ContentCluster,
    /// Places of `config.types`, in their order.
    pub(crate) places: Vec<SourcePlace>,
}

/// Seconds between two looks for documents that are to go.
const GARBAGE_COLLECTION_INTERVAL: &str = "3600";

/// Reads services.xml.
///
/// # Errors
/// If it is malformed, or has something unknown or not supported.
pub(crate) fn read(path: &str, content: &str) -> Read<Services> {
    let file = XmlFile::parse(path, content)?;
    let mut reader =
        Reader { elements: Elements { file: &file, remarks: Remarks::default() }, services: Services::default() };
    reader.root()?;
    reader.count_java();
    Ok(Services { remarks: reader.elements.remarks, ..reader.services })
}

/// Most copies that may be asked for. There is one of everything here.
const REDUNDANCY_MAX: u32 = 65_534;

struct Reader<'f, 'a> {
    elements: Elements<'f, 'a>,
    services: Services,
}

impl<'f, 'a> Reader<'f, 'a> {
    fn root(&mut self) -> Read<()> {
        let root = self.elements.file.root();
        match name(root) {
            "services" => {}
            // A file of one cluster may leave the outermost element out.
            "container" => return self.container(root),
            "content" => return self.content(root),
            other => {
                return Err(self.elements.file.place(root).reject(format!("<services> expected, found <{other}>")));
            }
        }
        if root.attribute("version").is_some() {
            self.check_version(root);
        }
        let children = self.elements.children(root, "services", tables::SERVICES)?;
        self.elements.cluster_ids(&children);
        for child in children {
            match name(child) {
                "container" => self.container(child)?,
                _ => self.content(child)?,
            }
        }
        Ok(())
    }

    /// One warning for all that is written in Java: each is easily overlooked.
    fn count_java(&mut self) {
        let warnings = &mut self.elements.remarks.warnings;
        let count = warnings.iter().filter(|warning| warning.ends_with(tables::JAVA_IS_NOT_RUN)).count();
        let (components, are) = if count == 1 { ("Java component", "is") } else { ("Java components", "are") };
        if count > 0 {
            warnings
                .push(format!("{count} {components} {are} ignored: answers will differ where they would change them"));
        }
    }

    /// A cluster is of version 1.0, and says so.
    fn check_version(&mut self, node: Node<'f, 'a>) {
        match node.attribute("version") {
            Some("1.0") => {}
            None => {
                self.elements.object(node, format!("element \"{}\" missing required attribute \"version\"", name(node)))
            }
            Some(version) => {
                let shown = Rejection::quote(version);
                let rule = "value of attribute \"version\" is invalid; must be equal to \"1.0\"";
                self.elements.object(node, format!("{rule}, not '{shown}'"));
            }
        }
    }

    fn container(&mut self, node: Node<'f, 'a>) -> Read<()> {
        self.check_version(node);
        for child in self.elements.children(node, "container", tables::CONTAINER)? {
            match name(child) {
                "search" => {
                    for part in self.elements.children(child, "search", tables::CONTAINER_SEARCH)? {
                        match name(part) {
                            "significance" => self.significance(part)?,
                            "provider" => self.provider(part)?,
                            _ => {
                                let chain =
                                    language::chain(self.elements.file, part, &mut self.elements.remarks.warnings)?;
                                self.services.chains.push(chain);
                            }
                        }
                    }
                }
                "document-processing" => {
                    self.elements.children(child, "document-processing", tables::DOCUMENT_PROCESSING).map(|_| ())?;
                }
                "http" => self.elements.children(child, "http", tables::HTTP).map(|_| ())?,
                "component" => self.component(child)?,
                "components" => {
                    let components = self.elements.children(child, "components", tables::COMPONENTS)?;
                    components.into_iter().try_for_each(|component| self.component(component))?;
                }
                "model-evaluation" => self.model_evaluation(child)?,
                "nodes" => self.elements.nodes(child, &["hostalias"]),
                _ => self.document_api(child)?,
            }
        }
        Ok(())
    }

    /// `<model-evaluation>`: models are evaluated by themselves, ONNX models as it says.
    #[inline(never)]
    fn model_evaluation(&mut self, node: Node<'f, 'a>) -> Read<()> {
        let mut evaluation = self.services.model_evaluation.take().unwrap_or_default();
        for onnx in self.elements.children(node, "model-evaluation", tables::MODEL_EVALUATION)? {
            for models in self.elements.children(onnx, "onnx", tables::ONNX)? {
                for model in self.elements.children(models, "models", tables::MODELS)? {
                    let mut settings = Vec::new();
                    for setting in self.elements.children(model, "model", tables::MODEL)? {
                        let (name, value) = (name(setting), text(setting).trim());
                        if !is_runtime_setting(name, value) {
                            let shown = Rejection::quote(value);
                            let place = self.elements.file.place(setting);
                            return Err(place.reject(format!("'{shown}' is not a legal value of {name}")));
                        }
                        settings.push((name.to_owned(), value.to_owned()));
                    }
                    evaluation
                        .settings
                        .insert(self.elements.file.required_attribute(model, "name")?.to_owned(), settings);
                }
            }
        }
        self.services.model_evaluation = Some(evaluation);
        Ok(())
    }

    /// `<provider type="local" cluster="c"/>`: a name for a content cluster of this application, which is searched under its
    /// own name. One without a type is a chain to a service outside, which Java would ask. Processing on the way to a
    /// cluster is refused.
    #[inline(never)]
    fn provider(&mut self, node: Node<'f, 'a>) -> Read<()> {
        if node.attribute("type").is_none() {
            let chain = language::chain(self.elements.file, node, &mut self.elements.remarks.warnings)?;
            self.services.chains.push(chain);
            return Ok(());
        }
        self.elements.children(node, "provider", &[])?;
        let place = self.elements.file.place(node);
        let id = Rejection::quote(self.elements.file.required_attribute(node, "id")?);
        match node.attribute("type") {
            Some("local") => {}
            of => {
                let shown = Rejection::quote(of.unwrap_or_default());
                return Err(place.reject(format!("provider '{id}': Unknown provider type '{shown}'")));
            }
        }
        let cluster = self.elements.file.required_attribute(node, "cluster")?;
        let shown = Rejection::quote(cluster);
        let mut clusters = self.elements.file.root().children().filter(|child| child.tag_name().name() == "content");
        if !clusters.any(|content| content.attribute("id").unwrap_or("content") == cluster) {
            return Err(place.reject(format!("provider '{id}': there is no content cluster '{shown}'")));
        }
        let message =
            format!("{place}: <provider> '{id}' is ignored: content cluster '{shown}' is searched by its own name");
        self.elements.remarks.warn(message);
        Ok(())
    }

    /// `<significance>`: models by their path in the package; what would have to be fetched is refused.
    fn significance(&mut self, node: Node<'f, 'a>) -> Read<()> {
        for model in self.elements.children(node, "significance", tables::SIGNIFICANCE)? {
            let place = self.elements.file.place(model);
            let path = match (model.attribute("path"), model.attribute("url"), model.attribute("model-id")) {
                (Some(path), None, None) => path.to_owned(),
                (None, Some(_), None) => return Err(place.unsupported_here("<model url='…'> in <significance>")),
                (None, None, Some(_)) => return Err(place.unsupported_here("<model model-id='…'> in <significance>")),
                _ => return Err(place.reject("<model> in <significance> needs one of path, url and model-id")),
            };
            self.services.significance_models.push((path, place));
        }
        Ok(())
    }

    fn component(&mut self, node: Node<'f, 'a>) -> Read<()> {
        if node.attribute("type").is_none() {
            let model = match language::component(self.elements.file, node, &mut self.elements.remarks.warnings)? {
                Some(language::Component::Model(model)) => model,
                Some(language::Component::Generator(generator)) => {
                    self.services.generators.push(generator);
                    return Ok(());
                }
                None => return Ok(()),
            };
            if self.services.language_models.iter().any(|other| other.id == model.id) {
                let message = format!("two components have the id '{}'", Rejection::quote(&model.id));
                return Err(self.elements.file.place(node).reject(message));
            }
            self.services.language_models.push(model);
            return Ok(());
        }
        let embedder = components::embedder(self.elements.file, node)?;
        if self.services.embedders.iter().any(|other| other.id == embedder.id) {
            let message = format!("two components have the id '{}'", Rejection::quote(&embedder.id));
            return Err(self.elements.file.place(node).reject(message));
        }
        self.services.embedders.push(embedder);
        Ok(())
    }

    fn document_api(&mut self, node: Node<'f, 'a>) -> Read<()> {
        for child in self.elements.children(node, "document-api", tables::DOCUMENT_API)? {
            self.services.ignore_undefined_fields = match text(child) {
                "true" => true,
                "false" => false,
                other => {
                    let message =
                        format!("<ignore-undefined-fields> is true or false, not '{}'", Rejection::quote(other));
                    return Err(self.elements.file.place(child).reject(message));
                }
            };
        }
        Ok(())
    }

    fn content(&mut self, node: Node<'f, 'a>) -> Read<()> {
        self.check_version(node);
        let name_of = node.attribute("id").unwrap_or("content").to_owned();
        let mut cluster = Cluster {
            config: ContentCluster {
                name: name_of,
                types: Vec::new(),
                query_timeout_ms: None,
                selection: None,
                garbage_collection_s: None,
                max_document_bytes: None,
                snippets: SnippetConfig::default(),
            },
            places: Vec::new(),
        };
        for child in self.elements.children(node, "content", tables::CONTENT)? {
            match name(child) {
                "documents" => self.documents(child, &mut cluster)?,
                "config" if snippets::is_meant(child) => {
                    cluster.config.snippets = snippets::read(self.elements.file, child)?;
                }
                "config" => self.elements.ignore(child, tables::NO_COUNTERPART),
                "nodes" => self.elements.nodes(child, &["hostalias", "distribution-key"]),
                "search" => {
                    for timeout in self.elements.children(child, "search", tables::CONTENT_SEARCH)? {
                        cluster.config.query_timeout_ms = Some(self.seconds(timeout)?);
                    }
                }
                _ => {
                    for size in self.elements.children(child, "tuning", tables::TUNING)? {
                        let bytes = self.bytes(size)?;
                        if !(1 << 20..=2_048 << 20).contains(&bytes) {
                            let shown = Rejection::quote(text(size));
                            let message = format!("Invalid max-document-size value '{shown}'");
                            self.elements.object(size, format!("{message}: Value must be between 1 MiB and 2048 MiB"));
                        }
                        cluster.config.max_document_bytes = Some(bytes);
                    }
                }
            }
        }
        let children = |of: &'static str| node.children().filter(move |child| child.tag_name().name() == of);
        for copies in children("redundancy").chain(children("min-redundancy")) {
            self.elements.attributes_of_copies(copies);
            // Without white space in front, and without a sign.
            let digits = copies.text().unwrap_or_default().trim_end();
            let digits = Some(digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or_default();
            if !digits.parse::<u32>().is_ok_and(|copies| (1..=REDUNDANCY_MAX).contains(&copies)) {
                self.elements.remarks.object(self.malformed_node(copies, "an integer from 1 to 65534"));
            }
        }
        if !children("redundancy").chain(children("min-redundancy")).any(is_ours) {
            let message = "Either <redundancy> or <min-redundancy> must be set";
            self.elements.object(node, format!("In content cluster '{}': {message}", cluster.config.name));
        }
        if children("documents").next().is_none() {
            let message = format!("The <documents> element is mandatory in content cluster '{}'", cluster.config.name);
            self.elements.object(node, message);
        }
        if self.services.clusters.iter().any(|other| other.config.name == cluster.config.name) {
            let message = format!("two content clusters have the id '{}'", cluster.config.name);
            return Err(self.elements.file.place(node).reject(message));
        }
        self.services.clusters.push(cluster);
        Ok(())
    }

    fn documents(&mut self, node: Node<'f, 'a>, cluster: &mut Cluster) -> Read<()> {
        cluster.config.selection = self.selection(node);
        let interval = node.attribute("garbage-collection-interval").unwrap_or(GARBAGE_COLLECTION_INTERVAL);
        if interval.trim().parse::<u64>().is_err() {
            self.elements
                .object(node, "value of attribute \"garbage-collection-interval\" is invalid; must be an integer");
        }
        if node.attribute("garbage-collection") == Some("true") {
            let seconds = interval.trim().parse().ok().filter(|seconds| *seconds > 0);
            let shown = Rejection::quote(interval);
            let message = format!("'{shown}' is no garbage-collection-interval: a number of seconds is expected");
            let seconds = seconds.ok_or_else(|| self.elements.file.place(node).reject(message))?;
            cluster.config.garbage_collection_s = Some(seconds);
        }
        let children = self.elements.children(node, "documents", tables::DOCUMENTS)?;
        if !children.iter().any(|child| name(*child) == "document") {
            self.elements.object(node, "element \"documents\" incomplete; missing required element \"document\"");
        }
        for child in children {
            match name(child) {
                "document" => self.document(child, cluster)?,
                _ => self.processing_of(child)?,
            }
        }
        Ok(())
    }

    /// Which documents there are; an empty text selects nothing that can be read.
    fn selection(&mut self, node: Node<'f, 'a>) -> Option<String> {
        let selection = node.attribute("selection")?;
        if selection.trim().is_empty() {
            self.elements.object(node, "a selection is empty");
        }
        Some(selection.to_owned())
    }

    /// `<document-processing>` of a content cluster: the container cluster whose chain its documents go through.
    fn processing_of(&mut self, node: Node<'f, 'a>) -> Read<()> {
        if let Some(chain) = node.attribute("chain").filter(|chain| *chain != "indexing") {
            let shown = Rejection::quote(chain);
            return Err(self
                .elements
                .file
                .place(node)
                .unsupported_here(format!("the document processing chain '{shown}'")));
        }
        let Some(cluster) = node.attribute("cluster") else { return Ok(()) };
        let shown = Rejection::quote(cluster);
        let mut containers =
            self.elements.file.root().children().filter(|child| child.tag_name().name() == "container");
        match containers.find(|container| container.attribute("id").unwrap_or("container") == cluster) {
            None => self.elements.object(node, format!("Container cluster '{shown}' not found")),
            Some(container) if container.children().any(|child| child.tag_name().name() == "document-processing") => {}
            Some(_) => self.elements.object(
                node,
                format!(
                    "Document processing components not found in container cluster '{shown}': Add <document-processing/> to the \
                     cluster in services.xml"
                ),
            ),
        }
        Ok(())
    }

    fn document(&mut self, node: Node<'f, 'a>, cluster: &mut Cluster) -> Read<()> {
        let place = self.elements.file.place(node);
        self.elements.children(node, "document", &[])?;
        let document_type = self.elements.file.required_attribute(node, "type")?;
        let shown = Rejection::quote(document_type);
        let mode = match self.elements.file.required_attribute(node, "mode")? {
            "streaming" => Mode::Streaming,
            "store-only" => Mode::StoreOnly,
            "index" => {
                return Err(place.unsupported_here(format!(
                    "mode=\"index\" of document type '{shown}' (only mode=\"streaming\" is searched, where each query reads \
                     the documents of one group)"
                )));
            }
            other => {
                let hint = did_you_mean(other, ["streaming", "index", "store-only"]);
                return Err(place
                    .reject(format!("unknown mode '{}' of document type '{shown}'{hint}", Rejection::quote(other))));
            }
        };
        let global = node.attribute("global").unwrap_or("false");
        if !["true", "false", "0", "1"].contains(&global) {
            self.elements.object(node, "value of attribute \"global\" is invalid; must be a boolean");
        }
        if global == "true" {
            return Err(place.reject(format!("document type '{shown}' cannot be global in streaming mode")));
        }
        // Said twice in one cluster it counts once.
        if cluster.config.types.iter().any(|config| config.name == document_type) {
            return Ok(());
        }
        let selection = self.selection(node);
        cluster.config.types.push(DocumentTypeConfig { name: document_type.to_owned(), mode, selection });
        cluster.places.push(place);
        Ok(())
    }

    /// Seconds as milliseconds.
    fn seconds(&self, node: Node<'f, 'a>) -> Read<u32> {
        let seconds = text(node).parse::<f64>().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
        // In range, so the cast is exact enough: below 2^32.
        seconds.map(|seconds| (seconds * 1000.0) as u32).ok_or_else(|| self.malformed_node(node, "a number of seconds"))
    }

    /// A size with an optional unit: `10MiB`, `1.5g`.
    fn bytes(&self, node: Node<'f, 'a>) -> Read<u64> {
        let size = text(node);
        let digits = size.len() - size.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let shift = match size[digits..].trim().to_ascii_lowercase().as_str() {
            "" | "b" => Some(0),
            "k" | "kb" | "kib" => Some(10),
            "m" | "mb" | "mib" => Some(20),
            "g" | "gb" | "gib" => Some(30),
            _ => None,
        };
        let number = size[..digits].parse::<f64>().ok();
        let bytes = number.zip(shift).map(|(number, shift)| (number * f64::from(1 << shift)) as u64);
        bytes.ok_or_else(|| self.malformed_node(node, "a size such as 10MiB"))
    }

    fn malformed_node(&self, node: Node<'f, 'a>, what: &str) -> Rejection {
        let shown = Rejection::quote(text(node));
        self.elements.file.place(node).reject(format!("<{}> must be {what}, not '{shown}'", name(node)))
    }
}
