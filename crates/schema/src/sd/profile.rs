//! Rank profiles. Expressions and features are taken as text; what only tunes an index is read and forgotten.
use std::collections::BTreeSet;

use brooklet_task::limits::EXPRESSION_BYTES;

use super::lex::Token;
use super::onnx_model::unique_models;
use super::settings::{Parsed, Parser, check_count, unique};
use super::tree::{FeaturesTree, FieldRankingTree, FunctionTree, Name, PhaseTree, ProfileTree};
use crate::field::RankMode;
use crate::place::SourceText;
use crate::rank_profile::ElementGap;
use crate::tuning::Tuning;

/// Elements with a whole number that tunes an index or its threads: no effect in streaming mode.
const TUNING_COUNTS: &[&str] = &["num-threads-per-search", "min-hits-per-thread", "num-search-partitions"];

/// Elements with a decimal that tunes an index: no effect in streaming mode.
const TUNING: &[&str] = &[
    "termwise-limit",
    "post-filter-threshold",
    "approximate-threshold",
    "filter-first-threshold",
    "filter-first-exploration",
    "exploration-slack",
    "target-hits-max-adjustment-factor",
];

/// Blocks that tune an index: no effect in streaming mode.
const TUNING_BLOCKS: &[&str] = &["match-phase", "diversity", "mutate", "weakand"];

const ELEMENTS: &[&str] = &[
    "strict",
    "inputs",
    "constants",
    "onnx-model",
    "function",
    "first-phase",
    "second-phase",
    "global-phase",
    "match-features",
    "summary-features",
    "rank-features",
    "ignore-default-rank-features",
    "rank-properties",
    "significance",
    "rank",
    "rank-type",
    "weight",
    "rank-profile",
    "filter-threshold",
    "prefetch-tensors",
];

impl Parser<'_> {
    /// A rank profile, after the word `rank-profile`, added to `profiles` together with those inside it.
    pub(super) fn rank_profile(&mut self, profiles: &mut Vec<ProfileTree>) -> Parsed<()> {
        let name = self.word("the name of the rank-profile")?;
        self.profile_in(name, &[], profiles)
    }

    /// A rank profile, after its name; `outer` are those it stands in, the outermost first. One that stands in another is
    /// called after that, `outer.inner`, and inherits it.
    fn profile_in(&mut self, own: Name, outer: &[&str], profiles: &mut Vec<ProfileTree>) -> Parsed<()> {
        let mut inherits = self.inherits()?;
        if let Some(around) = outer.last().filter(|around| !inherits.iter().any(|name| name.text == **around)) {
            let message = format!("Inner profile '{0}' must inherit '{around}'", own.text);
            return Err(own.place.reject(format!("In rank-profile '{}': {message}", own.text)));
        }
        for name in &mut inherits {
            if let Some(depth) = outer.iter().position(|around| *around == name.text) {
                name.text = outer[..=depth].join(".");
            }
        }
        let path = [outer, &[own.text.as_str()]].concat();
        let name = Name { text: path.join("."), place: own.place.clone() };
        let mut tree = empty(name, inherits);
        let mut inner = Vec::new();
        self.block(|parser| {
            let element = parser.word("an element of a rank-profile")?;
            if element.text != "rank-profile" {
                return parser.profile_element(element, &mut tree);
            }
            let name = parser.word("the name of the rank-profile")?;
            parser.profile_in(name, &path, &mut inner)
        })?;
        unique(tree.functions.iter().map(|function| &function.name), "function")?;
        unique(tree.inputs.iter().map(|input| &input.name), "input")?;
        unique(tree.constants.iter().map(|constant| &constant.name), "constant")?;
        let place = &tree.name.place;
        check_count(tree.inputs.len(), place, "inputs")?;
        check_count(tree.constants.len(), place, "constants")?;
        unique_models(&tree.onnx_models)?;
        check_count(tree.onnx_models.len(), place, "onnx-models")?;
        check_count(tree.properties.len(), place, "rank properties")?;
        check_count(tree.fields.len(), place, "settings of fields")?;
        check_count(tree.rank_features.len(), place, "rank features")?;
        for list in [&tree.match_features, &tree.summary_features].into_iter().flatten() {
            check_count(list.features.len(), place, "features in a list")?;
        }
        profiles.push(tree);
        profiles.append(&mut inner);
        check_count(profiles.len(), &profiles[0].name.place, "rank-profiles")
    }

    fn profile_element(&mut self, element: Name, tree: &mut ProfileTree) -> Parsed<()> {
        match element.text.as_str() {
            "strict" => {
                self.once(&mut tree.said, &element.place, "strict");
                tree.strict = Some(self.switch_value("strict")?);
            }
            "inputs" => self.inputs(tree)?,
            "constants" => self.constants(tree)?,
            "function" | "macro" => self.function(tree)?,
            "first-phase" => tree.first_phase = Some(self.phase(&element, tree.first_phase.take(), tree)?),
            "second-phase" => tree.second_phase = Some(self.phase(&element, tree.second_phase.take(), tree)?),
            "global-phase" => tree.global_phase = Some(self.phase(&element, tree.global_phase.take(), tree)?),
            "match-features" => add_features(&mut tree.match_features, self.features()?),
            "summary-features" => add_features(&mut tree.summary_features, self.features()?),
            "rank-features" => {
                let text = self.raw_value()?;
                tree.rank_features.extend(self.split_features(&text)?);
            }
            "ignore-default-rank-features" => tree.ignore_default_rank_features = true,
            "rank-properties" => self.rank_properties(tree)?,
            "significance" => self.significance(tree)?,
            "rank" => self.field_rank(tree)?,
            "rank-type" => {
                let field = self.word("a field")?;
                self.once(&mut tree.said, &field.place, &format!("rank-type of '{}'", field.text));
                let rank_type = Some(self.rank_type_value()?);
                tree.fields.push(FieldRankingTree { rank_type, ..ranking(field) });
            }
            "weight" => {
                let field = self.word("a field")?;
                let weight = Some(self.integer_value("weight")?);
                tree.fields.push(FieldRankingTree { weight, ..ranking(field) });
            }
            "onnx-model" => tree.onnx_models.push(self.onnx_model()?),
            "filter-threshold" | "prefetch-tensors" => self.tuning_number(&element, "", tree)?,
            tuning if TUNING_COUNTS.contains(&tuning) || TUNING.contains(&tuning) => {
                self.tuning_number(&element, "", tree)?;
            }
            block if TUNING_BLOCKS.contains(&block) => self.tuning_block(&element, tree)?,
            _ => {
                let known: Vec<&str> = [ELEMENTS, TUNING_COUNTS, TUNING, TUNING_BLOCKS].concat();
                return Err(self.unknown_setting(&element, "element of a rank-profile", &known));
            }
        }
        Ok(())
    }

    /// A number that tunes an index, in the block of that name if there is one.
    pub(super) fn tuning_number(&mut self, setting: &Name, block: &str, tree: &mut ProfileTree) -> Parsed<()> {
        let name = format!("{block}{}", setting.text);
        self.once(&mut tree.said, &setting.place, &name);
        let value = match setting.text.as_str() {
            "filter-threshold" | "stopword-limit" | "adjust-target" => self.decimal_in(&name, 0.0..=1.0)?,
            "prefetch-tensors" | "allow-drop-all" => f64::from(u8::from(self.switch_value(&name)?)),
            decimal if TUNING.contains(&decimal) => self.decimal_value(&name)?,
            _ => self.count_value(&name)?,
        };
        tree.tuning.numbers.insert(name, value);
        Ok(())
    }

    #[inline(never)]
    pub(super) fn function(&mut self, tree: &mut ProfileTree) -> Parsed<()> {
        let mut name = self.name("the name of the function")?;
        let inline = name.text == "inline" && matches!(self.peek()?, Token::Word(_));
        if inline {
            name = self.name("the name of the function")?;
        }
        self.expect('(')?;
        let mut parameters = Vec::new();
        if !self.take(')')? {
            parameters = self.words("a parameter")?.into_iter().map(|parameter| parameter.text).collect();
            self.expect(')')?;
        }
        let mut expression = None;
        self.block(|parser| {
            let element = parser.word("'expression'")?;
            if element.text != "expression" {
                return Err(parser.unknown_setting(&element, "element of a function", &["expression"]));
            }
            if expression.is_some() {
                return Err(element.place.reject("a function has one expression"));
            }
            expression = Some(parser.expression()?);
            Ok(())
        })?;
        let Some(expression) = expression else {
            return Err(name.place.reject(format!("function '{}' has no expression", name.text)));
        };
        check_count(tree.functions.len() + 1, &name.place, "functions")?;
        tree.functions.push(FunctionTree { name, parameters, expression, inline });
        Ok(())
    }

    /// A ranking expression: `: text` or `{ text }`.
    fn expression(&mut self) -> Parsed<SourceText> {
        let place = self.place();
        let source = self.raw_value()?;
        if source.text.is_empty() {
            return Err(place.reject("an expression is empty"));
        }
        if source.text.len() > EXPRESSION_BYTES {
            return Err(place.reject(format!("an expression is longer than {EXPRESSION_BYTES} bytes")));
        }
        Ok(source)
    }

    /// A phase, which may be said in several pieces; `tree` are those before.
    fn phase(&mut self, element: &Name, tree: Option<PhaseTree>, profile: &mut ProfileTree) -> Parsed<PhaseTree> {
        let mut tree = tree.unwrap_or(PhaseTree { expression: None, rank_score_drop_limit: None, rerank_count: None });
        let counts: &[&str] = match element.text.as_str() {
            "first-phase" => &["keep-rank-count", "total-keep-rank-count"],
            "second-phase" => &["rerank-count", "total-rerank-count"],
            _ => &["rerank-count"],
        };
        self.block(|parser| {
            let setting = parser.word(&format!("a setting of {}", element.text))?;
            let name = format!("{} {}", element.text, setting.text);
            parser.once(&mut profile.said, &setting.place, &name);
            match setting.text.as_str() {
                "expression" => tree.expression = Some(parser.expression()?),
                "rank-score-drop-limit" => tree.rank_score_drop_limit = Some(parser.decimal_value(&setting.text)?),
                count if counts.contains(&count) => {
                    let count: i64 = parser.integer_value(&setting.text)?;
                    tree.rerank_count = Some(count);
                    // Only compared.
                    profile.tuning.numbers.insert(name, i32::try_from(count).unwrap_or(i32::MAX).into());
                }
                _ => {
                    let known = [&["expression", "rank-score-drop-limit"], counts].concat();
                    return Err(parser.unknown_setting(&setting, &format!("setting of {}", element.text), &known));
                }
            }
            Ok(())
        })?;
        Ok(tree)
    }

    /// `: features` or `[inherits PROFILE] { features }`.
    fn features(&mut self) -> Parsed<FeaturesTree> {
        let inherits = self.inherits()?;
        if !inherits.is_empty() && self.peek()? == Token::Symbol(':') {
            let objection = self.lexer.expected_token("'{'");
            self.remarks.object(objection);
        }
        let text = self.raw_value()?;
        Ok(FeaturesTree { inherits, features: self.split_features(&text)? })
    }

    /// Splits a list of features at the white space between them. A feature is a name, perhaps parameters in
    /// parentheses (with quoted texts), perhaps `.output`; white space may stand before `(`.
    fn split_features(&self, list: &SourceText) -> Parsed<Vec<SourceText>> {
        let Some(place) = &list.place else { return Ok(Vec::new()) };
        let (text, base) = (&*list.text, place.span.offset);
        let mut features = Vec::new();
        let mut at = 0;
        while let Some(start) = next_feature(text, at) {
            let end = feature_end(text, start)
                .ok_or_else(|| self.lexer.file().place(base + start).reject("a feature in this list does not end"))?;
            if end == start {
                let message =
                    format!("a feature expected, found '{}'", &text[start..].chars().take(1).collect::<String>());
                return Err(self.lexer.file().place(base + start).reject(message));
            }
            features.push(self.lexer.file().source(base + start, base + end));
            at = end;
        }
        Ok(features)
    }

    /// `name : value` in lines; both may hold parentheses, dots, commas and quoted texts.
    fn rank_properties(&mut self, tree: &mut ProfileTree) -> Parsed<()> {
        self.block(|parser| {
            let place = parser.place();
            let name = parser.property_part(true)?;
            parser.expect(':')?;
            let value = parser.property_part(false)?;
            if name.is_empty() || value.is_empty() {
                return Err(place.reject("a rank property is 'name : value'"));
            }
            tree.properties.push((name, value));
            Ok(())
        })
    }

    fn property_part(&mut self, before_colon: bool) -> Parsed<String> {
        let mut part = String::new();
        loop {
            match self.peek()? {
                Token::Word(text) | Token::Quoted(text) => part.push_str(text),
                Token::Symbol(symbol @ ('(' | ')' | ',' | '+' | '*' | '/' | '[' | ']')) => part.push(symbol),
                Token::Symbol(':') if !before_colon => part.push(':'),
                _ => return Ok(part),
            }
            self.next()?;
        }
    }

    fn significance(&mut self, tree: &mut ProfileTree) -> Parsed<()> {
        self.block(|parser| {
            let setting = parser.word("'use-model'")?;
            parser.once(&mut tree.said, &setting.place, setting.text.as_str());
            if setting.text != "use-model" {
                return Err(parser.unknown_setting(&setting, "setting of significance", &["use-model"]));
            }
            tree.significance_model = Some(parser.switch_value("use-model")?);
            Ok(())
        })
    }

    /// `rank FIELD: filter` or `rank FIELD { filter-threshold: x  element-gap: n }`. Others of these have a meaning, and are
    /// objected to.
    fn field_rank(&mut self, tree: &mut ProfileTree) -> Parsed<()> {
        let mut fields = ranking(self.word("a field")?);
        let in_block = self.peek()? != Token::Symbol(':');
        self.setting(|parser| {
            let setting = parser.word("a setting of rank")?;
            let wanted: &[&str] = if in_block { &["filter-threshold", "element-gap"] } else { &["filter"] };
            if !wanted.contains(&setting.text.as_str()) {
                let objection = parser.unknown_setting(&setting, "setting of rank here", wanted);
                parser.remarks.object(objection);
            }
            match setting.text.as_str() {
                "filter" => fields.rank = Some(RankMode::Filter),
                "normal" => fields.rank = Some(RankMode::Normal),
                "filter-threshold" => {
                    let name = format!("filter-threshold of '{}'", fields.field.text);
                    parser.once(&mut tree.said, &setting.place, &name);
                    parser.decimal_in(&setting.text, 0.0..=1.0)?;
                }
                "element-gap" => fields.element_gap = Some(parser.element_gap()?),
                _ => {
                    let known = &["filter", "normal", "filter-threshold", "element-gap"];
                    return Err(parser.unknown_setting(&setting, "setting of rank", known));
                }
            }
            Ok(())
        })?;
        tree.fields.push(fields);
        Ok(())
    }

    fn element_gap(&mut self) -> Parsed<ElementGap> {
        let value = self.word_value("a number of words or 'infinity'")?;
        match (value.text.as_str(), value.text.parse()) {
            ("infinity", _) => Ok(ElementGap::Infinite),
            (_, Ok(words)) => {
                if i32::try_from(words).is_err() {
                    self.remarks.object(value.place.reject(format!("element-gap {words} is more than {}", i32::MAX)));
                }
                Ok(ElementGap::Words(words))
            }
            _ => Err(value.place.reject("element-gap is a number of words or 'infinity'")),
        }
    }
}

fn ranking(field: Name) -> FieldRankingTree {
    FieldRankingTree { field, rank: None, rank_type: None, weight: None, element_gap: None }
}

/// A profile may list its features in several pieces.
fn add_features(all: &mut Option<FeaturesTree>, more: FeaturesTree) {
    match all {
        None => *all = Some(more),
        Some(all) => {
            all.inherits.extend(more.inherits);
            all.features.extend(more.features);
        }
    }
}

/// Start of the next feature at or after `at`; blanks and comments are passed over.
fn next_feature(text: &str, at: usize) -> Option<usize> {
    let mut at = at;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        if !text[at..].starts_with('#') {
            return (at < text.len()).then_some(at);
        }
        at += text[at..].find('\n').unwrap_or(text.len() - at);
    }
}

/// End of the feature that begins at `start`: `start` itself if none does, nothing if its parentheses do not close.
fn feature_end(text: &str, start: usize) -> Option<usize> {
    let name = |at: usize| {
        at + text[at..].find(|c: char| !c.is_ascii_alphanumeric() && !"_@$.-".contains(c)).unwrap_or(text.len() - at)
    };
    let mut end = name(start);
    if end == start {
        return Some(start);
    }
    let blank = text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
    if text[end + blank..].starts_with('(') {
        end = parenthesis_end(text, end + blank)?;
        if text[end..].starts_with('.') {
            end = name(end);
        }
    }
    Some(end)
}

/// Offset after the `)` that closes the `(` at `open`. Parentheses in quoted texts do not count.
fn parenthesis_end(text: &str, open: usize) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0usize, None, false);
    for (i, c) in text[open..].char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None => match c {
                '"' | '\'' => quote = Some(c),
                '(' => depth += 1,
                ')' if depth == 1 => return Some(open + i + 1),
                ')' => depth -= 1,
                _ => {}
            },
        }
    }
    None
}

pub(super) fn empty(name: Name, inherits: Vec<Name>) -> ProfileTree {
    ProfileTree {
        name,
        inherits,
        strict: None,
        inputs: Vec::new(),
        constants: Vec::new(),
        onnx_models: Vec::new(),
        functions: Vec::new(),
        first_phase: None,
        second_phase: None,
        global_phase: None,
        match_features: None,
        summary_features: None,
        rank_features: Vec::new(),
        ignore_default_rank_features: false,
        properties: Vec::new(),
        significance_model: None,
        fields: Vec::new(),
        said: BTreeSet::new(),
        tuning: Tuning::default(),
    }
}
