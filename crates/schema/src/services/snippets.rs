//! `<config name="vespa.config.search.summary.juniperrc">` of a content cluster: how teasers are made of texts.
use brooklet_task::{Rejection, did_you_mean};
use roxmltree::Node;

use super::xml::{XmlFile, name, text};
use crate::snippet_settings::{SnippetConfig, SnippetSettings};

const CONFIG: &str = "vespa.config.search.summary.juniperrc";
const SETTINGS: [&str; 10] = [
    "length",
    "min_length",
    "max_matches",
    "surround_max",
    "winsize",
    "winsize_fallback_multiplier",
    "max_match_candidates",
    "stem_min_length",
    "stem_max_extend",
    "prefix",
];

/// Whether a `<config>` is that of teasers.
pub(super) fn is_meant(node: Node<'_, '_>) -> bool {
    node.attribute("name") == Some(CONFIG)
}

/// The settings of all fields, and those of some.
#[inline(never)]
pub(super) fn read(file: &XmlFile<'_>, node: Node<'_, '_>) -> Result<SnippetConfig, Rejection> {
    let mut config = SnippetConfig::default();
    for child in node.children().filter(Node::is_element) {
        if name(child) != "override" {
            set(file, child, &mut config.all)?;
            continue;
        }
        for item in child.children().filter(Node::is_element) {
            let (mut field, mut settings) = (None, SnippetSettings::default());
            for child in item.children().filter(Node::is_element) {
                match name(child) {
                    "fieldname" => field = Some(text(child).to_owned()),
                    _ => set(file, child, &mut settings)?,
                }
            }
            let field = field.ok_or_else(|| file.place(item).reject("an override names no field: <fieldname>"))?;
            config.fields.push((field, settings));
        }
    }
    Ok(config)
}

fn set(file: &XmlFile<'_>, node: Node<'_, '_>, settings: &mut SnippetSettings) -> Result<(), Rejection> {
    let given = text(node).trim();
    let refuse = |what: &str| {
        let shown = Rejection::quote(given);
        file.place(node).reject(format!("<{}> must be {what}, not '{shown}'", name(node)))
    };
    // Lengths are those of texts: what is larger than any of them is as good as that.
    let whole = || given.parse::<u32>().map(|number| number.min(1 << 26)).map_err(|_| refuse("a whole number"));
    match name(node) {
        "length" => settings.length = whole()?,
        "min_length" => settings.length_min = whole()?,
        "max_matches" => settings.matches = whole()?,
        "surround_max" => settings.context_max = whole()?,
        "winsize" => settings.window = whole()?,
        "max_match_candidates" => settings.candidates = whole()?,
        "stem_min_length" => settings.stem_min = whole()?,
        "stem_max_extend" => settings.stem_extension = whole()?,
        "winsize_fallback_multiplier" => {
            let factor = given.parse().ok().filter(|factor: &f64| (0.0..=1e6).contains(factor));
            settings.window_factor = factor.ok_or_else(|| refuse("a number"))?;
        }
        "prefix" => settings.begins = given.parse().map_err(|_| refuse("true or false"))?,
        other => {
            let (shown, hint) = (Rejection::quote(other), did_you_mean(other, SETTINGS));
            return Err(file.place(node).reject(format!("unknown setting <{shown}> of {CONFIG}{hint}")));
        }
    }
    Ok(())
}
