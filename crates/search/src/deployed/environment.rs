//! A rank profile as the compiler of expressions sees it.
use std::sync::Arc;

use brooklet_document::DataType;
use brooklet_rank::features::{FeatureEnvironment, Home, home, prepare};
use brooklet_rank::match_data::{FieldInfo, FieldKind, QueryTerms, RankProperties};
use brooklet_rank::{Environment, FeatureName, FeatureType, Function, ModelCall, Value};
use brooklet_schema::{Field, InputType, RankProfile, Schema};
use brooklet_task::{Code, Rejection, did_you_mean, nearest_name};

use super::ModelFiles;
use super::onnx_call::OnnxCalls;
use super::values::value_of;

/// A rank profile as the expression compiler sees it.
pub(crate) struct ProfileEnvironment<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) profile: &'a RankProfile,
    pub(crate) models: &'a ModelFiles,
    pub(crate) fields: &'a [FieldInfo],
    pub(crate) properties: &'a RankProperties,
}

impl ProfileEnvironment<'_> {
    /// The text of the second phase's expression.
    pub(crate) fn second_phase(&self) -> Option<String> {
        let second = self.profile.second_phase.as_ref().and_then(|phase| phase.expression.as_ref());
        second.map(|expression| expression.text.to_string())
    }

    pub(crate) fn refuse(&self, message: String) -> Rejection {
        Rejection::new(Code::InvalidApplication, format!("rank profile '{}': {message}", self.profile.name))
    }

    pub(crate) fn attribute_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        let field = self.field(feature)?;
        match &field.data_type {
            DataType::Tensor(of) => Ok(FeatureType::from_tensor_type((**of).clone())),
            _ => Ok(FeatureType::Number),
        }
    }

    pub(crate) fn vector_field(&self, feature: &FeatureName) -> Result<(), Rejection> {
        let (kind, name) = match &feature.parameters[..] {
            [name] => ("field", name.as_str()),
            [kind, name] => (kind.as_str(), name.as_str()),
            _ => return Err(self.refuse(format!("'{feature}' takes a field or a label"))),
        };
        match (kind, self.schema.field(name)) {
            ("label", _) => Ok(()),
            ("field", Some(field)) if matches!(field.data_type, DataType::Tensor(_)) => Ok(()),
            _ => {
                let is_kind = ["field", "label"].contains(&kind);
                let hint = if is_kind { self.schema.field_hint(name) } else { did_you_mean(kind, ["field", "label"]) };
                Err(self.refuse(format!("'{feature}' names no tensor field of schema '{}'{hint}", self.schema.name)))
            }
        }
    }

    /// The field that is the first parameter.
    fn field(&self, feature: &FeatureName) -> Result<&Field, Rejection> {
        let name = feature.parameters.first().map_or("", String::as_str);
        self.schema.field(name).ok_or_else(|| {
            let (schema, hint) = (&self.schema.name, self.schema.field_hint(name));
            self.refuse(format!("'{feature}' names no field of schema '{schema}'{hint}"))
        })
    }

    #[inline(never)]
    pub(crate) fn document_feature(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        match feature.name.as_str() {
            "attribute" => self.attribute_type(feature),
            "query" => {
                let input = feature.only_parameter("query").and_then(|name| self.profile.input(name));
                Ok(match input.map(|input| &input.input_type) {
                    Some(InputType::Tensor(of)) => FeatureType::Tensor(of.clone()),
                    _ => FeatureType::Number,
                })
            }
            "closeness" | "distance" => crate::ranking::document::position_feature_type(feature, self.schema)
                .unwrap_or_else(|| self.vector_field(feature).map(|()| FeatureType::Number)),
            "age" | "freshness" => self.field(feature).map(|_| FeatureType::Number),
            "rawScore" | "itemRawScore" | "now" | "firstPhaseRank" => Ok(FeatureType::Number),
            "secondPhase" | "relevanceScore" | "firstPhase" | "constant" => Err(Rejection::new(
                Code::Unsupported,
                format!("'{feature}' is not supported here in rank profile '{}'", self.profile.name),
            )),
            _ => crate::ranking::document::feature_type(feature, self.schema)
                .unwrap_or_else(|| Err(self.refuse(format!("'{feature}' is unknown")))),
        }
    }
}

impl Environment for ProfileEnvironment<'_> {
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        if home(&feature.name) == Some(Home::Document) {
            return self.document_feature(feature);
        }
        let functions = self.profile.functions.iter().map(|function| function.name.as_str());
        if let Some(near) = nearest_name(&feature.name, functions).filter(|_| home(&feature.name).is_none()) {
            let name = Rejection::quote(&feature.name);
            let message = format!("Unknown rank feature '{name}'; did you mean '{near}'?");
            return Err(Rejection::new(Code::InvalidApplication, message));
        }
        let terms = QueryTerms::default();
        let environment = FeatureEnvironment::new(self.fields, &terms, self.properties);
        let prepared = prepare(&feature.name, &feature.parameters, &environment)?;
        prepared.output(feature.output.as_deref())?;
        Ok(prepared.tensor_type.map_or(FeatureType::Number, FeatureType::Tensor))
    }

    fn function(&self, name: &str) -> Option<Function> {
        if name == "firstPhase" {
            let first = self.profile.first_phase.as_ref().and_then(|phase| phase.expression.as_ref());
            let body = first.map_or_else(|| "nativeRank".to_owned(), |expression| expression.text.to_string());
            return Some(Function { parameters: Vec::new(), body });
        }
        if name == "secondPhase" {
            // Every hit is scored by it, so it is computed wherever it is named; within itself it would not end.
            let second = self.profile.second_phase.as_ref().and_then(|phase| phase.expression.as_ref())?;
            return Some(Function { parameters: Vec::new(), body: second.text.to_string() });
        }
        let function = self.profile.function(name)?;
        Some(Function { parameters: function.parameters.clone(), body: function.expression.text.to_string() })
    }

    fn fields(&self, attributes: bool) -> Vec<String> {
        let kind = if attributes { FieldKind::Attribute } else { FieldKind::Index };
        self.fields.iter().filter(|field| field.kind == kind).map(|field| field.name.clone()).collect()
    }

    fn model(&self, path: &str) -> Option<Arc<[u8]>> {
        self.models.trees.get(path).cloned()
    }

    fn model_call(&self, feature: &FeatureName) -> Result<ModelCall, Rejection> {
        let files = &self.models.onnx;
        OnnxCalls { schema: self.schema, profile: self.profile, files, environment: self }.call(feature)
    }

    fn constant(&self, name: &str) -> Option<Value> {
        self.profile.constant(name).map(|constant| value_of(&constant.value))
    }
}
