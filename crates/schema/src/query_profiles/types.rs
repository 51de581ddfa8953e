//! Types of query profiles: which fields there are, and what values they may have.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::TensorType;
use brooklet_document::json::read_query_tensor;
use brooklet_task::{Code, Rejection};

use super::profile::{FieldType, FieldValue, QueryProfile, QueryProfiles, TypedField};
use crate::remarks::Remarks;

impl FieldType {
    /// Why a text is no value of the type.
    fn refuse(&self, value: &str) -> Option<String> {
        if let FieldType::Tensor(of) = self {
            return refuse_tensor(of, value);
        }
        let number = value.trim();
        let (fits, kind) = match self {
            FieldType::Integer => (number.parse::<i32>().is_ok(), "integer"),
            FieldType::Long => (number.parse::<i64>().is_ok(), "long"),
            FieldType::Float => (number.parse::<f32>().is_ok(), "float"),
            FieldType::Double => (number.parse::<f64>().is_ok(), "double"),
            FieldType::Text | FieldType::Boolean | FieldType::Tensor(_) | FieldType::Profile(_) => (true, ""),
        };
        (!fits).then(|| format!("'{}' is not a {kind}", Rejection::quote(value)))
    }
}

/// Why a text is no tensor of a type. What an embedder is to make of it, or what stands for other parameters, is known
/// later.
fn refuse_tensor(of: &Arc<TensorType>, value: &str) -> Option<String> {
    let text = value.trim();
    if text.starts_with("embed(") || text.contains("%{") {
        return None;
    }
    let refused = read_query_tensor(of, text).err()?.message;
    if refused.starts_with("Could not parse") {
        return Some(refused);
    }
    Some(format!("Could not parse '{}' as a tensor of type {of}: {refused}", Rejection::quote(text)))
}

/// What expressions call `query(name)`, of a field: `query(name)` itself, or as a part of the parameter's full name.
fn input_of(field: &str) -> Option<&str> {
    let at = field.find("query(")?;
    let is_whole = at == 0 || field[..at].ends_with('.');
    field[at..].strip_prefix("query(")?.strip_suffix(')').filter(|_| is_whole)
}

/// What a type says of a name.
enum Declared<'t> {
    Field(&'t TypedField),
    /// Nothing, and that is no fault.
    Free,
    /// The name is missing in a strict type: what is left of it, and the type.
    Missing(String, &'t str),
}

impl QueryProfiles {
    /// Why a field of a profile cannot have a value: its type is another, or it is not declared and the type is strict.
    /// `is_native` tells of names whether they are parameters that every request may have.
    #[must_use]
    pub fn refuse(
        &self,
        profile: &QueryProfile,
        name: &str,
        value: &str,
        is_native: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        match self.declaration_of(profile.profile_type?, name, is_native) {
            Declared::Field(field) => field.field_type.refuse(value),
            Declared::Free => None,
            Declared::Missing(name, of) => {
                let name = Rejection::quote(&name);
                Some(format!("'{name}' is not declared in query profile type '{of}', and the type is strict"))
            }
        }
    }

    /// The type of a field of a profile, if its type declares it.
    #[must_use]
    pub fn field_type<'p>(&'p self, profile: &QueryProfile, name: &str) -> Option<&'p FieldType> {
        match self.declaration_of(profile.profile_type?, name, &|_| true) {
            Declared::Field(field) => Some(&field.field_type),
            _ => None,
        }
    }

    /// The tensors that types declare as inputs of ranking, by name. Two types that declare one differently are objected to.
    pub(crate) fn tensor_inputs(&self, remarks: &mut Remarks) -> BTreeMap<&str, &Arc<TensorType>> {
        let mut inputs = BTreeMap::new();
        for field in self.types.iter().flat_map(|of| &of.fields) {
            let (Some(name), FieldType::Tensor(of)) = (input_of(&field.name), &field.field_type) else { continue };
            let other = *inputs.entry(name).or_insert(of);
            if other != of {
                let message = format!("Query profile types declare query({name}) both as {other} and as {of}");
                remarks.object(Rejection::new(Code::InvalidApplication, message));
            }
        }
        inputs
    }

    /// The full name of a field that the profile's type has another name for.
    #[must_use]
    pub fn alias<'p>(&'p self, profile: &QueryProfile, name: &str) -> Option<&'p str> {
        let lower = name.to_lowercase();
        let fields = &self.type_of(profile)?.fields;
        fields.iter().find(|field| field.aliases.contains(&lower)).map(|field| field.name.as_str())
    }

    /// Whether the type of a profile lets requests set a field.
    pub(super) fn is_overridable(&self, profile: &QueryProfile, name: &str) -> bool {
        match profile.profile_type.map(|index| self.declaration_of(index, name, &|_| true)) {
            Some(Declared::Field(field)) => field.overridable,
            _ => true,
        }
    }

    /// Why a reference cannot be the value of a field.
    pub(super) fn refuse_reference(&self, profile: &QueryProfile, name: &str, to: &QueryProfile) -> Option<String> {
        let declared = self.declaration_of(profile.profile_type?, name, &|_| true);
        let Declared::Field(TypedField { field_type: FieldType::Profile(Some(wanted)), .. }) = declared else {
            return None;
        };
        let fits = to.profile_type == Some(*wanted);
        let message = format!("'{}' is not a query profile of type '{}'", to.name, self.types[*wanted].name);
        (!fits).then_some(message)
    }

    /// The names a query must have values for and that `has` knows none of.
    #[must_use]
    pub fn missing<'p>(&'p self, profile: &QueryProfile, has: &dyn Fn(&str) -> bool) -> Option<(&'p str, &'p str)> {
        let of = self.type_of(profile)?;
        let missing = of.fields.iter().find(|field| field.mandatory && !has(&field.name));
        missing.map(|field| (field.name.as_str(), of.name.as_str()))
    }

    fn declaration_of(&self, index: usize, name: &str, is_native: &dyn Fn(&str) -> bool) -> Declared<'_> {
        let of = &self.types[index];
        if let Some(field) = of.fields.iter().find(|field| field.name == name) {
            return Declared::Field(field);
        }
        // A name below a field that is a profile is of that profile's type.
        for (at, _) in name.match_indices('.') {
            let Some(field) = of.fields.iter().find(|field| field.name == name[..at]) else { continue };
            if let FieldType::Profile(inner) = &field.field_type {
                return inner.map_or(Declared::Free, |inner| self.declaration_of(inner, &name[at + 1..], &|_| false));
            }
        }
        if !of.strict || (of.native && is_native(name)) {
            return Declared::Free;
        }
        Declared::Missing(name.to_owned(), &of.name)
    }
}

/// The text of a value that is one.
pub(super) fn text_of(value: &FieldValue) -> Option<&str> {
    match value {
        FieldValue::Text(text) => Some(text),
        FieldValue::Reference(_) => None,
    }
}
