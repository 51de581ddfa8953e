//! How the values of a field are matched: the resolved view of `match`, `normalizing` and `sorting`.
//!
//! What a mode does to a text is the matcher's business; here it is only decided which one applies.

/// Longest part of a value that is searched when a field does not say `max-length`, bytes.
pub const MAX_LENGTH_BYTES: usize = 1_048_576;

/// What `match` (or the field's roles, without one) makes of a value: decides how queries are parsed for the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// Words. The default of strings with `index`.
    #[default]
    Text,
    /// The whole value is one word. The default of strings with only `attribute`.
    Word,
    /// As `Word`, and in the user's query syntax everything up to the terminator is one word.
    Exact,
    /// N-grams: not supported in streaming mode, treated as text (with a warning at deploy).
    Gram,
}

/// How a query term meets the values of a field when it does not say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MatchMode {
    /// A word of the value equals the term.
    #[default]
    Text,
    /// The whole value equals the term.
    Word,
    /// The whole value equals the term; `cased` does not count.
    Exact,
    /// A word begins with the term.
    Prefix,
    /// The term occurs anywhere.
    Substring,
    /// A word ends with the term.
    Suffix,
    /// Declared as n-grams; matched as `Text`.
    Gram,
}

/// What is done to values and terms before they are compared (same on both sides).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Normalizing {
    /// Nothing: `cased`.
    None,
    /// Lowercase: match kinds word and exact.
    Lowercase,
    /// Lowercase and folding of accents: everything else.
    #[default]
    LowercaseAndFold,
}

/// The resolved `match` of a field or of a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchSettings {
    /// What the value is for query parsing.
    pub kind: MatchKind,
    /// How a plain term meets the value: `Exact` if the kind is, else the algorithm if one was named, else the kind.
    pub mode: MatchMode,
    /// Whether upper and lower case differ.
    pub cased: bool,
    /// Each value is cut to this many bytes before it is searched.
    pub max_length_bytes: usize,
    /// End of an exact term in the user's query syntax.
    pub exact_terminator: String,
    /// Declared size of n-grams; no effect.
    pub gram_size: u32,
}

impl Default for MatchSettings {
    fn default() -> MatchSettings {
        MatchSettings {
            kind: MatchKind::Text,
            mode: MatchMode::Text,
            cased: false,
            max_length_bytes: MAX_LENGTH_BYTES,
            exact_terminator: "@@".to_owned(),
            gram_size: 2,
        }
    }
}

impl MatchSettings {
    /// What is done to values and terms. The order of the rules is the meaning: exact wins over cased, cased over word.
    #[must_use]
    pub fn normalizing(&self) -> Normalizing {
        match self {
            MatchSettings { kind: MatchKind::Exact, .. } => Normalizing::Lowercase,
            MatchSettings { cased: true, .. } => Normalizing::None,
            MatchSettings { kind: MatchKind::Word, .. } => Normalizing::Lowercase,
            _ => Normalizing::LowercaseAndFold,
        }
    }
}

/// Order of sorted results when the query does not give one for the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SortOrder {
    /// Smallest first.
    #[default]
    Ascending,
    /// Largest first.
    Descending,
}

/// What strings are compared by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SortFunction {
    /// The Unicode collation algorithm.
    #[default]
    Uca,
    /// Lowercased text.
    Lowercase,
    /// Bytes.
    Raw,
}

/// How many levels of difference the Unicode collation algorithm looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SortStrength {
    /// Base letters.
    #[default]
    Primary,
    /// And accents.
    Secondary,
    /// And case.
    Tertiary,
    /// And punctuation.
    Quaternary,
    /// And code points.
    Identical,
}

/// The `sorting` block of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sorting {
    /// Direction.
    pub order: SortOrder,
    /// What is compared; nothing if the schema does not say (strings: the Unicode collation algorithm).
    pub function: Option<SortFunction>,
    /// Levels of comparison.
    pub strength: SortStrength,
    /// Language of the collation, as written.
    pub locale: Option<String>,
}
