//! Texts that people wrote, inside a statement: `userQuery()`, `userInput(…)`, `text(…)`.
use super::build::{Builder, Within, item};
use super::call::target_hits;
use super::leaf::{Word, term};
use super::scope::{Built, Scope, fault};
use super::syntax::Node;
use crate::annotations::Annotations;
use crate::limited::check_length;
use crate::simple::{self, Composite, Grammar};
use crate::tree::{Item, Operator};

impl Builder<'_> {
    /// The request's own query.
    pub fn user_query(&mut self, scope: &Scope<'_>) -> Built<Item> {
        let Some(query) = self.around.user_query else {
            return Ok(item(Operator::Null, Annotations::default(), scope.node));
        };
        self.count_text(query.text, scope)?;
        let parsed = simple::parse_user_query(&query, &self.around).map_err(|rejection| rejection.message)?;
        Ok(place_item(parsed, scope.node))
    }

    /// `userInput(…)`.
    pub fn user_input(&mut self, arguments: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let default = if within.is_element() { "" } else { crate::tree::DEFAULT_INDEX };
        let field = scope.text("defaultIndex")?.unwrap_or(default);
        self.input(field, self.around.input_grammar, arguments, scope, within)
    }

    /// `field contains text(…)`.
    pub fn text_input(
        &mut self,
        field: &str,
        arguments: &[Node],
        scope: &Scope<'_>,
        within: Within<'_>,
    ) -> Built<Item> {
        self.input(field, Grammar::LINGUISTICS, arguments, scope, within)
    }

    fn input(
        &mut self,
        field: &str,
        default: Grammar,
        arguments: &[Node],
        scope: &Scope<'_>,
        within: Within<'_>,
    ) -> Built<Item> {
        let [argument] = arguments else {
            return Err(fault(scope.node, format!("Expected 1 argument, got {}.", arguments.len())));
        };
        let text = self.text_of(argument)?;
        let allow_empty = scope.boolean("allowEmpty")?.unwrap_or(false);
        if allow_empty && text.is_empty() {
            return Ok(item(Operator::Null, Annotations::default(), scope.node));
        }
        self.count_text(&text, scope)?;
        match scope.text("grammar")? {
            Some("raw") => self.raw(field, text, scope, within),
            Some("segment") => self.segments(Word { field, text, segmented: true }, scope),
            _ => self.parse_input(field, &text, grammar(default, scope)?, allow_empty, scope),
        }
    }

    /// Grammar `raw`: the whole text is one term.
    fn raw(&mut self, field: &str, text: String, scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        if text.is_empty() {
            return Err(fault(scope.node, "The word of a word item cannot be empty"));
        }
        let annotations = self.note_annotations(scope.word_annotations()?, scope.node);
        let kind = self.index(field, within).matching.term_kind();
        Ok(term(field, text, kind, annotations, scope.node))
    }

    /// Grammar `segment`: the text is cut into words and nothing else.
    fn segments(&mut self, word: Word<'_>, scope: &Scope<'_>) -> Built<Item> {
        if word.text.is_empty() {
            return Err(fault(scope.node, "The word of a word item cannot be empty"));
        }
        let annotations = self.note_annotations(scope.word_annotations()?, scope.node);
        Ok(self.segment_item(word.field, word.text, annotations, scope))
    }

    fn parse_input(
        &mut self,
        field: &str,
        text: &str,
        grammar: Grammar,
        allow_empty: bool,
        scope: &Scope<'_>,
    ) -> Built<Item> {
        let parsed = simple::parse(text, grammar, Some(field), &self.around).map_err(|rejection| rejection.message)?;
        let mut root = place_item(parsed, scope.node);
        if root.operator == Operator::Null && !allow_empty {
            let quoted = brooklet_task::Rejection::quote(text);
            return Err(fault(scope.node, format!("Parsing '{quoted}' only resulted in NullItem.")));
        }
        Propagation::from_scope(scope)?.apply(&mut root);
        match &mut root.operator {
            Operator::WeakAnd(weak) => {
                weak.target_hits = target_hits(scope)?;
                weak.total_target_hits = scope.count("totalTargetHits")?;
            }
            Operator::Near(near) if matches!(grammar.composite, Composite::Near | Composite::OrderedNear) => {
                near.distance = scope.count("distance")?.unwrap_or(near.distance);
            }
            _ => {}
        }
        Ok(root)
    }

    /// Counts a text that is about to be parsed, so that one long parameter cannot be parsed a thousand times.
    fn count_text(&mut self, text: &str, scope: &Scope<'_>) -> Built<()> {
        self.text_bytes = self.text_bytes.saturating_add(text.len());
        check_length("text to search for", text).map_err(|rejection| fault(scope.node, rejection.message))?;
        if self.text_bytes > brooklet_task::limits::QUERY_BYTES {
            let limit = brooklet_task::limits::QUERY_BYTES;
            return Err(fault(scope.node, format!("The texts to search for are together longer than {limit} bytes.")));
        }
        Ok(())
    }
}

/// The grammar an annotation names, changed by those that name its parts.
fn grammar(default: Grammar, scope: &Scope<'_>) -> Built<Grammar> {
    let mut grammar = match scope.text("grammar")? {
        Some(name) => {
            let named = Grammar::named(name);
            named.ok_or_else(|| {
                fault(scope.node, format!("No query type '{}'", brooklet_task::Rejection::quote(name)))
            })?
        }
        None => default,
    };
    for part in ["composite", "tokenization", "syntax"] {
        if let Some(value) = scope.text(&format!("grammar.{part}"))? {
            let quoted = brooklet_task::Rejection::quote(value);
            let changed = grammar.with(part, value);
            grammar = changed.ok_or_else(|| fault(scope.node, format!("No query type {part} '{quoted}'")))?;
        }
    }
    if !grammar.is_valid() {
        return Err(fault(scope.node, "Linguistics tokenization can only be combined with syntax none"));
    }
    Ok(grammar)
}

/// Everything of a parsed text stands where its call stands.
fn place_item(mut item: Item, node: &Node) -> Item {
    fn place(item: &mut Item, node: &Node) {
        item.place = node.place;
        item.children_mut().into_iter().for_each(|child| place(child, node));
    }
    place(&mut item, node);
    item
}

/// The annotations of an input that count for all its terms.
struct Propagation {
    ranked: Option<bool>,
    filter: Option<bool>,
    label: Option<String>,
    stem: Option<bool>,
    normalize_case: Option<bool>,
    accent_drop: Option<bool>,
    use_position_data: Option<bool>,
    language: Option<String>,
}

impl Propagation {
    fn from_scope(scope: &Scope<'_>) -> Built<Propagation> {
        Ok(Propagation {
            ranked: scope.boolean("ranked")?,
            filter: scope.boolean("filter")?,
            label: scope.text("label")?.map(str::to_owned),
            stem: scope.boolean("stem")?,
            normalize_case: scope.boolean("normalizeCase")?,
            accent_drop: scope.boolean("accentDrop")?,
            use_position_data: scope.boolean("usePositionData")?,
            language: scope.text("language")?.map(str::to_owned),
        })
    }

    fn apply(&self, item: &mut Item) {
        self.apply_below(item, self.label.as_ref());
    }

    /// `label` is passed down until the first item that can have it: the words of a labeled phrase are no terms.
    fn apply_below(&self, item: &mut Item, mut label: Option<&String>) {
        let leaf = matches!(
            item.operator,
            Operator::Term(_) | Operator::Number(_) | Operator::Phrase(_) | Operator::Equiv(_) | Operator::Uri(_)
        );
        if leaf {
            item.annotations.ranked = self.ranked.unwrap_or(item.annotations.ranked);
            item.annotations.filter = self.filter.unwrap_or(item.annotations.filter);
            if item.annotations.label.is_none() {
                item.annotations.label = label.take().cloned();
            }
        }
        if matches!(item.operator, Operator::Term(_)) {
            item.annotations.stem = self.stem.unwrap_or(item.annotations.stem);
            item.annotations.normalize_case = self.normalize_case.unwrap_or(item.annotations.normalize_case);
            item.annotations.accent_drop = self.accent_drop.unwrap_or(item.annotations.accent_drop);
            item.annotations.use_position_data = self.use_position_data.unwrap_or(item.annotations.use_position_data);
        }
        if self.language.is_some() && (leaf || matches!(item.operator, Operator::Boolean(_))) {
            item.annotations.language = self.language.clone();
        }
        item.children_mut().into_iter().for_each(|child| self.apply_below(child, label));
    }
}
