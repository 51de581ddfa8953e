//! `onnx-model NAME { … }`, in a schema or a rank profile.
use brooklet_task::Rejection;

use super::lex::Token;
use super::settings::{Parsed, Parser, check_count};
use crate::rank_profile::OnnxModel;

/// Refuses two models of one name.
pub(super) fn unique_models(models: &[OnnxModel]) -> Parsed<()> {
    for (index, model) in models.iter().enumerate() {
        if models[..index].iter().any(|other| other.name == model.name) {
            return Err(model.place.reject(format!("the onnx-model '{}' is defined twice", model.name)));
        }
    }
    Ok(())
}

/// How the runtime is to run the model; checked here and told to the host.
const RUNTIME: &[&str] = &["gpu-device", "intraop-threads", "interop-threads", "execution-mode"];

/// Whether the runtime can be set so.
pub(crate) fn is_runtime_setting(name: &str, value: &str) -> bool {
    match name {
        "execution-mode" => ["parallel", "sequential"].contains(&value),
        _ => RUNTIME.contains(&name) && value.parse::<i32>().is_ok(),
    }
}

/// Bytes of an address.
const ADDRESS_BYTES: usize = 2_000;

/// Whether a text can be the address of a file. The host, who has what stands there, knows more of addresses.
fn is_address(text: &str) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_ordinary = |byte: u8| byte.is_ascii_graphic() && !b"\"'<>\\`".contains(&byte);
    rest.is_some_and(|rest| !rest.is_empty() && text.len() <= ADDRESS_BYTES && rest.bytes().all(is_ordinary))
}

impl Parser<'_> {
    /// An ONNX model, after the word `onnx-model`.
    pub(super) fn onnx_model(&mut self) -> Parsed<OnnxModel> {
        let name = self.word("the name of the onnx-model")?;
        let mut model = OnnxModel {
            name: name.text.clone(),
            place: name.place.clone(),
            file: String::new(),
            is_address: false,
            inputs: Vec::new(),
            outputs: Vec::new(),
            settings: Vec::new(),
        };
        self.block(|parser| parser.onnx_setting(&mut model))?;
        if model.file.is_empty() {
            return Err(name.place.reject(format!("the onnx-model '{}' needs 'file' or 'uri'", name.text)));
        }
        check_count(model.inputs.len() + model.outputs.len(), &name.place, "inputs and outputs of an onnx-model")?;
        Ok(model)
    }

    #[inline(never)]
    fn onnx_setting(&mut self, model: &mut OnnxModel) -> Parsed<()> {
        let setting = self.word("a setting of an onnx-model")?;
        match setting.text.as_str() {
            "file" | "uri" | "url" => {
                let value = self.raw_value()?;
                let text = value.text.trim_matches(['"', '\'']);
                if !model.file.is_empty() {
                    let message = format!("the onnx-model '{}' has one 'file' or 'uri'", model.name);
                    return Err(setting.place.reject(message));
                }
                model.is_address = setting.text != "file";
                if model.is_address && !is_address(text) {
                    let message = "is no address: it begins with https:// or http://, and has no spaces";
                    return Err(setting.place.reject(format!("'{}' {message}", Rejection::quote(text))));
                }
                model.file = text.trim_start_matches("./").to_owned();
            }
            "input" => {
                let name = self.quoted_name()?;
                let source = self.raw_value()?;
                if source.text.is_empty() || model.inputs.iter().any(|(known, _)| *known == name) {
                    return Err(setting.place.reject(format!("input '{}' has one source", Rejection::quote(&name))));
                }
                model.inputs.push((name, source));
            }
            "output" => {
                let name = self.quoted_name()?;
                let known_as = self.word_value("a name for the output")?;
                model.outputs.push((name, known_as.text));
            }
            runtime if RUNTIME.contains(&runtime) => {
                let value = self.word_value(&format!("{runtime}: a value"))?;
                if !is_runtime_setting(runtime, &value.text) {
                    let shown = Rejection::quote(&value.text);
                    return Err(value.place.reject(format!("'{shown}' is not a legal value of {runtime}")));
                }
                model.settings.push((setting.text.clone(), value.text));
            }
            _ => {
                let known = [&["file", "uri", "input", "output"], RUNTIME].concat();
                return Err(self.unknown_setting(&setting, "setting of an onnx-model", &known));
            }
        }
        Ok(())
    }

    /// A name of the graph, in quotes or not.
    fn quoted_name(&mut self) -> Parsed<String> {
        if let Token::Quoted(text) = self.peek()? {
            self.next()?;
            return Ok(text.to_owned());
        }
        Ok(self.word("a name in quotes")?.text)
    }
}
