//! Models evaluated by themselves: the answers of `/model-evaluation/v1`.
use std::rc::Rc;

use brooklet_document::json::{JsonWriter, Render, TensorFormat, render_tensor};
use brooklet_document::{Tensor, parse_literal};
use brooklet_rank::{FeatureSource, ModelOutput, Value};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Code, Rejection, Task, Want};
use std::sync::Arc;

use crate::deployed::Deployed;
use crate::deployed::model_functions::{Bound, Model, ModelFunction};
use crate::found::model_runs::{GivenOutputs, Models};

/// The task: the answer is JSON, or a tensor as text, with a status.
pub struct Evaluate {
    state: State,
    given: Rc<GivenOutputs>,
}

enum State {
    Evaluating { bound: Bound, format: Result<Form, Answer> },
    Answered(Answer),
}

/// How the result is written.
#[derive(Clone, Copy)]
enum Form {
    Json(TensorFormat),
    Text,
}

struct Answer {
    status: u16,
    body: String,
}

/// What is asked: the segments of the path after the version, where that is found, and the parameters.
struct Asked<'r> {
    base: &'r str,
    segments: Vec<&'r str>,
    parameters: Vec<(&'r str, &'r str)>,
}

/// The last segment of a path that evaluates.
const EVALUATE: &str = "eval";

impl Evaluate {
    /// Reads the request (docs/abi.md, evaluate).
    ///
    /// # Errors
    /// If it is malformed.
    pub fn open(deployed: &Deployed, request: &[u8]) -> Result<Evaluate, Rejection> {
        let mut reader = Reader::new(request);
        let base = reader.text()?;
        let segments = reader.text()?.split('/').filter(|segment| !segment.is_empty()).collect();
        let mut parameters = Vec::new();
        for _ in 0..reader.count(2)? {
            parameters.push((reader.text()?, reader.text()?));
        }
        reader.end()?;
        let state = Asked { base, segments, parameters }.state(deployed).unwrap_or_else(State::Answered);
        Ok(Evaluate { state, given: Rc::default() })
    }

    /// Evaluates with the outputs that were given; the runs that are lacking, if any are.
    fn evaluate(&mut self) -> Result<Want, Rejection> {
        let State::Evaluating { bound, format } = &mut self.state else { return Ok(Want::Nothing) };
        let mut models = Models::new(&self.given);
        let mut scratch = bound.program.scratch();
        let mut source = Source { values: &bound.values, models: &mut models };
        let value = bound.program.evaluate(&mut source, &mut scratch)?;
        let wanted = models.take_wanted()?;
        if !wanted.is_empty() {
            wanted.check()?;
            return Ok(Want::ModelRuns { anew: false, runs: wanted.to_bytes() });
        }
        let answer = match std::mem::replace(format, Ok(Form::Text)) {
            Ok(form) => write_value(&value, form),
            Err(refused) => refused,
        };
        self.state = State::Answered(answer);
        Ok(Want::Nothing)
    }
}

impl Asked<'_> {
    fn state(&self, deployed: &Deployed) -> Result<State, Answer> {
        if deployed.application.model_evaluation.is_none() {
            let message = "Models are not evaluated by themselves here: services.xml has no <model-evaluation/> in its <container>";
            return Err(unknown_model(message.to_owned()));
        }
        let models = deployed.models();
        let Some((name, rest)) = self.segments.split_first() else { return Err(self.all(models)) };
        let model = find_named(models, name, |model| &model.name).ok_or_else(|| {
            let known = list_names(models.iter().map(|model| model.name.as_str()));
            unknown_model(format!("No model named '{}'. Available models: {known}", Rejection::quote(name)))
        })?;
        let evaluates = rest.iter().rposition(|segment| segment.eq_ignore_ascii_case(EVALUATE));
        let function = &rest[..evaluates.unwrap_or(rest.len())];
        if evaluates.is_some() {
            return self.evaluation(self.function(model, function)?.0);
        }
        Err(match function {
            [] => self.model(model),
            names => {
                let (function, shown) = self.function(model, names)?;
                let mut json = JsonWriter::new();
                json.begin_object();
                member(&mut json, "model", &model.name);
                self.write_function(&mut json, model, function, &shown);
                json.end_object();
                found(json)
            }
        })
    }

    /// The function that a path names, and how it is called there.
    fn function<'m>(&self, model: &'m Model, names: &[&str]) -> Result<(&'m Rc<ModelFunction>, String), Answer> {
        let known = || list_names(model.functions.iter().map(|function| function.name.as_str()));
        let about = Rejection::quote(&model.name);
        if names.len() > 2 {
            let given = names.iter().map(|name| Rejection::quote(name)).collect::<Vec<_>>().join(", ");
            return Err(unknown_model(format!(
                "No more than 2 names can be given when choosing a function, got [{given}]"
            )));
        }
        if names.is_empty() {
            return match model.functions.as_slice() {
                [only] => Ok((only, only.name.clone())),
                _ => Err(unknown_model(format!(
                    "More than one function is available in model '{about}', but no name is given. Available functions: {}",
                    known()
                ))),
            };
        }
        let name = names.join(".");
        let find = |name: &str| find_named(&model.functions, name, |function| &function.name);
        if let Some(function) = find(&name) {
            return Ok((function, function.name.clone()));
        }
        // Every model has the one signature.
        let signature = name.get(..DEFAULT.len()).filter(|start| start.eq_ignore_ascii_case(DEFAULT));
        if let Some(function) = signature.and_then(|start| find(&name[start.len()..])) {
            return Ok((function, format!("{DEFAULT}{}", function.name)));
        }
        let shown = Rejection::quote(&name);
        Err(unknown_model(format!("No function '{shown}' in model '{about}'. Available functions: {}", known())))
    }

    fn evaluation(&self, function: &ModelFunction) -> Result<State, Answer> {
        let missing = match self.parameter("missing-value") {
            Some(text) => {
                let value = parse_literal(text, None, Code::InvalidQueryParameter);
                Some(value.map_err(|rejection| unknown_model(rejection.message))?)
            }
            None => None,
        };
        let given = |name: &str| self.parameter(name).map(str::to_owned);
        let bound = function.bind(&given, missing.as_ref()).map_err(|rejection| refusal(&rejection))?;
        Ok(State::Evaluating { bound, format: self.form() })
    }

    fn form(&self) -> Result<Form, Answer> {
        let Some(name) = self.parameter("format.tensors") else { return Ok(Form::Json(TensorFormat::Short)) };
        let lower = name.to_lowercase();
        match (lower.as_str(), TensorFormat::from_name(&lower)) {
            ("string", _) => Ok(Form::Text),
            ("short" | "long" | "short-value" | "long-value", Some(format)) => Ok(Form::Json(format)),
            _ => {
                let message = format!("Unknown tensor format 'Optional[{}]'", Rejection::quote(name));
                Err(refusal(&Rejection::new(Code::InvalidQueryParameter, message)))
            }
        }
    }

    /// The last value of a name counts.
    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn all(&self, models: &[Model]) -> Answer {
        let mut json = JsonWriter::new();
        json.begin_object();
        models.iter().for_each(|model| member(&mut json, &model.name, &format!("{}{}", self.base, model.name)));
        json.end_object();
        found(json)
    }

    fn model(&self, model: &Model) -> Answer {
        let mut json = JsonWriter::new();
        json.begin_object();
        member(&mut json, "model", &model.name);
        json.key("functions");
        json.begin_array();
        for function in &model.functions {
            json.begin_object();
            self.write_function(&mut json, model, function, &function.name);
            json.end_object();
        }
        json.end_array();
        json.end_object();
        found(json)
    }

    fn write_function(&self, json: &mut JsonWriter, model: &Model, function: &ModelFunction, name: &str) {
        let info = format!("{}{}/{name}", self.base, model.name);
        member(json, "function", name);
        member(json, "info", &info);
        member(json, "eval", &format!("{info}/{EVALUATE}"));
        json.key("arguments");
        json.begin_array();
        for (name, of) in &function.arguments {
            json.begin_object();
            member(json, "name", name);
            member(json, "type", &of.to_string());
            json.end_object();
        }
        json.end_array();
    }
}

/// What stands before the name of a function where its signature is named.
const DEFAULT: &str = "default.";

/// That of a name; its letters may be of any case where none has it as it is: the reference reads paths in lower case.
fn find_named<'t, T>(all: &'t [T], name: &str, of: impl Fn(&T) -> &String) -> Option<&'t T> {
    let exact = all.iter().find(|one| of(one) == name);
    exact.or_else(|| all.iter().find(|one| of(one).eq_ignore_ascii_case(name)))
}

fn list_names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn member(json: &mut JsonWriter, key: &str, value: &str) {
    json.key(key);
    json.string(value);
}

fn found(json: JsonWriter) -> Answer {
    Answer { status: 200, body: json.finish() }
}

fn write_value(value: &Value, form: Form) -> Answer {
    let tensor = match value {
        Value::Number(number) => Rc::new(Tensor::scalar(*number)),
        Value::Tensor(tensor) => tensor.clone(),
    };
    match form {
        Form::Text => Answer { status: 200, body: tensor.to_string() },
        Form::Json(format) => {
            let mut json = JsonWriter::new();
            render_tensor(&tensor, &Render::document(format), &mut json);
            found(json)
        }
    }
}

fn unknown_model(message: String) -> Answer {
    failure(404, "NOT_FOUND", &message)
}

fn refusal(rejection: &Rejection) -> Answer {
    failure(rejection.code.status(), rejection.code.name(), &rejection.message)
}

/// An error as the interface has it, with two members more (docs/decisions/0017).
fn failure(status: u16, code: &str, message: &str) -> Answer {
    let mut json = JsonWriter::new();
    json.begin_object();
    member(&mut json, "error", message);
    member(&mut json, "outcome", "not_applied");
    member(&mut json, "code", code);
    json.end_object();
    Answer { status, body: json.finish() }
}

/// Answers the program's questions.
struct Source<'a> {
    values: &'a [Value],
    models: &'a mut Models,
}

impl FeatureSource for Source<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        match self.values.get(feature) {
            Some(Value::Number(number)) => *number,
            _ => f64::NAN,
        }
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        match self.values.get(feature) {
            Some(Value::Tensor(tensor)) => tensor.clone(),
            _ => Rc::new(Tensor::scalar(f64::NAN)),
        }
    }

    fn model_output(&mut self, output: &Arc<ModelOutput>, inputs: &[Rc<Tensor>]) -> Rc<Tensor> {
        self.models.output(output, inputs)
    }

    fn unknown_outputs(&self) -> usize {
        self.models.unknown
    }
}

impl Task for Evaluate {
    fn wants(&mut self) -> Result<Want, Rejection> {
        self.evaluate().or_else(|rejection| {
            self.state = State::Answered(refusal(&rejection));
            Ok(Want::Nothing)
        })
    }

    fn give(&mut self, answer: Block) -> Result<(), Rejection> {
        let mut reader = Reader::new(answer.bytes());
        self.given.add(&mut reader)?;
        reader.end()
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, Rejection> {
        let late = || refusal(&Rejection::new(Code::TimedOut, "Timeout while evaluating the model"));
        let answer = match self.state {
            State::Answered(answer) => answer,
            State::Evaluating { .. } => late(),
        };
        let mut writer = Writer::new();
        writer.u16(answer.status);
        writer.bytes(answer.body.as_bytes());
        Ok(writer.finish())
    }
}
