//! Summary classes (`document-summary`) with everything they inherit merged in.

/// Which fields a hit shows, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummaryClass {
    /// Its name; `default` always exists.
    pub name: String,
    /// The classes it inherits, as written (what they hold is merged in already).
    pub inherits: Vec<String>,
    /// The fields, inherited ones first. `default` begins with all fields that have `summary`.
    pub fields: Vec<SummaryField>,
    /// `from-disk`: no effect.
    pub from_disk: bool,
    /// Leaves `summaryfeatures` out.
    pub omit_summary_features: bool,
}

impl SummaryClass {
    /// The summary field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&SummaryField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A field of a summary class.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryField {
    /// Its name in the answer.
    pub name: String,
    /// Where its value comes from; of several fields all values are one text. At least one; its own name by default.
    /// `documentid` is the document's id.
    pub sources: Vec<String>,
    /// What is done to the value.
    pub transform: SummaryTransform,
}

/// What is done to a value before it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SummaryTransform {
    /// Nothing.
    #[default]
    Full,
    /// A teaser around the query's terms.
    Dynamic,
    /// The whole text with the query's terms marked (`bolding: on`).
    Bolding,
    /// Only the elements that matched.
    MatchedElementsOnly,
    /// Only the elements that a summary feature of the rank profile selects, as it was written.
    SelectElementsBy(String),
    /// The list of indexed tokens.
    Tokens,
}
