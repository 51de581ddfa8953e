//! What a misspelt name was meant to be, as a sentence of its own.
use brooklet_task::nearest_name;

/// ` Did you mean 'contains'?` if one of `names` is likely meant by `name`, else nothing.
pub(crate) fn did_you_mean(name: &str, names: &[&str]) -> String {
    nearest_name(name, names.iter().copied()).map(|guess| format!(" Did you mean '{guess}'?")).unwrap_or_default()
}
