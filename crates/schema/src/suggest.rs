//! What a misspelt name was meant to be, as the end of a sentence.
use brooklet_task::nearest_name;

/// `; did you mean 'x'?` for the nearest of `known`, if one is near enough to be meant; otherwise nothing.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest_name(name, known).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default()
}
