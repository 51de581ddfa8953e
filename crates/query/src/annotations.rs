//! What a query may say about an item beside the item itself. The defaults are those of the language.

/// Annotations of one [`crate::tree::Item`]. Those that belong to a single operator (distance, targetHits, prefix …) are
/// members of that operator instead. Unknown annotations are ignored, as the language says.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotations {
    /// Weight of the term in ranking, per cent.
    pub weight: i32,
    /// Whether the item counts in ranking.
    pub ranked: bool,
    /// Whether the item only filters: it is not highlighted.
    pub filter: bool,
    /// The name ranking asks for (`matches(label)`, `closeness(label, …)`).
    pub label: Option<String>,
    /// A number for other items to be connected to.
    pub id: Option<i64>,
    /// The item this one belongs together with, and how strongly.
    pub connectivity: Option<Connectivity>,
    /// How rare the term is, instead of what the corpus says.
    pub significance: Option<f64>,
    /// In how many documents the term occurs, instead of what the corpus says.
    pub document_frequency: Option<DocumentFrequency>,
    /// Whether the term may be stemmed.
    pub stem: bool,
    /// Whether case is ignored.
    pub normalize_case: bool,
    /// Whether accents are ignored.
    pub accent_drop: bool,
    /// Whether anything may be done to the term that was not asked for.
    pub implicit_transforms: bool,
    /// Whether ranking may use the term's positions.
    pub use_position_data: bool,
    /// The language of the term, as a tag.
    pub language: Option<String>,
    /// The text this term was cut from.
    pub origin: Option<Origin>,
    /// Whether a person typed the term, in a text of its own. No annotation: that is told by where it stands.
    pub typed: Typed,
}

/// Whether a person typed a term, and whether they may be typing it still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Typed {
    /// It is part of a statement.
    #[default]
    No,
    /// It is a word of `userInput`, `userQuery` or `query`.
    Word,
    /// It is the last one, and nothing is behind it.
    Last,
}

impl Default for Annotations {
    fn default() -> Annotations {
        Annotations {
            weight: 100,
            ranked: true,
            filter: false,
            label: None,
            id: None,
            connectivity: None,
            significance: None,
            document_frequency: None,
            stem: true,
            normalize_case: true,
            accent_drop: true,
            implicit_transforms: true,
            use_position_data: true,
            language: None,
            origin: None,
            typed: Typed::No,
        }
    }
}

/// A connection to another item of the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connectivity {
    /// The other item's [`Annotations::id`].
    pub id: i64,
    /// The strength of their connection, 0 to 1.
    pub weight: f64,
}

/// A document frequency given with the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentFrequency {
    /// Documents that contain the term.
    pub frequency: u64,
    /// All documents.
    pub count: u64,
}

/// Where a term was cut from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The whole text.
    pub original: String,
    /// Offset of the term in it, UTF-16 units.
    pub offset: u32,
    /// Length of the term, UTF-16 units.
    pub length: u32,
}
