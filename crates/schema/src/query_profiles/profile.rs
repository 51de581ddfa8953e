//! Query profiles and their types, as they were read.
use std::sync::Arc;

use brooklet_document::TensorType;

/// The profiles of an application and their types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryProfiles {
    /// In the order of their ids.
    pub(crate) profiles: Vec<QueryProfile>,
    /// In the order of their names.
    pub(crate) types: Vec<ProfileType>,
}

/// A query profile.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryProfile {
    /// Its name, without the version.
    pub name: String,
    /// Its version, numbers from the most significant; empty if it has none.
    pub version: Vec<u32>,
    /// Index of its type.
    pub(crate) profile_type: Option<usize>,
    /// Names of the parameters variants depend on.
    pub(crate) dimensions: Vec<String>,
    /// What holds whatever the request says.
    pub(crate) body: Body,
    /// What holds for some requests, the most specific first.
    pub(crate) variants: Vec<Variant>,
}

/// What a profile or a variant of it says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Body {
    /// Each name once.
    pub fields: Vec<ProfileField>,
    /// Indices of the profiles it inherits, the first counting most.
    pub inherits: Vec<usize>,
}

/// What a profile says for requests with certain values of its dimensions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    /// A value for each dimension, `None` for any.
    pub values: Vec<Option<String>>,
    pub body: Body,
}

/// A field of a profile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProfileField {
    pub name: String,
    pub value: FieldValue,
    /// What the field itself says; its type may say it too.
    pub overridable: Option<bool>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldValue {
    /// A text, with `%{name}` for the values of other parameters.
    Text(String),
    /// Index of the profile whose values go below the field's name.
    Reference(usize),
}

impl QueryProfiles {
    /// The profile of a name, `name:version` or `path/below/a/name`: of several versions the highest that fits, and where
    /// its type says so, the profile of the longest beginning of a path.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&QueryProfile> {
        let (base, version) = name.split_once(':').unwrap_or((name, ""));
        let version = if version.is_empty() { Vec::new() } else { version_of(version)? };
        let fits = |profile: &&QueryProfile| profile.name == base && profile.version.starts_with(&version);
        let found = self.profiles.iter().filter(fits).max_by(|a, b| a.version.cmp(&b.version));
        if found.is_some() {
            return found;
        }
        let mut path = base;
        while let Some((shorter, _)) = path.rsplit_once('/') {
            let matches_paths = |profile: &&QueryProfile| {
                profile.name == shorter && self.type_of(profile).is_some_and(|of| of.matches_paths)
            };
            if let Some(found) = self.profiles.iter().find(matches_paths) {
                return Some(found);
            }
            path = shorter;
        }
        None
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty()
    }

    /// The type of a profile, if it has one.
    #[must_use]
    pub fn type_of(&self, profile: &QueryProfile) -> Option<&ProfileType> {
        profile.profile_type.map(|index| &self.types[index])
    }
}

/// The numbers of a version.
pub(super) fn version_of(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

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
    /// `true`, or anything else, which is `false`.
    Boolean,
    /// A tensor: as a text, or made of a text by an embedder.
    Tensor(Arc<TensorType>),
    /// A profile, of a type if one is named: its index.
    Profile(Option<usize>),
}
