//! Fields and struct-fields: what stands between their braces.
use super::lex::Token;
use super::settings::{Parsed, Parser};
use super::tree::{FieldBody, FieldTree, MatchTree, Name, StructFieldTree, TypeTree};
use crate::field::{DistanceMetric, RankMode, RankType};
use crate::indexing::parse::IndexingParser;
use crate::match_settings::{MatchKind, MatchMode, SortFunction, SortOrder, SortStrength};
use crate::place::SourcePlace;

const FIELD_SETTINGS: &[&str] = &[
    "alias",
    "attribute",
    "bolding",
    "dictionary",
    "id",
    "index",
    "indexing",
    "linguistics",
    "match",
    "normalizing",
    "query-command",
    "rank",
    "rank-type",
    "sorting",
    "stemming",
    "struct-field",
    "summary",
    "summary-to",
    "weight",
    "weightedset",
];

/// The settings a struct-field has, too; the others only fields have.
const STRUCT_FIELD_SETTINGS: &[&str] =
    &["indexing", "attribute", "rank", "match", "query-command", "summary", "summary-to", "struct-field"];

const MATCH_SETTINGS: &[&str] = &[
    "text",
    "word",
    "exact",
    "gram",
    "prefix",
    "substring",
    "suffix",
    "cased",
    "uncased",
    "exact-terminator",
    "gram-size",
    "max-length",
    "max-occurrences",
    "max-token-length",
];

impl Parser<'_> {
    /// A field, after the word `field`.
    pub(super) fn field(&mut self) -> Parsed<FieldTree> {
        let (name, data_type) = self.field_head()?;
        let (mut body, mut id) = (FieldBody::default(), None);
        self.block(|parser| {
            if parser.take_word("id")? {
                id = Some(parser.integer_value("id")?);
                return Ok(());
            }
            parser.field_setting(&name, &mut body, FIELD_SETTINGS)
        })?;
        Ok(FieldTree { name, data_type, body, id })
    }

    /// `NAME type TYPE`.
    pub(super) fn field_head(&mut self) -> Parsed<(Name, TypeTree)> {
        let name = self.name("the name of the field")?;
        if !self.take_word("type")? {
            return Err(self.lexer.expected_token("'type'"));
        }
        Ok((name, self.data_type()?))
    }

    fn field_setting(&mut self, field: &Name, body: &mut FieldBody, known: &[&str]) -> Parsed<()> {
        let setting = self.word("a setting of a field")?;
        if !known.contains(&setting.text.as_str()) {
            return Err(self.unknown_setting(&setting, "setting of a field", known));
        }
        if matches!(setting.text.as_str(), "attribute" | "sorting") {
            body.attribute_settings = Some(setting.place.clone());
        }
        match setting.text.as_str() {
            "alias" => self.alias(Some(field), body),
            "attribute" => self.attribute(field, body),
            "bolding" => self.switch_value("bolding").map(|on| body.bolding = Some(on)),
            "dictionary" => self.dictionary(body),
            "index" => self.field_index(field, body),
            "indexing" => self.indexing(field, &setting.place, body),
            "linguistics" => self.linguistics(&setting.place),
            "match" => self.match_settings(&mut body.matching),
            "normalizing" => self.normalizing(),
            "query-command" => self.query_command(&setting.place, &mut body.phrase_segmenting),
            "rank" => self.setting(|parser| parser.rank_setting(body)),
            "rank-type" => self.rank_type(field).map(|rank_type| body.rank_type = Some(rank_type)),
            "sorting" => self.sorting(body),
            "stemming" => self.stemming(),
            "struct-field" => self.struct_field(body),
            "summary" => self.summary_in_field(field, body),
            "summary-to" => self.summary_to(field, body),
            "weight" => self.integer_value("weight").map(|weight| body.weight = Some(weight)),
            _ => self.setting(|parser| parser.weighted_set_setting(body)),
        }
    }

    fn struct_field(&mut self, body: &mut FieldBody) -> Parsed<()> {
        let name = self.name("the name of the struct-field")?;
        let mut inner = FieldBody::default();
        self.block(|parser| parser.field_setting(&name, &mut inner, STRUCT_FIELD_SETTINGS))?;
        body.struct_fields.push(StructFieldTree { name, body: inner });
        Ok(())
    }

    fn indexing(&mut self, field: &Name, place: &SourcePlace, body: &mut FieldBody) -> Parsed<()> {
        if body.indexing.is_some() {
            return Err(place.reject(format!("field '{}' error: already has indexing", field.text)));
        }
        let line = self.take(':')?;
        let indexing = IndexingParser::new(self.lexer.file(), self.lexer.offset(), &field.text);
        let (script, end) = if line { indexing.line()? } else { indexing.block()? };
        self.lexer.seek(end);
        body.indexing = Some(script);
        Ok(())
    }

    /// A further name of the field, or of another index (`alias default: song`).
    fn alias(&mut self, field: Option<&Name>, body: &mut FieldBody) -> Parsed<()> {
        let of = if self.peek()? == Token::Symbol(':') { None } else { Some(self.name("the aliased field")?.text) };
        let alias = self.word_value("a name for the field")?.text;
        match of.filter(|of| field.is_some_and(|field| *of != field.text)) {
            Some(index) => body.index_aliases.push((index, alias)),
            None => body.aliases.push(alias),
        }
        Ok(())
    }

    fn attribute(&mut self, field: &Name, body: &mut FieldBody) -> Parsed<()> {
        if let Token::Word(_) = self.peek()? {
            let name = self.name("the name of the attribute")?;
            if name.text != field.text {
                return Err(name.place.unsupported_here("an attribute with another name than its field"));
            }
        }
        self.setting(|parser| parser.attribute_setting(body))
    }

    fn attribute_setting(&mut self, body: &mut FieldBody) -> Parsed<()> {
        const KNOWN: &[&str] = &[
            "fast-search",
            "fast-access",
            "fast-rank",
            "paged",
            "mutable",
            "enable-bit-vectors",
            "enable-only-bit-vector",
            "sorting",
            "alias",
            "distance-metric",
        ];
        let setting = self.word("a setting of an attribute")?;
        match setting.text.as_str() {
            "fast-search" => {
                body.fast_search = true;
                Ok(())
            }
            "fast-access" | "fast-rank" | "paged" | "enable-only-bit-vector" => Ok(()),
            "enable-bit-vectors" => {
                self.note(&setting.place, "'enable-bit-vectors' is deprecated and void");
                Ok(())
            }
            "mutable" => {
                body.mutable = true;
                Ok(())
            }
            "sorting" => self.sorting(body),
            "alias" => self.alias(None, body),
            "distance-metric" => {
                self.once(&mut body.said, &setting.place, "distance-metric");
                let name = self.word_value("a distance metric")?;
                let metric = DistanceMetric::named(&name.text.to_lowercase().replace('_', "-"));
                let known = &["euclidean", "angular", "dotproduct", "prenormalized-angular", "geodegrees", "hamming"];
                let metric = metric.ok_or_else(|| self.unknown_setting(&name, "distance metric", known))?;
                body.distance_metric = Some((metric, name.place));
                Ok(())
            }
            _ => Err(self.unknown_setting(&setting, "setting of an attribute", KNOWN)),
        }
    }

    fn sorting(&mut self, body: &mut FieldBody) -> Parsed<()> {
        let FieldBody { sorting, said, .. } = body;
        self.setting(|parser| {
            let setting = parser.word("a setting of sorting")?;
            if matches!(setting.text.as_str(), "function" | "strength" | "locale") {
                parser.once(said, &setting.place, &format!("{} of sorting", setting.text));
            }
            match setting.text.as_str() {
                "ascending" => sorting.order = Some(SortOrder::Ascending),
                "descending" => sorting.order = Some(SortOrder::Descending),
                "order" => {
                    let message = "'order' is no setting of sorting: 'ascending' and 'descending' stand alone";
                    parser.remarks.object(setting.place.reject(message));
                    let of = [("ascending", SortOrder::Ascending), ("descending", SortOrder::Descending)];
                    sorting.order = Some(parser.choice("order", &of)?);
                }
                "function" => {
                    let of = [
                        ("uca", SortFunction::Uca),
                        ("lowercase", SortFunction::Lowercase),
                        ("raw", SortFunction::Raw),
                    ];
                    sorting.function = Some(parser.choice("function", &of)?);
                }
                "strength" => {
                    let of = [
                        ("primary", SortStrength::Primary),
                        ("secondary", SortStrength::Secondary),
                        ("tertiary", SortStrength::Tertiary),
                        ("quaternary", SortStrength::Quaternary),
                        ("identical", SortStrength::Identical),
                    ];
                    sorting.strength = Some(parser.choice("strength", &of)?);
                }
                "locale" => sorting.locale = Some(parser.word_value("a locale")?.text),
                _ => {
                    let known = &["ascending", "descending", "order", "function", "strength", "locale"];
                    return Err(parser.unknown_setting(&setting, "setting of sorting", known));
                }
            }
            Ok(())
        })
    }

    /// `: word`, one of those.
    pub(super) fn choice<T: Copy>(&mut self, what: &str, of: &[(&str, T)]) -> Parsed<T> {
        let name = self.word_value(what)?;
        self.chosen(&name, what, of)
    }

    fn chosen<T: Copy>(&self, name: &Name, what: &str, of: &[(&str, T)]) -> Parsed<T> {
        let found = of.iter().find(|(known, _)| *known == name.text).map(|(_, value)| *value);
        let known: Vec<&str> = of.iter().map(|(known, _)| *known).collect();
        found.ok_or_else(|| self.unknown_setting(name, &format!("value of {what}"), &known))
    }

    fn dictionary(&mut self, body: &mut FieldBody) -> Parsed<()> {
        self.setting(|parser| {
            let setting = parser.word("a setting of a dictionary")?;
            if matches!(setting.text.as_str(), "btree" | "hash") {
                parser.once(&mut body.said, &setting.place, "the type of the dictionary");
            }
            match setting.text.as_str() {
                "btree" => body.dictionary.kind = Some(setting.place),
                "hash" => {
                    body.dictionary.kind = Some(setting.place.clone());
                    body.dictionary.hash = Some(setting.place);
                }
                "cased" => body.dictionary.cased = Some(true),
                "uncased" => body.dictionary.cased = Some(false),
                _ => {
                    let known = &["btree", "hash", "cased", "uncased"];
                    return Err(parser.unknown_setting(&setting, "setting of a dictionary", known));
                }
            }
            Ok(())
        })
    }

    fn field_index(&mut self, field: &Name, body: &mut FieldBody) -> Parsed<()> {
        let place = self.place();
        if let Token::Word(_) = self.peek()? {
            let name = self.name("the name of the index")?;
            if name.text != field.text {
                return Err(name.place.unsupported_here("an index with another name than its field"));
            }
        }
        self.once(&mut body.said, &place, "index");
        self.index_settings(body)
    }

    /// `: a, b` or `{ a b }`.
    pub(super) fn index_settings(&mut self, body: &mut FieldBody) -> Parsed<()> {
        self.setting(|parser| {
            parser.index_setting(body)?;
            while parser.take(',')? {
                parser.index_setting(body)?;
            }
            Ok(())
        })
    }

    fn index_setting(&mut self, body: &mut FieldBody) -> Parsed<()> {
        const KNOWN: &[&str] = &[
            "prefix",
            "alias",
            "stemming",
            "arity",
            "lower-bound",
            "upper-bound",
            "dense-posting-list-threshold",
            "enable-bm25",
            "hnsw",
        ];
        let setting = self.word("a setting of an index")?;
        match setting.text.as_str() {
            "prefix" | "enable-bm25" => Ok(()),
            "alias" => self.alias(None, body),
            "stemming" => self.stemming(),
            "arity" => self.integer_value(&setting.text).map(|arity| body.arity = Some(arity)),
            "lower-bound" | "upper-bound" => self.long_value(&setting.text).map(|_| ()),
            "dense-posting-list-threshold" => self.decimal_value(&setting.text).map(|_| ()),
            "hnsw" => {
                body.hnsw = true;
                self.hnsw()
            }
            _ => Err(self.unknown_setting(&setting, "setting of an index", KNOWN)),
        }
    }

    /// `hnsw`, with a block or without: read, without effect.
    fn hnsw(&mut self) -> Parsed<()> {
        let after = self.lexer.offset();
        self.newlines()?;
        if self.peek()? != Token::Symbol('{') {
            self.lexer.seek(after);
            return Ok(());
        }
        self.block(|parser| {
            let setting = parser.word("a setting of hnsw")?;
            match setting.text.as_str() {
                "max-links-per-node" | "neighbors-to-explore-at-insert" => {
                    parser.integer_value::<u32>(&setting.text).map(|_| ())
                }
                "multi-threaded-indexing" => parser.switch_value(&setting.text).map(|_| ()),
                _ => {
                    let known = &["max-links-per-node", "neighbors-to-explore-at-insert", "multi-threaded-indexing"];
                    Err(parser.unknown_setting(&setting, "setting of hnsw", known))
                }
            }
        })
    }

    /// `match: word` or `match { word … }`.
    pub(super) fn match_settings(&mut self, tree: &mut MatchTree) -> Parsed<()> {
        self.setting(|parser| {
            let setting = parser.word("a setting of match")?;
            match setting.text.as_str() {
                "text" | "token" => tree.kind = Some(MatchKind::Text),
                "word" => tree.kind = Some(MatchKind::Word),
                "exact" => tree.kind = Some(MatchKind::Exact),
                "gram" => tree.kind = Some(MatchKind::Gram),
                "cased" => tree.cased = Some(true),
                "uncased" => tree.cased = Some(false),
                "prefix" => tree.algorithm = Some(MatchMode::Prefix),
                "substring" => tree.algorithm = Some(MatchMode::Substring),
                "suffix" => tree.algorithm = Some(MatchMode::Suffix),
                "exact-terminator" => tree.exact_terminator = Some(parser.text_value("a terminator in quotes")?),
                "gram-size" => tree.gram_size = Some(parser.integer_value("gram-size")?),
                "max-length" => tree.max_length_bytes = Some(parser.integer_value("max-length")?),
                "max-occurrences" | "max-token-length" => {
                    parser.integer_value::<u32>(&setting.text)?;
                }
                _ => return Err(parser.unknown_setting(&setting, "setting of match", MATCH_SETTINGS)),
            }
            Ok(())
        })
    }

    fn rank_setting(&mut self, body: &mut FieldBody) -> Parsed<()> {
        let setting = self.word("a setting of rank")?;
        match setting.text.as_str() {
            "filter" => body.rank = Some(RankMode::Filter),
            "normal" => body.rank = Some(RankMode::Normal),
            "literal" => {}
            _ => return Err(self.unknown_setting(&setting, "setting of rank", &["filter", "normal", "literal"])),
        }
        Ok(())
    }

    fn rank_type(&mut self, field: &Name) -> Parsed<RankType> {
        if let Token::Word(_) = self.peek()? {
            let name = self.name("the name of the field")?;
            if name.text != field.text {
                return Err(name.place.unsupported_here("a rank-type of another index than the field's own"));
            }
        }
        self.rank_type_value()
    }

    /// `: about`.
    pub(super) fn rank_type_value(&mut self) -> Parsed<RankType> {
        let of = [
            ("about", RankType::About),
            ("default", RankType::About),
            ("identity", RankType::Identity),
            ("tags", RankType::Tags),
            ("empty", RankType::Empty),
        ];
        self.choice("rank-type", &of)
    }

    fn weighted_set_setting(&mut self, body: &mut FieldBody) -> Parsed<()> {
        let setting = self.word("a setting of a weighted set")?;
        match setting.text.as_str() {
            "create-if-nonexistent" => body.create_if_nonexistent = true,
            "remove-if-zero" => body.remove_if_zero = true,
            _ => {
                let known = &["create-if-nonexistent", "remove-if-zero"];
                return Err(self.unknown_setting(&setting, "setting of a weighted set", known));
            }
        }
        Ok(())
    }

    /// `stemming: x`: checked, without effect.
    pub(super) fn stemming(&mut self) -> Parsed<()> {
        let known = [("none", ()), ("best", ()), ("shortest", ()), ("multiple", ()), ("all", ()), ("default", ())];
        self.choice("stemming", &known)
    }

    /// `normalizing: x`: checked, without effect.
    fn normalizing(&mut self) -> Parsed<()> {
        let known = [("none", ()), ("codepoint", ()), ("lowercase", ()), ("accent", ()), ("all", ())];
        self.choice("normalizing", &known)
    }

    /// `query-command`: `phrase-segmenting`; other commands to the query parser this server does not have.
    pub(super) fn query_command(&mut self, place: &SourcePlace, phrase_segmenting: &mut bool) -> Parsed<()> {
        let command = self.text_value("a query command")?;
        if command.trim() == "phrase-segmenting" {
            *phrase_segmenting = true;
        } else {
            self.note(place, format!("query-command '{command}' is ignored"));
        }
        Ok(())
    }

    /// `linguistics { … }`: profiles of linguistic components; the built-in one has none.
    pub(super) fn linguistics(&mut self, place: &SourcePlace) -> Parsed<()> {
        self.raw_value()?;
        self.note(place, "linguistics profiles are ignored: there is only the built-in linguistics");
        Ok(())
    }
}
