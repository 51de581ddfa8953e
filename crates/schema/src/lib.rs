//! Application packages: schemas (`.sd`), services.xml, and what they mean together.
//!
//! [`Application::deploy`] reads a package and gives everything resolved: inheritance merged, defaults filled in, and
//! all that streaming mode forbids refused with file, line and column. Ranking expressions stay text ([`SourceText`]):
//! crate `rank` compiles them. Nothing here looks at documents.
#![forbid(unsafe_code)]

mod allowed_values;
mod application;
mod change;
mod cluster;
mod constant_files;
mod deployment;
mod expression_files;
mod field;
mod fingerprint;
mod generator;
mod history;
pub mod indexing;
mod lives;
mod lz4;
mod match_settings;
mod model_files;
mod onnx;
mod overrides;
mod package;
mod place;
mod query_profiles;
mod rank_profile;
mod remarks;
mod report;
mod resolve;
mod schema;
mod schema_files;
mod sd;
mod services;
mod significance;
mod snippet_settings;
mod stored_name;
mod summary_class;
mod tuning;
mod validate;

pub use allowed_values::AllowedValues;
pub use application::Application;
pub use change::{Change, Refeed, UnlessStored};
pub use cluster::{ContentCluster, DocumentTypeConfig, Mode};
pub use field::{DistanceMetric, Field, FieldSet, Origin, RankMode, RankType, Roles};
pub use generator::GeneratorConfig;
pub use history::History;
pub use match_settings::{
    MAX_LENGTH_BYTES, MatchKind, MatchMode, MatchSettings, Normalizing, SortFunction, SortOrder, SortStrength, Sorting,
};
pub use model_files::ModelAddresses;
pub use onnx::{ModelEvaluation, OnnxSignature, OnnxSize, OnnxValue};
pub use overrides::Override;
pub use place::{SourcePlace, SourceText};
pub use query_profiles::{FieldType, ProfileType, ProfileValue, QueryProfile, QueryProfiles, TypedField};
pub use rank_profile::{
    Constant, ElementGap, FieldRanking, Function, Input, InputType, InputValue, OnnxModel, Phase, RankProfile,
};
pub use schema::Schema;
pub use services::{EmbedderConfig, LanguageModelConfig, SearchChain};
pub use significance::{SignificanceModel, SignificanceModels};
pub use snippet_settings::{SnippetConfig, SnippetSettings};
pub use stored_name::{REMOVED, is_of_removed, removed_of};
pub use summary_class::{SummaryClass, SummaryField, SummaryTransform};
pub use tuning::Tuning;
