//! From the parameters of a request to the query it asks, before that is bound to schemas; and what the parsers must know
//! of the deployed fields and of words.
use std::cell::RefCell;
use std::rc::Rc;

use brooklet_query::simple::{Grammar, parse_recall, parse_user_query};
use brooklet_query::surroundings::{
    CharacterClass, Index, Indexes, Linguistics, Matching, Surroundings, UserQuery, ValueKind,
};
use brooklet_query::tree::{Item, Operator, TextRange};
use brooklet_query::{Query, RawGrouping, Select, parse_select, parse_yql, select_fields, wand_beside};
use brooklet_schema::{Field, MatchKind, Schema};
use brooklet_task::{Code, Rejection};

use super::input_checks;
use super::properties::Properties;
use crate::deployed::{Deployed, DeployedSchema};
use crate::plan::compile::searched_schemas;

/// The query of a request: its YQL, its JSON `select`, or its `query`.
pub(crate) fn parse(deployed: &Deployed, properties: &Properties) -> Result<Query, Rejection> {
    let indexes = SearchedIndexes { deployed, properties, searched: RefCell::default() };
    indexes.choose(&[]);
    let written = properties.value("model.type");
    let (is_yql, is_select) = (written == Some("yql"), written == Some("select"));
    let grammar = if is_yql || is_select { Grammar::WEAK_AND } else { grammar(properties)? };
    let user_query = properties.value("model.queryString").map(|text| UserQuery {
        text,
        grammar,
        filter: properties.value("model.filter"),
        default_index: properties.value("model.defaultIndex"),
    });
    let around = Surroundings {
        parameters: properties,
        indexes: &indexes,
        linguistics: &Words,
        user_query,
        input_grammar: if properties.is_on("model.type.isYqlDefault", false) { grammar } else { Grammar::WEAK_AND },
    };
    let yql = properties.value("yql");
    if yql.is_some_and(|yql| yql.trim().is_empty()) {
        let message = "Could not create query from YQL: the statement is empty";
        return Err(Rejection::new(Code::InvalidQueryParameter, message));
    }
    if let Some(kind) = written.filter(|_| (is_yql || is_select) && yql.is_some() && user_query.is_some()) {
        let message = format!("A 'query' of type {kind} beside another in 'yql' is not supported");
        return Err(Rejection::new(Code::Unsupported, message));
    }
    let mut wand = wand_beside(properties, &indexes)?;
    let mut query = match (yql, user_query, selection(properties, yql.is_some())?) {
        (None, _, Some(select)) => parse_select(&select, &around)?,
        (Some(yql), _, _) => parse_yql(yql, &around)?,
        // Of a query of these types only what it matches by is used.
        (None, Some(query), None) if is_yql => Query::new(parse_yql(query.text, &around)?.item),
        (None, Some(query), None) if is_select => {
            let select = Select { filter: query.text, grouping: None, fields: None };
            Query::new(parse_select(&select, &around)?.item)
        }
        (None, Some(query), None) => Query::new(parse_user_query(&query, &around)?),
        (None, None, None) if wand.is_some() => Query::new(wand.take().unwrap_or(Item::from(Operator::True))),
        // What else the request says is read before that is missed.
        (None, None, None) => Query::new(Item::from(Operator::Null)),
    };
    input_checks::check(&query.item, properties.value("model.queryString"))?;
    if let Some(wand) = wand {
        query.item = Item::from(Operator::And(vec![query.item, wand]));
    }
    if let Some(recall) = properties.value("recall").filter(|recall| !recall.trim().is_empty()) {
        query.item = parse_recall(query.item, recall, &around)?;
    }
    query.item.reduce();
    if let Some(fields) = properties.value("presentation.summaryFields") {
        let names = fields.split([',', ' ']).filter(|name| !name.is_empty());
        query.fields.extend(names.map(str::to_owned));
    }
    if let Some(fields) = properties.value("select.fields").filter(|_| query.fields.is_empty()) {
        query.fields = select_fields(fields)?;
    }
    if let Some(text) = properties.value("select").filter(|text| !text.trim().is_empty()) {
        let place = TextRange { start: 0, end: text.len() };
        query.grouping.push(RawGrouping { text: text.to_owned(), continuations: Vec::new(), place });
    }
    Ok(query)
}

/// How `query` is read: by `model.type`, and what its parts say otherwise.
fn grammar(properties: &Properties) -> Result<Grammar, Rejection> {
    let unknown = |name: &str, what: &str| {
        let value = Rejection::quote(properties.value(name).unwrap_or(""));
        properties.refuse(name, &format!("No query {what} '{value}'"))
    };
    let mut grammar = match properties.value("model.type") {
        Some("prog") => {
            let message = "The query type 'prog' is not supported: it is a form for programs, write YQL";
            return Err(Rejection::new(Code::Unsupported, message));
        }
        Some(name) => Grammar::named(name).ok_or_else(|| unknown("model.type", "type"))?,
        None => Grammar::WEAK_AND,
    };
    for part in ["composite", "tokenization", "syntax"] {
        let name = format!("model.type.{part}");
        if let Some(value) = properties.value(&name) {
            grammar = grammar.with(part, value).ok_or_else(|| unknown(&name, &format!("type {part}")))?;
        }
    }
    if !grammar.is_valid() {
        let message = "Failed parsing query: Linguistics tokenization can only be combined with syntax none";
        return Err(Rejection::new(Code::BadRequest, message));
    }
    Ok(grammar)
}

/// The query in JSON, if there is one; it cannot stand beside another.
fn selection<'p>(properties: &'p Properties, has_yql: bool) -> Result<Option<Select<'p>>, Rejection> {
    let known = ["where", "grouping", "fields"];
    if let Some((name, _)) = properties.beginning("select.").find(|(name, _)| !known.contains(name)) {
        let reason = format!("'{}' is not a valid property in 'select'", Rejection::quote(name));
        return Err(properties.refuse(&format!("select.{name}"), &reason));
    }
    let (filter, grouping) = (properties.value("select.where"), properties.value("select.grouping"));
    let other = match properties.value("model.queryString") {
        _ if has_yql => Some("yql"),
        query => query.map(|_| "query"),
    };
    if let Some(other) = other.filter(|_| filter.is_some() || grouping.is_some()) {
        let message = format!("Illegal query: Query contains both {other} and select parameter");
        return Err(Rejection::new(Code::IllegalQuery, message));
    }
    Ok(filter.map(|filter| Select { filter, grouping, fields: None }))
}

/// The fields of the searched schemas, as the parsers ask for them: what only others have is not there.
struct SearchedIndexes<'a> {
    deployed: &'a Deployed,
    properties: &'a Properties,
    searched: RefCell<Vec<Rc<DeployedSchema>>>,
}

impl SearchedIndexes<'_> {
    fn find<T>(&self, of: impl Fn(&Schema) -> Option<T>) -> Option<T> {
        self.searched.borrow().iter().find_map(|schema| of(&schema.schema))
    }
}

impl Indexes for SearchedIndexes<'_> {
    fn index(&self, name: &str) -> Option<Index> {
        if name == "sddocname" || name == "documentid" {
            return Some(Index { matching: Matching::Word, values: ValueKind::Text });
        }
        self.find(|schema| index_of(schema, name))
            .or_else(|| (name == brooklet_query::tree::DEFAULT_INDEX).then(Index::text))
    }

    // A source that is not there is refused when the query is bound.
    fn choose(&self, sources: &[String]) {
        let searched = searched_schemas(self.deployed, sources, self.properties);
        *self.searched.borrow_mut() = searched.unwrap_or_else(|_| self.deployed.schemas.clone());
    }

    fn is_phrase_segmenting(&self, name: &str) -> bool {
        let found = self.find(|schema| match schema.query_field_set(name) {
            Some(set) => Some(set.phrase_segmenting),
            None => schema.query_field(name).map(|field| field.phrase_segmenting),
        });
        found.unwrap_or(false)
    }

    fn names(&self) -> Vec<&str> {
        let searched = self.searched.borrow();
        let schemas = self.deployed.schemas.iter().filter(|of| searched.iter().any(|one| Rc::ptr_eq(one, of)));
        schemas
            .map(|of| &of.schema)
            .flat_map(|schema| {
                let fields = schema.fields.iter().map(|field| field.name.as_str());
                fields.chain(schema.field_sets.iter().map(|set| set.name.as_str()))
            })
            .collect()
    }
}

fn index_of(schema: &Schema, name: &str) -> Option<Index> {
    if let Some(set) = schema.query_field_set(name) {
        let fields = set.fields.iter().filter_map(|field| schema.field(field));
        let mut kinds: Vec<ValueKind> = fields.clone().map(value_kind).collect();
        kinds.dedup();
        let values = if let [kind] = kinds[..] { kind } else { ValueKind::Other };
        let settings = set.matching.as_ref().or_else(|| fields.clone().next().map(|field| &field.matching));
        let matching = settings.map_or(Matching::Text, |settings| matching(settings, values));
        return Some(Index { matching, values });
    }
    let base = name.split(['{', '[']).next().unwrap_or(name);
    let field = schema.query_field(base)?;
    let values = value_kind(field);
    Some(Index { matching: matching(&field.matching, values), values })
}

fn matching(settings: &brooklet_schema::MatchSettings, values: ValueKind) -> Matching {
    match settings.kind {
        _ if values != ValueKind::Text => Matching::Word,
        MatchKind::Text => Matching::Text,
        MatchKind::Gram => Matching::Gram,
        MatchKind::Word => Matching::Word,
        MatchKind::Exact => Matching::Exact { terminator: settings.exact_terminator.clone() },
    }
}

fn value_kind(field: &Field) -> ValueKind {
    use brooklet_document::DataType;
    match field.data_type.element() {
        DataType::String | DataType::Uri => ValueKind::Text,
        DataType::Byte | DataType::Int | DataType::Long => ValueKind::Integer,
        DataType::Float | DataType::Double => ValueKind::Float,
        DataType::Bool => ValueKind::Boolean,
        _ => ValueKind::Other,
    }
}

/// Words of query texts.
struct Words;

impl Linguistics for Words {
    fn segment(&self, text: &str) -> Vec<String> {
        brooklet_text::segment(text).into_iter().map(str::to_owned).collect()
    }

    fn class(&self, c: char) -> CharacterClass {
        match brooklet_text::class_of(c) {
            brooklet_text::Class::Letter => CharacterClass::Letter,
            brooklet_text::Class::Digit => CharacterClass::Digit,
            brooklet_text::Class::Symbol => CharacterClass::Symbol,
            brooklet_text::Class::Other => CharacterClass::Other,
        }
    }

    fn processed_words(&self, text: &str) -> Vec<String> {
        let words = brooklet_text::Tokens::new(text).map(|token| &text[token.start..token.end]);
        words.map(|word| brooklet_text::Normalizing::LowercaseAndFold.apply(word).into_owned()).collect()
    }

    fn normalize(&self, text: &str) -> String {
        brooklet_text::compose(text).into_owned()
    }
}
