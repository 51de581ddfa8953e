//! Dynamic summaries and bolding: the parts of a text that show why it was found, with the query's words marked.
//!
//! A text goes through five hands: [`pattern`] is what the query looks for in it, [`scan`] finds the words, [`matches`]
//! puts them together to occurrences of the whole query, [`excerpt`] chooses what is shown, [`markup`] writes it.
//! Lengths and positions are bytes everywhere. Which fields are treated so is the caller's business.

mod excerpt;
mod markup;
mod matches;
mod pattern;
mod scan;
mod split;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use brooklet_query::annotations::Typed;
use brooklet_query::tree::Item;
use brooklet_schema::{Normalizing, SnippetSettings};
use brooklet_text::Variety;

pub(crate) use markup::Marks;
use markup::Markup;
use matches::{Pass, Purpose, SnippetMatches};
use pattern::Pattern;
use split::Splitting;

/// What of a query is marked in a field's text.
pub(crate) struct Highlighter {
    /// Nothing if the query does not concern the field.
    pattern: Option<Pattern>,
    settings: SnippetSettings,
}

/// How far a text was looked through that was too long for a step.
pub(crate) struct Highlighting {
    /// How far pieces of words are set apart, where there are some.
    splitting: Option<Splitting>,
    /// The text with them.
    split: Option<String>,
    pass: Pass,
}

impl Highlighter {
    /// For the field that `in_index` says an index name of the query means: by itself, or as a member of a field set.
    /// `substring_field` tells that every term of the query is looked for inside words.
    pub(crate) fn new(
        item: &Item,
        normalizing: Normalizing,
        substring_field: bool,
        in_index: &dyn Fn(&str) -> bool,
    ) -> Highlighter {
        let pattern = Pattern::new(item, normalizing, substring_field, in_index);
        Highlighter { pattern, settings: SnippetSettings::default() }
    }

    /// Marks variants of the query's words too, which `variety` tells of a word that was written, may be stemmed, and was
    /// typed; and words of CJK inside of runs if `segments` says so.
    #[inline(never)]
    pub(crate) fn understanding(
        mut self,
        variety: &dyn Fn(&str, bool, Typed) -> Variety,
        segments: bool,
    ) -> Highlighter {
        self.pattern = self.pattern.map(|pattern| pattern.understanding(variety, segments));
        self
    }

    /// Teasers with other lengths than usual.
    pub(crate) fn with(mut self, settings: SnippetSettings) -> Highlighter {
        self.settings = settings;
        if let Some(pattern) = &mut self.pattern {
            pattern.settings = settings;
        }
        self
    }

    /// `summary: dynamic`: the whole text if it is short, else the parts around the best matches, else its beginning.
    /// Nothing while there is too little work left to look through it: then `rest` says how far it came, and a call with
    /// that and the same text goes on.
    #[inline(never)]
    pub(crate) fn dynamic(
        &self,
        text: &str,
        marks: Marks,
        rest: &mut Option<Highlighting>,
        work: &mut usize,
    ) -> Option<String> {
        let (markup, settings) = (Markup::dynamic(marks), &self.settings);
        let Some(pattern) = &self.pattern else { return Some(markup.opening(text, settings)) };
        let is_short = excerpt::is_short(text, settings);
        let purpose =
            if is_short { Purpose::Marks { matches_wanted: settings.matches as usize } } else { Purpose::Excerpt };
        let (split, found) = find(text, pattern, purpose, rest, work)?;
        Some(if found.hits.is_empty() {
            markup.opening(text, settings)
        } else if is_short {
            markup.whole(&split, &found)
        } else {
            match excerpt::choose(&split, &found, settings) {
                Some(excerpt) => markup.excerpt(&split, excerpt),
                None => markup.opening(text, settings),
            }
        })
    }

    /// `bolding: on`: the whole text. Nothing while there is too little work left, as [`Highlighter::dynamic`].
    pub(crate) fn embolden(
        &self,
        text: &str,
        marks: Marks,
        rest: &mut Option<Highlighting>,
        work: &mut usize,
    ) -> Option<String> {
        let markup = Markup::bolding(marks);
        let Some(pattern) = self.pattern.as_ref().filter(|_| marks != Marks::None) else {
            return Some(markup.plain(text));
        };
        let (split, found) = find(text, pattern, Purpose::Marks { matches_wanted: 1 }, rest, work)?;
        Some(markup.whole(&split, &found))
    }
}

/// What of the query is in a text, and the text that its places are in.
fn find<'a>(
    text: &'a str,
    pattern: &Pattern,
    purpose: Purpose,
    rest: &mut Option<Highlighting>,
    work: &mut usize,
) -> Option<(Cow<'a, str>, SnippetMatches)> {
    let highlighting = rest.get_or_insert_with(|| {
        let splitting = Splitting::new(&pattern.pieces);
        Highlighting { splitting, split: None, pass: Pass::new(pattern, purpose) }
    });
    if let Some(splitting) = &mut highlighting.splitting {
        if !splitting.go_on(text, work) {
            return None;
        }
        highlighting.split = highlighting.splitting.take()?.finish(text, &pattern.pieces);
    }
    if !highlighting.pass.go_on(highlighting.split.as_deref().unwrap_or(text), pattern, work) {
        return None;
    }
    let Highlighting { split, pass, .. } = rest.take()?;
    Some((split.map_or(Cow::Borrowed(text), Cow::Owned), pass.finish(pattern)))
}
