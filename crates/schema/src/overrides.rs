//! validation-overrides.xml: changes that were announced although they lose data.
use brooklet_task::Rejection;
use roxmltree::Node;

use crate::application::Override;
use crate::services::xml::{XmlFile, text};

/// Reads the file.
///
/// # Errors
/// If it is malformed.
pub(crate) fn read(path: &str, content: &str) -> Result<Vec<Override>, Rejection> {
    let file = XmlFile::parse(path, content)?;
    let root = file.root();
    if root.tag_name().name() != "validation-overrides" {
        return Err(file.place(root).reject("<validation-overrides> expected"));
    }
    let mut overrides = Vec::new();
    for node in root.children().filter(Node::is_element) {
        if node.tag_name().name() != "allow" {
            return Err(file.place(node).reject("<allow> expected"));
        }
        let until = file.required(node, "until")?;
        if !is_date(until) {
            let shown = Rejection::quote(until);
            return Err(file.place(node).reject(format!("'until' is a date like 2031-01-31, not '{shown}'")));
        }
        overrides.push(Override { id: text(node).to_owned(), until: until.to_owned() });
    }
    Ok(overrides)
}

/// Whether a text looks like `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    shape == "9999-99-99"
}
