//! Language models and search chains of services.xml: which component answers which chain, with its settings. The host
//! asks the models; nothing here reaches out.
use std::collections::BTreeMap;

use brooklet_task::{Rejection, did_you_mean};
use roxmltree::Node;

use super::tables::JAVA_IS_NOT_RUN;
use super::xml::{XmlFile, name, text};
use crate::place::SourcePlace;

/// A language model of services.xml: an endpoint with the OpenAI interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageModelConfig {
    /// The component id, by which searchers name it.
    pub id: String,
    /// Settings of `llm-client` that were given, in the order of the file.
    pub settings: Vec<(String, String)>,
}

/// A search chain of services.xml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchChain {
    /// The name that `searchChain` selects it by.
    pub id: String,
    /// What answers instead of hits: `rag` (hits as the context of a prompt) or `llm` (the prompt alone), its own or
    /// inherited; nothing if the chain searches and no more.
    pub searcher: Option<String>,
    /// Settings of `llm-searcher` that were given, in the order of the file; of a template's file, its content.
    pub settings: Vec<(String, String)>,
}

/// A chain as it was read.
#[derive(Debug)]
pub(crate) struct ChainTree {
    id: String,
    inherits: Vec<String>,
    searcher: Option<SearcherTree>,
    place: SourcePlace,
}

#[derive(Clone, Debug)]
struct SearcherTree {
    kind: &'static str,
    settings: Vec<(String, String)>,
    place: SourcePlace,
}

type Read<T> = Result<T, Rejection>;

/// Settings that were given, in the order of the file.
pub(super) type SettingPairs = Vec<(String, String)>;

/// A component of services.xml that is Java in Vespa, and known here.
pub(super) enum Component {
    Model(LanguageModelConfig),
    Generator(GeneratorTree),
}

/// A generator as it was read.
#[derive(Debug)]
pub(crate) struct GeneratorTree {
    pub(crate) id: String,
    pub(crate) settings: SettingPairs,
    pub(crate) place: SourcePlace,
}

/// What a setting may be.
#[derive(Clone, Copy)]
enum SettingType {
    Text,
    Whole,
    Number,
    Truth,
}

type Settings = &'static [(&'static str, SettingType)];

const CLIENT: &str = "ai.vespa.llm.clients.llm-client";
const CLIENT_SETTINGS: Settings = &[
    ("apiKeySecretRef", SettingType::Text),
    ("apiKeySecretName", SettingType::Text),
    ("endpoint", SettingType::Text),
    ("model", SettingType::Text),
    ("temperature", SettingType::Number),
    ("maxTokens", SettingType::Whole),
    ("reasoningEffort", SettingType::Text),
];

const SEARCHER: &str = "ai.vespa.search.llm.llm-searcher";
const SEARCHER_SETTINGS: Settings = &[
    ("providerId", SettingType::Text),
    ("propertyPrefix", SettingType::Text),
    ("stream", SettingType::Truth),
    ("prompt", SettingType::Text),
    ("promptTemplate", SettingType::Text),
];

const GENERATOR: &str = "ai.vespa.llm.generation.language-model-field-generator";
const GENERATOR_SETTINGS: Settings = &[
    ("providerId", SettingType::Text),
    ("promptTemplate", SettingType::Text),
    ("promptTemplateFile", SettingType::Text),
    ("responseFormatType", SettingType::Text),
    ("responseJsonSchema", SettingType::Text),
    ("invalidResponseFormatPolicy", SettingType::Text),
];

/// Chains that are always there.
const BUILT_IN: [&str; 2] = ["vespa", "native"];

/// Inherited chains are followed so far.
const INHERITANCE_MAX: usize = 32;

/// The class of a component or searcher: its own attribute, or its id.
fn class_of<'n>(node: Node<'n, '_>) -> &'n str {
    node.attribute("class").or_else(|| node.attribute("id")).unwrap_or("")
}

/// Reads a `<component>` with a class. Nothing, with a warning, if the class is not one of those that are known.
///
/// # Errors
/// If a setting is unknown or malformed, or the class is known and cannot be served.
#[inline(never)]
pub(super) fn component(file: &XmlFile<'_>, node: Node<'_, '_>, warnings: &mut Vec<String>) -> Read<Option<Component>> {
    let place = file.place(node);
    let id = file.required_attribute(node, "id")?;
    match class_of(node) {
        "ai.vespa.llm.clients.OpenAI" => Ok(Some(Component::Model(LanguageModelConfig {
            id: id.to_owned(),
            settings: settings(file, node, CLIENT, CLIENT_SETTINGS)?,
        }))),
        "ai.vespa.llm.generation.LanguageModelFieldGenerator" => Ok(Some(Component::Generator(GeneratorTree {
            id: id.to_owned(),
            settings: settings(file, node, GENERATOR, GENERATOR_SETTINGS)?,
            place,
        }))),
        class @ "ai.vespa.llm.clients.LocalLLM" => {
            let hint =
                "no language model runs in this process: serve it with the OpenAI interface, and name it by 'endpoint'";
            Err(place.unsupported_here(format!("the component '{}' of class {class} ({hint})", Rejection::quote(id))))
        }
        _ => {
            let id = Rejection::quote(id);
            warnings.push(format!("{place}: the component '{id}' is ignored: {JAVA_IS_NOT_RUN}"));
            Ok(None)
        }
    }
}

/// Reads a `<chain>` of `<search>`.
///
/// # Errors
/// If an element or a setting is unknown or malformed.
#[inline(never)]
pub(super) fn chain(file: &XmlFile<'_>, node: Node<'_, '_>, warnings: &mut Vec<String>) -> Read<ChainTree> {
    let place = file.place(node);
    let id = file.required_attribute(node, "id")?.to_owned();
    known_attributes(file, node, &["id", "inherits", "excludes", "searchers", "version"])?;
    let words = |attribute| node.attribute(attribute).unwrap_or("").split_whitespace().map(str::to_owned).collect();
    let inherits: Vec<String> = words("inherits");
    let mut searcher = None;
    let named: Vec<String> = words("searchers");
    if !named.is_empty() {
        return Err(place.unsupported_here("the attribute 'searchers' of <chain>"));
    }
    for child in node.children().filter(Node::is_element) {
        match name(child) {
            "searcher" => {
                let Some(read) = self::searcher(file, child, &id, warnings)? else { continue };
                if searcher.replace(read).is_some() {
                    return Err(file.place(child).unsupported_here("a second language model searcher in a chain"));
                }
            }
            "phase" | "inherits" => {}
            other => {
                let hint = did_you_mean(other, ["searcher", "phase"]);
                let shown = Rejection::quote(other);
                return Err(file.place(child).reject(format!("unknown element <{shown}> in <chain>{hint}")));
            }
        }
    }
    Ok(ChainTree { id, inherits, searcher, place })
}

fn searcher(
    file: &XmlFile<'_>,
    node: Node<'_, '_>,
    chain: &str,
    warnings: &mut Vec<String>,
) -> Read<Option<SearcherTree>> {
    known_attributes(file, node, &["id", "class", "bundle", "provides", "before", "after"])?;
    let place = file.place(node);
    let kind = match class_of(node) {
        "ai.vespa.search.llm.RAGSearcher" => "rag",
        "ai.vespa.search.llm.LLMSearcher" => "llm",
        // What it looks at is looked at in every query.
        "com.yahoo.search.searchers.InputCheckingSearcher" => return Ok(None),
        other => {
            let (shown, chain) = (Rejection::quote(other), Rejection::quote(chain));
            warnings.push(format!("{place}: the searcher '{shown}' of chain '{chain}' is ignored: {JAVA_IS_NOT_RUN}"));
            return Ok(None);
        }
    };
    Ok(Some(SearcherTree { kind, settings: settings(file, node, SEARCHER, SEARCHER_SETTINGS)?, place }))
}

fn known_attributes(file: &XmlFile<'_>, node: Node<'_, '_>, known: &[&str]) -> Read<()> {
    match node.attributes().find(|it| it.namespace().is_none() && !known.contains(&it.name())) {
        None => Ok(()),
        Some(other) => {
            let (shown, hint) = (Rejection::quote(other.name()), did_you_mean(other.name(), known.iter().copied()));
            Err(file.place(node).reject(format!("unknown attribute '{shown}' of <{}>{hint}", name(node))))
        }
    }
}

/// The settings in the `<config>` elements of a component.
fn settings(file: &XmlFile<'_>, node: Node<'_, '_>, config: &str, known: Settings) -> Read<Vec<(String, String)>> {
    let mut found = Vec::new();
    for child in node.children().filter(Node::is_element) {
        let of = child.attribute("name").unwrap_or("");
        if name(child) != "config" || of != config {
            let what = format!("<{}>", Rejection::quote(name(child)));
            return Err(file.place(child).reject(format!("{what} is not <config name=\"{config}\">")));
        }
        for value in child.children().filter(Node::is_element) {
            let Some((setting, kind)) = known.iter().find(|(setting, _)| *setting == name(value)) else {
                let hint = did_you_mean(name(value), known.iter().map(|(setting, _)| *setting));
                let shown = Rejection::quote(name(value));
                return Err(file.place(value).reject(format!("unknown setting <{shown}> of {config}{hint}")));
            };
            found.push(((*setting).to_owned(), check_setting(file, value, *kind)?));
        }
    }
    Ok(found)
}

fn check_setting(file: &XmlFile<'_>, node: Node<'_, '_>, kind: SettingType) -> Read<String> {
    let value = text(node);
    let (fits, what) = match kind {
        SettingType::Text => (true, ""),
        SettingType::Whole => (value.parse::<i32>().is_ok(), "a whole number"),
        SettingType::Number => (value.parse::<f64>().is_ok_and(f64::is_finite), "a number"),
        SettingType::Truth => (value == "true" || value == "false", "true or false"),
    };
    if fits {
        return Ok(value.to_owned());
    }
    let shown = Rejection::quote(value);
    Err(file.place(node).reject(format!("<{}> must be {what}, not '{shown}'", name(node))))
}

/// The chains with what they inherit, each searcher with a model there is.
///
/// # Errors
/// If a chain inherits one that is not there, or itself; if a searcher names a model that is not there, or there is
/// none; if the file of a template is not there.
pub(crate) fn resolve(
    chains: &[ChainTree],
    models: &[LanguageModelConfig],
    files: &BTreeMap<&str, &[u8]>,
) -> Read<Vec<SearchChain>> {
    let mut done = BTreeMap::new();
    for (index, chain) in chains.iter().enumerate() {
        if chains[..index].iter().any(|other| other.id == chain.id) {
            return Err(chain.place.reject(format!("two chains have the id '{}'", Rejection::quote(&chain.id))));
        }
    }
    chains
        .iter()
        .map(|chain| {
            let Some(searcher) = inherit(chain, chains, &mut Vec::new(), &mut done)? else {
                return Ok(SearchChain { id: chain.id.clone(), searcher: None, settings: Vec::new() });
            };
            provider(&searcher.settings, models, &searcher.place)?;
            let settings = with_template(&searcher, files)?;
            Ok(SearchChain { id: chain.id.clone(), searcher: Some(searcher.kind.to_owned()), settings })
        })
        .collect()
}

/// The searcher of a chain: its own, or the first that it inherits. `way` is how it was come to, `done` what is known of
/// others, so that each is looked at once.
fn inherit<'c>(
    chain: &'c ChainTree,
    chains: &'c [ChainTree],
    way: &mut Vec<&'c str>,
    done: &mut BTreeMap<&'c str, Option<SearcherTree>>,
) -> Read<Option<SearcherTree>> {
    if let Some(known) = done.get(chain.id.as_str()) {
        return Ok(known.clone());
    }
    if way.contains(&chain.id.as_str()) || way.len() > INHERITANCE_MAX {
        return Err(chain.place.reject(format!("chain '{}' inherits itself", Rejection::quote(&chain.id))));
    }
    way.push(&chain.id);
    let mut found = chain.searcher.clone();
    for parent in &chain.inherits {
        match chains.iter().find(|other| other.id == *parent) {
            Some(other) => {
                let from = inherit(other, chains, way, done)?;
                found = found.or(from);
            }
            None if BUILT_IN.contains(&parent.as_str()) => {}
            None => {
                let known = chains.iter().map(|other| other.id.as_str()).chain(BUILT_IN);
                let (shown, hint) = (Rejection::quote(parent), did_you_mean(parent, known));
                return Err(chain.place.reject(format!("there is no chain '{shown}' to inherit{hint}")));
            }
        }
    }
    way.pop();
    done.insert(&chain.id, found.clone());
    Ok(found)
}

/// The id of the model that settings name; of the first there is, if they name none.
pub(super) fn provider(
    settings: &[(String, String)],
    models: &[LanguageModelConfig],
    place: &SourcePlace,
) -> Read<String> {
    let wanted = setting(settings, "providerId");
    let Some(first) = models.first() else { return Err(place.reject("No language models were found")) };
    if wanted.is_empty() || models.iter().any(|model| model.id == wanted) {
        return Ok(if wanted.is_empty() { first.id.clone() } else { wanted.to_owned() });
    }
    let known = models.iter().map(|model| model.id.as_str()).collect::<Vec<_>>().join(",");
    let shown = Rejection::quote(wanted);
    Err(place.reject(format!("No component with id '{shown}' was found. Available LLM components are: {known}")))
}

pub(super) fn setting<'s>(settings: &'s [(String, String)], wanted: &str) -> &'s str {
    settings.iter().rev().find(|(name, _)| name == wanted).map_or("", |(_, value)| value)
}

/// The settings with the text of the template as the prompt, where no prompt is given.
fn with_template(searcher: &SearcherTree, files: &BTreeMap<&str, &[u8]>) -> Read<Vec<(String, String)>> {
    let mut settings = searcher.settings.clone();
    let path = setting(&settings, "promptTemplate").to_owned();
    settings.retain(|(name, _)| name != "promptTemplate");
    if path.is_empty() {
        return Ok(settings);
    }
    let template = template(&path, files, &searcher.place)?;
    if setting(&settings, "prompt").is_empty() {
        settings.push(("prompt".to_owned(), template));
    }
    Ok(settings)
}

/// The text of a template's file.
pub(super) fn template(path: &str, files: &BTreeMap<&str, &[u8]>, place: &SourcePlace) -> Result<String, Rejection> {
    let Some(content) = files.get(path) else {
        let (shown, hint) = (Rejection::quote(path), did_you_mean(path, files.keys().copied()));
        return Err(place.reject(format!("the template '{shown}' is no file of the package{hint}")));
    };
    match std::str::from_utf8(content) {
        Ok(template) => Ok(template.to_owned()),
        Err(_) => Err(place.reject(format!("the template '{}' is not UTF-8", Rejection::quote(path)))),
    }
}
