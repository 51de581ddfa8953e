//! A feature as it is called: name, parameters and environment together, with the checks that all features share.

use super::properties::Properties;
use crate::features::environment::FeatureEnvironment;
use crate::features::prepared::{Executor, Prepared};
use crate::features::properties::refuse;
use crate::match_data::{FieldInfo, FieldKind};
use brooklet_document::TensorType;
use brooklet_task::Rejection;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// One feature with its parameters, about to be prepared.
pub struct Call<'c, 'e> {
    /// Name of the feature.
    pub name: &'c str,
    /// Parameters as written.
    pub parameters: &'c [String],
    /// Where names are looked up.
    pub environment: &'c FeatureEnvironment<'e>,
}

impl<'e> Call<'_, 'e> {
    /// `name(parameters)`, the name that properties and messages use.
    pub fn text(&self) -> String {
        if self.parameters.is_empty() {
            self.name.to_owned()
        } else {
            format!("{}({})", self.name, self.parameters.join(","))
        }
    }

    /// The feature as `prepare` makes it ready; what it refuses is told with the name of the feature.
    pub fn prepare_with(
        &self,
        prepare: fn(&Call<'_, '_>) -> Result<Prepared, Rejection>,
    ) -> Result<Prepared, Rejection> {
        prepare(self)
            .map_err(|rejection| rejection.within(&format!("invalid rank feature {}", Rejection::quote(&self.text()))))
    }

    /// Requires a number of parameters.
    pub fn takes(&self, count: RangeInclusive<usize>) -> Result<(), Rejection> {
        if count.contains(&self.parameters.len()) {
            return Ok(());
        }
        let (least, most) = (count.start(), count.end());
        let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        Err(refuse(format!("takes {wanted} parameters, but has {}", self.parameters.len())))
    }

    /// The only parameter, an index field.
    pub fn only_index_field(&self) -> Result<&'e FieldInfo, Rejection> {
        self.takes(1..=1)?;
        self.environment.index_field(&self.parameters[0])
    }

    /// The only parameter, an attribute field.
    pub fn only_attribute_field(&self) -> Result<&'e FieldInfo, Rejection> {
        self.takes(1..=1)?;
        self.environment.attribute_field(&self.parameters[0])
    }

    /// The fields of `kind` among those the parameters name, each once, or among all if there are no parameters.
    pub fn fields(&self, kind: FieldKind) -> Result<Vec<&'e FieldInfo>, Rejection> {
        let mut named: Vec<&'e FieldInfo> = Vec::new();
        for name in self.parameters {
            let field = self.environment.field(name)?;
            if named.iter().all(|other| other.id != field.id) {
                named.push(field);
            }
        }
        if self.parameters.is_empty() {
            named = self.environment.fields.iter().collect();
        }
        named.retain(|field| field.kind == kind);
        Ok(named)
    }

    /// The whole number in the parameter at `index`.
    pub fn whole_number(&self, index: usize) -> Result<usize, Rejection> {
        let text = &self.parameters[index];
        text.trim().parse().map_err(|_| refuse(format!("'{}' is not a whole number", Rejection::quote(text))))
    }

    /// The rank properties of the feature with these parameters.
    pub fn properties(&self) -> Properties<'e> {
        Properties::new(self.environment, self.text())
    }

    /// The feature made ready.
    pub fn ready(&self, outputs: &[&str], executor: impl Executor + 'static) -> Prepared {
        self.ready_with(outputs.iter().map(|output| (*output).to_owned()).collect(), executor)
    }

    /// The feature made ready, with outputs whose names depend on the schema.
    pub fn ready_with(&self, outputs: Vec<String>, executor: impl Executor + 'static) -> Prepared {
        Prepared { text: self.text(), outputs, tensor_type: None, executor: Box::new(executor) }
    }

    /// A feature made ready whose value is a tensor.
    pub fn ready_tensor(&self, output: &str, of: Arc<TensorType>, executor: impl Executor + 'static) -> Prepared {
        Prepared { tensor_type: Some(of), ..self.ready(&[output], executor) }
    }
}
