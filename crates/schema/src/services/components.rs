//! Components of services.xml that this house knows: embedders. Their settings are checked here and used by the host,
//! which runs the models.
use brooklet_task::{Rejection, did_you_mean};
use roxmltree::Node;

use super::xml::{XmlFile, name, text};

/// An embedder of services.xml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedderConfig {
    /// The component id, by which schemas and queries name it.
    pub id: String,
    /// `hugging-face-embedder` and its kin.
    pub kind: String,
    /// Settings that were given, in the order of the file: the path of elements (`prepend/query`), with the attribute
    /// that says where a model is behind `@` (`transformer-model@path`), and the value.
    pub settings: Vec<(String, String)>,
}

/// What a setting may be.
#[derive(Clone, Copy, PartialEq)]
enum SettingType {
    Text,
    Whole,
    Number,
    Truth,
    OneOf(&'static [&'static str]),
    /// Attributes `path`, `url` or `model-id`; the first two are served.
    Model,
    /// Attributes `max-size` and `max-delay`: how texts are put into requests.
    Batching,
}

type Setting = (&'static str, SettingType);

const ONNX: &[Setting] = &[
    ("onnx-execution-mode", SettingType::OneOf(&["sequential", "parallel"])),
    ("onnx-interop-threads", SettingType::Whole),
    ("onnx-intraop-threads", SettingType::Whole),
    ("onnx-gpu-device", SettingType::Whole),
    ("batching", SettingType::Batching),
    ("concurrency", SettingType::Text),
];

const TRANSFORMER: &[Setting] = &[
    ("transformer-model", SettingType::Model),
    ("tokenizer-model", SettingType::Model),
    ("max-tokens", SettingType::Whole),
    ("transformer-input-ids", SettingType::Text),
    ("transformer-attention-mask", SettingType::Text),
    ("transformer-token-type-ids", SettingType::Text),
    ("transformer-output", SettingType::Text),
];

const HUGGING_FACE: &[Setting] = &[
    ("pooling-strategy", SettingType::OneOf(&["mean", "cls", "none"])),
    ("normalize", SettingType::Truth),
    ("prepend/query", SettingType::Text),
    ("prepend/document", SettingType::Text),
];

const BERT: &[Setting] = &[
    ("tokenizer-vocab", SettingType::Model),
    ("transformer-start-sequence-token", SettingType::Whole),
    ("transformer-end-sequence-token", SettingType::Whole),
    ("pooling-strategy", SettingType::OneOf(&["mean", "cls"])),
];

const COLBERT: &[Setting] = &[
    ("max-query-tokens", SettingType::Whole),
    ("max-document-tokens", SettingType::Whole),
    ("query-token-id", SettingType::Whole),
    ("document-token-id", SettingType::Whole),
    ("transformer-start-sequence-token", SettingType::Whole),
    ("transformer-end-sequence-token", SettingType::Whole),
    ("transformer-mask-token", SettingType::Whole),
    ("transformer-pad-token", SettingType::Whole),
    ("attend-to-expansion-tokens", SettingType::Truth),
];

const SPLADE: &[Setting] = &[("term-score-threshold", SettingType::Number)];

/// A tokenizer embeds a text as the ids of its tokens.
const TOKENIZER: &[Setting] = &[
    ("model", SettingType::Model),
    ("special-tokens", SettingType::Truth),
    ("max-length", SettingType::Whole),
    ("truncation", SettingType::Truth),
    ("padding", SettingType::Truth),
];

const OPENAI: &[Setting] = &[
    ("model", SettingType::Text),
    ("dimensions", SettingType::Whole),
    ("api-key-secret-ref", SettingType::Text),
    ("endpoint", SettingType::Text),
    ("batching", SettingType::Batching),
    ("prepend/query", SettingType::Text),
    ("prepend/document", SettingType::Text),
];

/// A kind of embedder: its name, its settings, and those without which it cannot be.
type Embedder = (&'static str, &'static [&'static [Setting]], &'static [&'static str]);

/// Every kind of embedder.
const EMBEDDERS: &[Embedder] = &[
    ("hugging-face-embedder", &[TRANSFORMER, HUGGING_FACE, ONNX], &["transformer-model", "tokenizer-model"]),
    ("bert-embedder", &[TRANSFORMER, BERT, ONNX], &["transformer-model", "tokenizer-vocab"]),
    ("colbert-embedder", &[TRANSFORMER, COLBERT, ONNX], &["transformer-model", "tokenizer-model"]),
    ("splade-embedder", &[TRANSFORMER, SPLADE, ONNX], &["transformer-model", "tokenizer-model"]),
    ("hugging-face-tokenizer", &[TOKENIZER], &["model"]),
    ("openai-embedder", &[OPENAI], &["model"]),
];

/// Reads a `<component>`.
///
/// # Errors
/// If it is of a type that is not known, or a setting is unknown, missing or malformed.
#[inline(never)]
pub(super) fn embedder(file: &XmlFile<'_>, node: Node<'_, '_>) -> Result<EmbedderConfig, Rejection> {
    let place = file.place(node);
    let id = file.required_attribute(node, "id")?;
    let Some(kind) = node.attribute("type") else {
        return Err(
            place.unsupported_here(format!("the component '{}' (Java code cannot be run)", Rejection::quote(id)))
        );
    };
    let Some((kind, tables, needed)) = EMBEDDERS.iter().find(|(known, ..)| *known == kind) else {
        let hint = did_you_mean(kind, EMBEDDERS.iter().map(|(known, ..)| *known));
        return Err(place.unsupported_here(format!("a component of type '{}'{hint}", Rejection::quote(kind))));
    };
    let mut config = EmbedderConfig { id: id.to_owned(), kind: (*kind).to_owned(), settings: Vec::new() };
    read_settings(file, node, "", tables, &mut config.settings)?;
    let given = |name: &str| config.settings.iter().any(|(path, _)| path.split('@').next() == Some(name));
    match needed.iter().find(|name| !given(name)) {
        Some(missing) => Err(place.reject(format!("the {kind} '{}' needs <{missing}>", Rejection::quote(id)))),
        None => Ok(config),
    }
}

fn read_settings(
    file: &XmlFile<'_>,
    node: Node<'_, '_>,
    prefix: &str,
    tables: &[&[Setting]],
    settings: &mut Vec<(String, String)>,
) -> Result<(), Rejection> {
    for child in node.children().filter(Node::is_element) {
        let path = format!("{prefix}{}", name(child));
        let known = || tables.iter().flat_map(|table| table.iter());
        if let Some((_, kind)) = known().find(|(setting, _)| *setting == path) {
            match kind {
                SettingType::Batching => settings.extend(batching(file, child)?),
                _ => settings.push(setting(file, child, &path, *kind)?),
            }
        } else if known().any(|(setting, _)| setting.starts_with(&format!("{path}/"))) {
            read_settings(file, child, &format!("{path}/"), tables, settings)?;
        } else {
            let hint = did_you_mean(&path, known().map(|(setting, _)| *setting));
            let place = file.place(child);
            return Err(place.reject(format!("unknown element <{}> in <component>{hint}", Rejection::quote(&path))));
        }
    }
    Ok(())
}

/// `<batching max-size="16" max-delay="20ms"/>`: the size is honoured where texts are sent away, and the delay nowhere:
/// what waits for a model becomes a batch by itself.
fn batching(file: &XmlFile<'_>, node: Node<'_, '_>) -> Result<Vec<(String, String)>, Rejection> {
    let Some(size) = node.attribute("max-size") else { return Ok(Vec::new()) };
    match size.trim().parse::<u32>() {
        Ok(1..=2048) => Ok(vec![("batching@max-size".to_owned(), size.trim().to_owned())]),
        _ => {
            let shown = Rejection::quote(size);
            Err(file.place(node).reject(format!("max-size of <batching> must be 1 to 2048, not '{shown}'")))
        }
    }
}

#[inline(never)]
fn setting(
    file: &XmlFile<'_>,
    node: Node<'_, '_>,
    path: &str,
    kind: SettingType,
) -> Result<(String, String), Rejection> {
    if kind == SettingType::Model {
        let where_ = ["url", "path"].into_iter().find_map(|attribute| Some((attribute, node.attribute(attribute)?)));
        return match where_ {
            Some((attribute, value)) => Ok((format!("{path}@{attribute}"), value.to_owned())),
            None => Err(match node.attribute("model-id") {
                Some(id) => {
                    let id = Rejection::quote(id);
                    file.place(node).unsupported_here(format!(
                        "model-id='{id}' in <{path}> (it names models of Vespa's cloud: give 'path' or 'url')"
                    ))
                }
                None => file.place(node).reject(format!("<{path}> needs the attribute 'path' or 'url'")),
            }),
        };
    }
    // An instruction keeps its blanks: models were trained with them.
    let value = if path.starts_with("prepend/") { node.text().unwrap_or("") } else { text(node) };
    let (fits, what) = match kind {
        SettingType::Text | SettingType::Model | SettingType::Batching => (true, String::new()),
        SettingType::Whole => (value.parse::<i32>().is_ok(), "a whole number".to_owned()),
        SettingType::Number => (value.parse::<f64>().is_ok_and(f64::is_finite), "a number".to_owned()),
        SettingType::Truth => (value == "true" || value == "false", "true or false".to_owned()),
        SettingType::OneOf(words) => (words.contains(&value), words.join(", ")),
    };
    if fits {
        return Ok((path.to_owned(), value.to_owned()));
    }
    let shown = Rejection::quote(value);
    Err(file.place(node).reject(format!("<{path}> must be {what}, not '{shown}'")))
}
