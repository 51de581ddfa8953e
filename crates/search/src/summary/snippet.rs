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

use brooklet_query::annotations::Typed;
use brooklet_query::tree::Item;
use brooklet_schema::{Normalizing, SnippetSettings};
use brooklet_text::Variety;

pub(crate) use markup::Marks;
use markup::{Markup, Whole};
use matches::{Pass, Purpose, SnippetMatches};
use pattern::Pattern;
use split::Splitting;

/// What of a query is marked in a field's text.
pub(crate) struct Highlighter {
    /// Nothing if the query does not concern the field.
    pattern: Option<Pattern>,
    settings: SnippetSettings,
}

/// How far a text came that was too long for a step.
pub(crate) struct Highlighting {
    /// How far pieces of words are set apart, where there are some.
    splitting: Option<Splitting>,
    /// The text with them.
    split: Option<String>,
    /// How far it was looked through; nothing when it was.
    pass: Option<Pass>,
    /// What was found then.
    found: SnippetMatches,
    /// How far it is written with its marks.
    whole: Option<Whole>,
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
        let highlighting = rest.get_or_insert_with(|| Highlighting::new(pattern, purpose));
        if !highlighting.find(text, pattern, work) {
            return None;
        }
        let found = &highlighting.found;
        let shown = if found.hits.is_empty() {
            markup.opening(text, settings)
        } else if is_short {
            highlighting.write(text, markup, work)?
        } else {
            let split = highlighting.split.as_deref().unwrap_or(text);
            match excerpt::choose(split, found, settings) {
                Some(excerpt) => markup.excerpt(split, excerpt),
                None => markup.opening(text, settings),
            }
        };
        *rest = None;
        Some(shown)
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
        let highlighting = rest.get_or_insert_with(|| Highlighting::new(pattern, Purpose::Marks { matches_wanted: 1 }));
        if !highlighting.find(text, pattern, work) {
            return None;
        }
        let shown = highlighting.write(text, markup, work)?;
        *rest = None;
        Some(shown)
    }
}

impl Highlighting {
    fn new(pattern: &Pattern, purpose: Purpose) -> Highlighting {
        Highlighting {
            splitting: Splitting::new(&pattern.pieces),
            split: None,
            pass: Some(Pass::new(pattern, purpose)),
            found: SnippetMatches::default(),
            whole: None,
        }
    }

    /// Looks on for what of the query is in a text. Returns whether all of it was looked through.
    fn find(&mut self, text: &str, pattern: &Pattern, work: &mut usize) -> bool {
        if let Some(splitting) = &mut self.splitting {
            if !splitting.go_on(text, work) {
                return false;
            }
            self.split = self.splitting.take().and_then(|splitting| splitting.finish(text, &pattern.pieces));
        }
        if let Some(pass) = &mut self.pass
            && !pass.go_on(self.split.as_deref().unwrap_or(text), pattern, work)
        {
            return false;
        }
        if let Some(pass) = self.pass.take() {
            self.found = pass.finish(pattern);
        }
        true
    }

    /// Writes on the whole text with what was found. Nothing while there is too little work left.
    fn write(&mut self, text: &str, markup: Markup, work: &mut usize) -> Option<String> {
        let text = self.split.as_deref().unwrap_or(text);
        let whole = self.whole.get_or_insert_with(|| markup.whole(text));
        if !whole.go_on(text, &self.found, work) {
            return None;
        }
        self.whole.take().map(Whole::finish)
    }
}
