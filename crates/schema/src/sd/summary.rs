//! `document-summary`, and `summary` in a field.
use super::lex::Token;
use super::settings::{Parsed, Parser, check_count};
use super::tree::{FieldBody, Name, SummaryClassTree, SummaryTree, TransformTree};

const SUMMARY_SETTINGS: &[&str] =
    &["full", "static", "dynamic", "tokens", "matched-elements-only", "select-elements-by", "bolding", "source", "to"];

impl Parser<'_> {
    /// A document-summary, after that word.
    pub(super) fn summary_class(&mut self) -> Parsed<SummaryClassTree> {
        let name = self.word("the name of the document-summary")?;
        let inherits = self.inherits()?;
        let mut tree =
            SummaryClassTree { name, inherits, fields: Vec::new(), from_disk: false, omit_summary_features: false };
        self.block(|parser| {
            let element = parser.word("an element of a document-summary")?;
            match element.text.as_str() {
                "from-disk" => tree.from_disk = true,
                "omit-summary-features" => tree.omit_summary_features = true,
                "summary" => {
                    let field = parser.summary_in_class(&tree.name)?;
                    if tree.fields.iter().any(|other| other.name.text == field.name.text) {
                        let (name, class) = (&field.name, &tree.name.text);
                        let message =
                            format!("summary field '{}' is defined twice in document-summary '{class}'", name.text);
                        parser.remarks.object(name.place.reject(message));
                        tree.fields.retain(|other| other.name.text != field.name.text);
                    }
                    tree.fields.push(field);
                    check_count(tree.fields.len(), &tree.name.place, "summary fields")?;
                }
                _ => {
                    let known = &["summary", "from-disk", "omit-summary-features"];
                    return Err(parser.unknown_setting(&element, "element of a document-summary", known));
                }
            }
            Ok(())
        })?;
        Ok(tree)
    }

    #[inline(never)]
    fn summary_in_class(&mut self, class: &Name) -> Parsed<SummaryTree> {
        let mut tree = new_summary(self.word("the name of a summary field")?);
        if self.take_word("type")? {
            tree.data_type = Some(self.data_type()?);
        }
        self.newlines_before_block()?;
        if self.peek()? == Token::Symbol('{') || self.peek()? == Token::Symbol(':') {
            self.setting(|parser| parser.summary_setting(&mut tree))?;
        } else {
            let message = format!("a block '{{ … }}' for the summary field in document-summary '{}'", class.text);
            return Err(self.lexer.expected_token(&message));
        }
        Ok(tree)
    }

    fn newlines_before_block(&mut self) -> Parsed<()> {
        let after = self.lexer.offset();
        self.newlines()?;
        if self.peek()? != Token::Symbol('{') {
            self.lexer.seek(after);
        }
        Ok(())
    }

    /// `summary: dynamic`, `summary { … }`, `summary NAME … `, after the word.
    pub(super) fn summary_in_field(&mut self, field: &Name, body: &mut FieldBody) -> Parsed<()> {
        let name = match self.peek()? {
            Token::Word(_) => self.name("the name of a summary field")?,
            _ => Name { text: field.text.clone(), place: self.place() },
        };
        let data_type = if self.take_word("type")? { Some(self.data_type()?) } else { None };
        check_count(body.summaries.len() + 1, &name.place, "summary fields")?;
        let tree = summary_of(body, name);
        tree.data_type = data_type.or(tree.data_type.take());
        self.setting(|parser| parser.summary_setting(tree))
    }

    /// `summary-to [NAME]: a, b`.
    pub(super) fn summary_to(&mut self, field: &Name, body: &mut FieldBody) -> Parsed<()> {
        let name = match self.peek()? {
            Token::Word(_) => self.name("the name of a summary field")?,
            _ => Name { text: field.text.clone(), place: self.place() },
        };
        self.expect(':')?;
        let destinations = self.words("a document-summary")?;
        summary_of(body, name).destinations.extend(destinations);
        Ok(())
    }

    fn summary_setting(&mut self, tree: &mut SummaryTree) -> Parsed<()> {
        let setting = self.word("a setting of a summary field")?;
        match setting.text.as_str() {
            "full" | "static" => tree.transform = TransformTree::Full,
            "dynamic" => tree.transform = TransformTree::Dynamic,
            "tokens" => tree.transform = TransformTree::Tokens,
            "matched-elements-only" => tree.transform = TransformTree::MatchedElementsOnly,
            "select-elements-by" => {
                self.expect(':')?;
                tree.transform = TransformTree::SelectElementsBy(self.feature_to_end_of_line()?);
            }
            "bolding" => tree.bolding = Some(self.switch_value("bolding")?),
            "source" => {
                self.expect(':')?;
                tree.sources.extend(self.words("a field")?);
            }
            "to" => {
                self.expect(':')?;
                tree.destinations.extend(self.words("a document-summary")?);
            }
            _ => return Err(self.unknown_setting(&setting, "setting of a summary field", SUMMARY_SETTINGS)),
        }
        Ok(())
    }
}

impl Parser<'_> {
    /// A rank feature with all its parameters, up to the end of the line or of the block.
    fn feature_to_end_of_line(&mut self) -> Parsed<String> {
        let rest = self.lexer.rest();
        let end = rest.find(['\n', '\r', '}', '#']).unwrap_or(rest.len());
        let feature = rest[..end].trim();
        if feature.is_empty() {
            return Err(self.lexer.expected_token("a rank feature"));
        }
        self.lexer.seek(self.lexer.offset() + end);
        Ok(feature.to_owned())
    }
}

fn new_summary(name: Name) -> SummaryTree {
    SummaryTree {
        name,
        data_type: None,
        sources: Vec::new(),
        destinations: Vec::new(),
        transform: TransformTree::default(),
        bolding: None,
    }
}

/// The summary field of that name in a field, made if it is the first time it is spoken of.
fn summary_of(body: &mut FieldBody, name: Name) -> &mut SummaryTree {
    let found = body.summaries.iter().position(|summary| summary.name.text == name.text);
    let index = found.unwrap_or(body.summaries.len());
    if found.is_none() {
        body.summaries.push(new_summary(name));
    }
    &mut body.summaries[index]
}
