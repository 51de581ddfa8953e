//! Fields and field sets as the rest of the house sees them: inheritance and defaults are resolved.
use brooklet_document::DataType;

use crate::indexing::Script;
use crate::match_settings::{MatchMode, MatchSettings, Normalizing, Sorting};

/// The weight of a field that says none.
pub(crate) const WEIGHT: i32 = 100;

/// Which of the three outputs a field's indexing script has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Roles {
    /// Readable by `attribute()`, sorting and grouping; strings match as whole words unless `index` is there too.
    /// A field with this role is an ATTRIBUTE for ranking, also when it has `index`.
    pub attribute: bool,
    /// Searchable as text.
    pub index: bool,
    /// Part of the default summary class.
    pub summary: bool,
}

impl Roles {
    /// Whether queries may search the field.
    #[must_use]
    pub fn searchable(self) -> bool {
        self.attribute || self.index
    }
}

/// Where a field was declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// In the document: it can be fed.
    #[default]
    Document,
    /// In the schema, outside the document: its value is made by its indexing script, it cannot be fed.
    Schema,
}

/// Whether matches in a field carry more than yes or no into ranking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RankMode {
    /// Positions and weights count.
    #[default]
    Normal,
    /// Only whether it matched.
    Filter,
}

/// Default tables of the native rank features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RankType {
    /// Ordinary text.
    #[default]
    About,
    /// Short text naming the document.
    Identity,
    /// Weighted keywords.
    Tags,
    /// Does not count.
    Empty,
}

/// Distance of nearest-neighbour search in a tensor field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DistanceMetric {
    /// Straight line.
    #[default]
    Euclidean,
    /// Angle.
    Angular,
    /// Negative dot product.
    DotProduct,
    /// Angle of vectors of the same length (`innerproduct` is its old name).
    PrenormalizedAngular,
    /// Kilometres on the globe.
    GeoDegrees,
    /// Bits (int8 cells) or cells that differ.
    Hamming,
}

impl DistanceMetric {
    /// Name in a schema.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DistanceMetric::Euclidean => "euclidean",
            DistanceMetric::Angular => "angular",
            DistanceMetric::DotProduct => "dotproduct",
            DistanceMetric::PrenormalizedAngular => "prenormalized-angular",
            DistanceMetric::GeoDegrees => "geodegrees",
            DistanceMetric::Hamming => "hamming",
        }
    }

    /// The metric of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<DistanceMetric> {
        Some(match name {
            "euclidean" => DistanceMetric::Euclidean,
            "angular" => DistanceMetric::Angular,
            "dotproduct" => DistanceMetric::DotProduct,
            "prenormalized-angular" | "innerproduct" => DistanceMetric::PrenormalizedAngular,
            "geodegrees" => DistanceMetric::GeoDegrees,
            "hamming" => DistanceMetric::Hamming,
            _ => return None,
        })
    }
}

/// A field of a schema, or a part of one (`people.name`, `props.key`, `byid.value.age`).
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name; of a part the whole dotted path.
    pub name: String,
    /// Its type. Of a part the type the struct declares: how often it occurs follows from the field it is in.
    pub data_type: DataType,
    /// Where it was declared (parts: as their field).
    pub origin: Origin,
    /// What it is used for. Of a part with `index` on the whole field: the part's own roles and `index`.
    pub indexing: Roles,
    /// The indexing script, with `input` in front where it was left out; empty if there is none.
    pub script: Script,
    /// How values are matched. Meaningful for strings.
    pub matching: MatchSettings,
    /// `rank: filter`, or implied by `match: exact`. A rank profile may say otherwise: [`crate::RankProfile::rank_mode`].
    pub rank: RankMode,
    /// Tables of the native rank features. A rank profile may say otherwise.
    pub rank_type: RankType,
    /// Weight in the native rank features. A rank profile may say otherwise.
    pub weight: i32,
    /// Distance of nearest-neighbour search.
    pub distance_metric: DistanceMetric,
    /// Defaults of sorting by it.
    pub sorting: Sorting,
    /// Other names for it in queries.
    pub aliases: Vec<String>,
    /// Other names in queries that it gives to an index, which may be a field set: pairs of the index and the name.
    pub index_aliases: Vec<(String, String)>,
    /// `query-command: phrase-segmenting`: a word of a query that is cut into several (`doc.42`) is a phrase here.
    pub phrase_segmenting: bool,
    /// Whether a profile's `mutate` may write it: parsed, no effect in streaming mode.
    pub mutable: bool,
    /// All parts of a struct, array of structs or map, at every depth, in the order of the type; empty otherwise.
    /// A map of plain values has the parts `key` and `value`. Parts of parts are in this list too, not in the part's.
    pub parts: Vec<Field>,
}

impl Field {
    /// What is done to values and terms before they are compared.
    #[must_use]
    pub fn normalizing(&self) -> Normalizing {
        self.matching.normalizing()
    }

    /// Whether queries may search it: by itself, or (struct, map) by its parts.
    #[must_use]
    pub fn searchable(&self) -> bool {
        self.indexing.searchable() || self.parts.iter().any(|part| part.indexing.searchable())
    }

    /// Whether it is an index field for ranking: only those have bm25, fieldMatch and nativeFieldMatch.
    #[must_use]
    pub fn is_index_for_ranking(&self) -> bool {
        self.indexing.index && !self.indexing.attribute
    }

    /// Whether a term matches the value as a whole rather than its words.
    #[must_use]
    pub fn matches_whole_value(&self) -> bool {
        matches!(self.matching.mode, MatchMode::Word | MatchMode::Exact)
    }

    /// The part of that full dotted name.
    #[must_use]
    pub fn part(&self, path: &str) -> Option<&Field> {
        self.parts.iter().find(|part| part.name == path)
    }
}

/// A name for several fields in queries.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSet {
    /// Its name; `default` is what queries search that name no field.
    pub name: String,
    /// The fields, each once, in the order written. Parts are named by their dotted path.
    pub fields: Vec<String>,
    /// Its own `match`, if it has one: how query text for the set is parsed. Otherwise that of its first field.
    pub matching: Option<MatchSettings>,
    /// That of the set itself or of any of its fields.
    pub phrase_segmenting: bool,
}
