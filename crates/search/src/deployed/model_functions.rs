//! Models that are evaluated by themselves, without documents: which there are, their functions, and what these are given.
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType};
use brooklet_kernel::{map_of, sort_by};
use brooklet_rank::model_output::cell_type_of;
use brooklet_rank::{Dialect, Environment, Expression, FeatureName, FeatureType, Function, ModelCall, Program, Value};
use brooklet_schema::{Application, InputType, OnnxSignature, RankProfile};
use brooklet_task::{Code, Rejection};

use super::argument_type::ArgumentType;
use super::values::value_of;

/// What an input of an ONNX model is called in the expression that runs it: its number is the parameter.
const INPUT: &str = "input";

/// A model of the package.
pub(crate) struct Model {
    pub(crate) name: String,
    /// In the order of their names.
    pub(crate) functions: Vec<Rc<ModelFunction>>,
}

/// What a model computes.
pub(crate) struct ModelFunction {
    pub(crate) name: String,
    /// In the order of their names.
    pub(crate) arguments: BTreeMap<String, ArgumentType>,
    body: Body,
}

enum Body {
    /// Decision trees, or an expression.
    Program(Program),
    /// An output of an ONNX model.
    Onnx(ModelCall),
}

/// What a function computes of arguments.
pub(crate) struct Bound {
    pub(crate) program: Program,
    /// The values of its features.
    pub(crate) values: Vec<Value>,
}

/// All models of a package, in the order of their names.
pub(crate) fn models(application: &Application) -> Vec<Model> {
    let expressions = application.expression_models.iter().map(|(path, model)| (path.as_str(), of_expressions(model)));
    let trees = application.models.iter().filter_map(|(path, content)| {
        let path = path.strip_suffix(".json")?;
        Some((path, vec![of_trees(&model_name(path), content)?]))
    });
    let onnx = application.onnx_files.iter().filter_map(|(path, signature)| {
        let name = path.strip_prefix("models/")?.strip_suffix(".onnx")?;
        Some((name, of_onnx(application, path, name, signature.as_ref().ok()?)))
    });
    let all = expressions.chain(trees).chain(onnx).map(|(path, mut functions)| {
        sort_by(&mut functions, |a, b| a.name.cmp(&b.name));
        Model { name: model_name(path), functions: functions.into_iter().map(Rc::new).collect() }
    });
    let mut all: Vec<Model> = all.filter(|model| !model.functions.is_empty()).collect();
    sort_by(&mut all, |a, b| a.name.cmp(&b.name));
    all
}

/// The name of the model at a path below `models/`.
fn model_name(path: &str) -> String {
    path.replace(['/', '.'], "_")
}

/// A name of a graph as functions and arguments are called.
fn identifier(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '_' }).collect()
}

fn of_trees(name: &str, content: &Arc<[u8]>) -> Option<ModelFunction> {
    let environment = ModelEnvironment { trees: Some(content), ..ModelEnvironment::default() };
    ["lightgbm(\"\")", "xgboost(\"\")"].iter().find_map(|expression| {
        // What asks for nothing is JSON of another kind, such as a tokenizer.
        let program = environment.compile(expression).ok().filter(|program| !program.features().is_empty())?;
        Some(ModelFunction {
            name: name.to_owned(),
            arguments: free(&program, BTreeMap::new()),
            body: Body::Program(program),
        })
    })
}

/// Functions that take no parameters, which nobody could give them. One that does not compile is none.
fn of_expressions(model: &RankProfile) -> Vec<ModelFunction> {
    let environment = ModelEnvironment { model: Some(model), ..ModelEnvironment::default() };
    let functions = model.functions.iter().filter(|function| function.parameters.is_empty());
    let of = |function: &brooklet_schema::Function| {
        let program = environment.compile(&function.name).ok()?;
        let declared = model.inputs.iter().map(|input| (input.name.clone(), declared_type(&input.input_type)));
        let arguments = free(&program, map_of(declared));
        Some(ModelFunction { name: function.name.clone(), arguments, body: Body::Program(program) })
    };
    functions.filter_map(of).collect()
}

fn declared_type(of: &InputType) -> ArgumentType {
    match of {
        InputType::Tensor(of) => ArgumentType::of_tensor(of),
        InputType::Number | InputType::Text => ArgumentType::number(),
    }
}

/// What a program is given: what is declared, and whatever else it names.
fn free(program: &Program, mut declared: BTreeMap<String, ArgumentType>) -> BTreeMap<String, ArgumentType> {
    for (feature, _) in program.features() {
        declared.entry(feature.to_string()).or_insert_with(ArgumentType::number);
    }
    declared
}

/// A function for each output. Models with elements that nothing here holds have none.
fn of_onnx(application: &Application, path: &str, name: &str, signature: &Arc<OnnxSignature>) -> Vec<ModelFunction> {
    let mut arguments = BTreeMap::new();
    for input in &signature.inputs {
        let Some(cells) = cell_type_of(input.element) else { return Vec::new() };
        arguments.insert(identifier(&input.name), ArgumentType::of_onnx(cells, input.element, &input.sizes));
    }
    let evaluation = application.model_evaluation.as_ref();
    let settings = evaluation.and_then(|evaluation| evaluation.settings.get(&model_name(name))).cloned();
    let of = |(output, value): (usize, &brooklet_schema::OnnxValue)| ModelFunction {
        name: identifier(&value.name),
        arguments: arguments.clone(),
        body: Body::Onnx(ModelCall {
            file: path.to_owned(),
            settings: settings.clone().unwrap_or_default(),
            sources: (0..signature.inputs.len()).map(|input| format!("{INPUT}({input})")).collect(),
            signature: signature.clone(),
            output,
        }),
    };
    signature.outputs.iter().enumerate().map(of).collect()
}

impl ModelFunction {
    /// Reads the arguments that are given; `missing` is the value of those that are not.
    ///
    /// # Errors
    /// If one has not the type that the function takes: `InvalidQueryParameter`.
    #[inline(never)]
    pub(crate) fn bind(
        &self,
        given: &dyn Fn(&str) -> Option<String>,
        missing: Option<&Tensor>,
    ) -> Result<Bound, Rejection> {
        let mut values = BTreeMap::new();
        for (name, of) in &self.arguments {
            let value = match given(name) {
                Some(text) => of.read(&text),
                None => of.take(missing),
            };
            let refused = || {
                let message = format!("Argument '{}' must be bound to a value of type {of}", Rejection::quote(name));
                Rejection::new(Code::InvalidQueryParameter, message)
            };
            values.insert(name.as_str(), value.ok_or_else(refused)?);
        }
        let of_feature = |feature: &FeatureName| values.get(feature.to_string().as_str()).cloned();
        match &self.body {
            Body::Program(program) => {
                let values = program.features().iter().map(|(feature, _)| of_feature(feature));
                let values = values.map(|value| value.unwrap_or(Value::Number(f64::NAN))).collect();
                Ok(Bound { program: program.clone(), values })
            }
            Body::Onnx(call) => {
                let inputs: Vec<Value> = call
                    .signature
                    .inputs
                    .iter()
                    .filter_map(|input| values.get(identifier(&input.name).as_str()).cloned())
                    .collect();
                let environment = ModelEnvironment { call: Some((call, &inputs)), ..ModelEnvironment::default() };
                let program = environment.compile("onnx(model)").map_err(|rejection| Rejection {
                    code: Code::InvalidQueryParameter,
                    span: None,
                    ..rejection
                })?;
                let values = program.features().iter().map(|(feature, _)| input_of(feature, &inputs));
                let values = values.map(|value| value.cloned().unwrap_or(Value::Number(f64::NAN))).collect();
                Ok(Bound { program, values })
            }
        }
    }
}

/// The input of an ONNX model that a feature stands for.
fn input_of<'v>(feature: &FeatureName, inputs: &'v [Value]) -> Option<&'v Value> {
    inputs.get(feature.only_parameter(INPUT)?.parse::<usize>().ok()?)
}

/// What the expressions of models see: nothing of documents or queries.
#[derive(Default)]
struct ModelEnvironment<'a> {
    trees: Option<&'a Arc<[u8]>>,
    model: Option<&'a RankProfile>,
    call: Option<(&'a ModelCall, &'a [Value])>,
}

impl ModelEnvironment<'_> {
    fn compile(&self, expression: &str) -> Result<Program, Rejection> {
        Program::compile(&Expression::parse_as(expression, Dialect::Container)?, self)
    }
}

impl Environment for ModelEnvironment<'_> {
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        if let Some((_, inputs)) = self.call {
            let of = input_of(feature, inputs);
            return Ok(match of {
                Some(Value::Tensor(tensor)) => FeatureType::Tensor(tensor.tensor_type.clone()),
                _ => FeatureType::Number,
            });
        }
        let declared = self.model.and_then(|model| model.input(&feature.to_string()));
        Ok(match declared.map(|input| &input.input_type) {
            Some(InputType::Tensor(of)) => FeatureType::from_tensor_type(TensorType::clone(of)),
            _ => FeatureType::Number,
        })
    }

    fn function(&self, name: &str) -> Option<Function> {
        let function = self.model?.function(name)?;
        Some(Function { parameters: function.parameters.clone(), body: function.expression.text.to_string() })
    }

    fn dialect_of(&self, _: &str) -> Dialect {
        Dialect::Container
    }

    fn constant(&self, name: &str) -> Option<Value> {
        self.model?.constant(name).map(|constant| value_of(&constant.value))
    }

    fn model(&self, _: &str) -> Option<Arc<[u8]>> {
        self.trees.cloned()
    }

    fn model_call(&self, feature: &FeatureName) -> Result<ModelCall, Rejection> {
        let unknown =
            || Rejection::new(Code::InvalidApplication, format!("'{feature}': there are no ONNX models here"));
        self.call.map(|(call, _)| call.clone()).ok_or_else(unknown)
    }
}
