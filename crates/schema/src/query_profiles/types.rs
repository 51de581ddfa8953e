//! Types of query profiles: which fields there are, and what values they may have.
use super::{FieldValue, QueryProfile, QueryProfiles};

/// A type of query profiles, with what it inherits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileType {
    /// Its name.
    pub name: String,
    /// Whether no other fields than the declared ones may be set.
    pub strict: bool,
    /// Whether a profile of this type is found for paths below its name.
    pub matches_paths: bool,
    /// Whether it inherits `native`: the request parameters there are anyway.
    pub native: bool,
    /// The fields, inherited ones included, each name once.
    pub fields: Vec<TypedField>,
}

/// A field of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedField {
    /// Its name.
    pub name: String,
    /// What values it has.
    pub field_type: FieldType,
    /// Whether every query must have a value for it.
    pub mandatory: bool,
    /// Whether requests may give it another value.
    pub overridable: bool,
    /// Other names for it, in lower case.
    pub aliases: Vec<String>,
}

/// The values of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldType {
    /// Any text.
    Text,
    /// An integer of 32 bits.
    Integer,
    /// An integer of 64 bits.
    Long,
    /// A number of 32 bits.
    Float,
    /// A number of 64 bits.
    Double,
    /// `true` or anything else.
    Boolean,
    /// A tensor, checked where it is bound to a rank profile.
    Tensor,
    /// A profile, of a type if one is named: its index.
    Profile(Option<usize>),
}

impl FieldType {
    /// Why a text is no value of the type.
    fn refuse(&self, value: &str) -> Option<String> {
        let number = value.trim();
        let (fits, kind) = match self {
            FieldType::Integer => (number.parse::<i32>().is_ok(), "integer"),
            FieldType::Long => (number.parse::<i64>().is_ok(), "long"),
            FieldType::Float => (number.parse::<f32>().is_ok(), "float"),
            FieldType::Double => (number.parse::<f64>().is_ok(), "double"),
            FieldType::Text | FieldType::Boolean | FieldType::Tensor | FieldType::Profile(_) => (true, ""),
        };
        (!fits).then(|| format!("'{}' is not a {kind}", brooklet_task::Rejection::quote(value)))
    }
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
        match self.declared(profile.profile_type?, name, is_native) {
            Declared::Field(field) => field.field_type.refuse(value),
            Declared::Free => None,
            Declared::Missing(name, of) => {
                let name = brooklet_task::Rejection::quote(&name);
                Some(format!("'{name}' is not declared in query profile type '{of}', and the type is strict"))
            }
        }
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
        match profile.profile_type.map(|index| self.declared(index, name, &|_| true)) {
            Some(Declared::Field(field)) => field.overridable,
            _ => true,
        }
    }

    /// Why a reference cannot be the value of a field.
    pub(super) fn refuse_reference(&self, profile: &QueryProfile, name: &str, to: &QueryProfile) -> Option<String> {
        let declared = self.declared(profile.profile_type?, name, &|_| true);
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

    fn declared(&self, index: usize, name: &str, is_native: &dyn Fn(&str) -> bool) -> Declared<'_> {
        let of = &self.types[index];
        if let Some(field) = of.fields.iter().find(|field| field.name == name) {
            return Declared::Field(field);
        }
        // A name below a field that is a profile is of that profile's type.
        for (at, _) in name.match_indices('.') {
            let Some(field) = of.fields.iter().find(|field| field.name == name[..at]) else { continue };
            if let FieldType::Profile(inner) = &field.field_type {
                return inner.map_or(Declared::Free, |inner| self.declared(inner, &name[at + 1..], &|_| false));
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
