//! The syntax tree of a schema file: what was written, with its place, nothing resolved.
use std::collections::BTreeSet;
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType};

use crate::field::{DistanceMetric, RankMode, RankType};
use crate::indexing::Script;
use crate::match_settings::{MatchKind, MatchMode, SortFunction, SortOrder, SortStrength};
use crate::place::{SourcePlace, SourceText};
use crate::rank_profile::{ElementGap, OnnxModel};
use crate::remarks::Remarks;
use crate::tuning::Tuning;

/// A name and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) place: SourcePlace,
}

/// A whole file.
#[derive(Debug)]
pub(crate) struct SchemaTree {
    pub(crate) name: Name,
    pub(crate) inherits: Option<Name>,
    pub(crate) document: Option<DocumentTree>,
    /// The file is a bare `document`.
    pub(crate) document_only: bool,
    pub(crate) fields: Vec<FieldTree>,
    pub(crate) structs: Vec<StructTree>,
    pub(crate) field_sets: Vec<FieldSetTree>,
    pub(crate) profiles: Vec<ProfileTree>,
    pub(crate) summaries: Vec<SummaryClassTree>,
    pub(crate) constants: Vec<ConstantTree>,
    pub(crate) onnx_models: Vec<OnnxModel>,
    pub(crate) imports: Vec<Name>,
    pub(crate) raw_as_base64: Option<bool>,
    /// `index NAME { … }` outside a field: deprecated, checked against the fields only.
    pub(crate) indexes: Vec<Name>,
    /// What is accepted although it has no effect, or another one than in indexed mode.
    pub(crate) remarks: Remarks,
}

#[derive(Debug)]
pub(crate) struct DocumentTree {
    pub(crate) name: Name,
    pub(crate) inherits: Vec<Name>,
    pub(crate) fields: Vec<FieldTree>,
    pub(crate) structs: Vec<StructTree>,
}

#[derive(Debug)]
pub(crate) struct StructTree {
    pub(crate) name: Name,
    pub(crate) inherits: Vec<Name>,
    pub(crate) fields: Vec<FieldTree>,
}

/// A type as written.
#[derive(Clone, Debug)]
pub(crate) struct TypeTree {
    pub(crate) place: SourcePlace,
    pub(crate) kind: TypeKind,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeKind {
    /// A primitive type, a struct, or nothing that exists.
    Named(String),
    Array(Box<TypeTree>),
    WeightedSet(Box<TypeTree>),
    Map(Box<TypeTree>, Box<TypeTree>),
    Tensor(TensorType),
    Reference(String),
}

/// A field of a document, a schema or a struct.
#[derive(Clone, Debug)]
pub(crate) struct FieldTree {
    pub(crate) name: Name,
    pub(crate) data_type: TypeTree,
    pub(crate) body: FieldBody,
    /// `id: 5`: checked against the others, without effect.
    pub(crate) id: Option<i64>,
}

/// What stands between the braces of a field or struct-field.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldBody {
    pub(crate) indexing: Option<Script>,
    pub(crate) matching: MatchTree,
    pub(crate) rank: Option<RankMode>,
    pub(crate) rank_type: Option<RankType>,
    pub(crate) weight: Option<i32>,
    pub(crate) distance_metric: Option<(DistanceMetric, SourcePlace)>,
    pub(crate) sorting: SortingTree,
    /// Where something is said that only an attribute has: `attribute` or `sorting`.
    pub(crate) attribute_settings: Option<SourcePlace>,
    pub(crate) aliases: Vec<String>,
    /// Names for other indexes: the index, and its further name.
    pub(crate) index_aliases: Vec<(String, String)>,
    pub(crate) phrase_segmenting: bool,
    pub(crate) summaries: Vec<SummaryTree>,
    pub(crate) bolding: Option<bool>,
    pub(crate) struct_fields: Vec<StructFieldTree>,
    pub(crate) create_if_nonexistent: bool,
    pub(crate) remove_if_zero: bool,
    pub(crate) dictionary: DictionaryTree,
    pub(crate) mutable: bool,
    pub(crate) fast_search: bool,
    /// `index { hnsw … }`.
    pub(crate) hnsw: bool,
    /// `index { arity: … }` of a predicate.
    pub(crate) arity: Option<i64>,
    /// What can be set once and was.
    pub(crate) said: BTreeSet<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct StructFieldTree {
    pub(crate) name: Name,
    pub(crate) body: FieldBody,
}

/// `match`; nothing where it is silent.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatchTree {
    pub(crate) kind: Option<MatchKind>,
    pub(crate) algorithm: Option<MatchMode>,
    pub(crate) cased: Option<bool>,
    pub(crate) max_length_bytes: Option<usize>,
    pub(crate) exact_terminator: Option<String>,
    pub(crate) gram_size: Option<u32>,
}

impl MatchTree {
    /// Whether nothing was said.
    pub(crate) fn is_empty(&self) -> bool {
        let MatchTree { kind, algorithm, cased, max_length_bytes, exact_terminator, gram_size } = self;
        kind.is_none()
            && algorithm.is_none()
            && cased.is_none()
            && max_length_bytes.is_none()
            && exact_terminator.is_none()
            && gram_size.is_none()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SortingTree {
    pub(crate) order: Option<SortOrder>,
    pub(crate) function: Option<SortFunction>,
    pub(crate) strength: Option<SortStrength>,
    pub(crate) locale: Option<String>,
}

/// `dictionary`: only checked, without effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct DictionaryTree {
    /// Where one of its kinds was asked for.
    pub(crate) kind: Option<SourcePlace>,
    pub(crate) hash: Option<SourcePlace>,
    pub(crate) cased: Option<bool>,
}

#[derive(Debug)]
pub(crate) struct FieldSetTree {
    pub(crate) name: Name,
    pub(crate) fields: Vec<Name>,
    pub(crate) matching: MatchTree,
    pub(crate) phrase_segmenting: bool,
}

#[derive(Debug)]
pub(crate) struct SummaryClassTree {
    pub(crate) name: Name,
    pub(crate) inherits: Vec<Name>,
    pub(crate) fields: Vec<SummaryTree>,
    pub(crate) from_disk: bool,
    pub(crate) omit_summary_features: bool,
}

/// A summary field, in a document-summary or in a field.
#[derive(Clone, Debug)]
pub(crate) struct SummaryTree {
    pub(crate) name: Name,
    /// The type that was given: deprecated, only held against the others.
    pub(crate) data_type: Option<TypeTree>,
    pub(crate) sources: Vec<Name>,
    /// `to: a, b` or `summary-to`: the classes it goes to (in a field; `default` without one).
    pub(crate) destinations: Vec<Name>,
    pub(crate) transform: TransformTree,
    pub(crate) bolding: Option<bool>,
}

/// How a summary field is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum TransformTree {
    /// Nothing was said.
    #[default]
    Unsaid,
    Full,
    Dynamic,
    MatchedElementsOnly,
    Tokens,
    SelectElementsBy(String),
}

#[derive(Debug)]
pub(crate) struct ProfileTree {
    pub(crate) name: Name,
    pub(crate) inherits: Vec<Name>,
    pub(crate) strict: Option<bool>,
    pub(crate) inputs: Vec<InputTree>,
    pub(crate) constants: Vec<ConstantTree>,
    pub(crate) onnx_models: Vec<OnnxModel>,
    pub(crate) functions: Vec<FunctionTree>,
    pub(crate) first_phase: Option<PhaseTree>,
    pub(crate) second_phase: Option<PhaseTree>,
    pub(crate) global_phase: Option<PhaseTree>,
    pub(crate) match_features: Option<FeaturesTree>,
    pub(crate) summary_features: Option<FeaturesTree>,
    pub(crate) rank_features: Vec<SourceText>,
    pub(crate) ignore_default_rank_features: bool,
    pub(crate) properties: Vec<(String, String)>,
    pub(crate) significance_model: Option<bool>,
    pub(crate) fields: Vec<FieldRankingTree>,
    /// What can be set once and was.
    pub(crate) said: BTreeSet<String>,
    pub(crate) tuning: Tuning,
}

/// A declared query feature or a constant has one of these types; nothing: a number.
#[derive(Clone, Debug)]
pub(crate) enum ValueType {
    Number,
    Text,
    Tensor(TensorType),
}

#[derive(Debug)]
pub(crate) struct InputTree {
    pub(crate) name: Name,
    pub(crate) value_type: ValueType,
    pub(crate) default: Option<SourceText>,
}

#[derive(Debug)]
pub(crate) struct ConstantTree {
    pub(crate) name: Name,
    pub(crate) value_type: ValueType,
    pub(crate) value: SourceText,
    /// The file that holds the value instead.
    pub(crate) file: Option<String>,
    /// What stands in the file, once it is read.
    pub(crate) tensor: Option<Arc<Tensor>>,
}

#[derive(Clone, Debug)]
pub(crate) struct FunctionTree {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<String>,
    pub(crate) expression: SourceText,
    pub(crate) inline: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct PhaseTree {
    pub(crate) expression: Option<SourceText>,
    pub(crate) rank_score_drop_limit: Option<f64>,
    pub(crate) rerank_count: Option<i64>,
}

/// A list of features, perhaps added to those of inherited profiles.
#[derive(Clone, Debug)]
pub(crate) struct FeaturesTree {
    pub(crate) inherits: Vec<Name>,
    pub(crate) features: Vec<SourceText>,
}

#[derive(Debug)]
pub(crate) struct FieldRankingTree {
    pub(crate) field: Name,
    pub(crate) rank: Option<RankMode>,
    pub(crate) rank_type: Option<RankType>,
    pub(crate) weight: Option<i32>,
    pub(crate) element_gap: Option<ElementGap>,
}
