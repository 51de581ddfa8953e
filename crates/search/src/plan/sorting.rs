//! Orders other than relevance: the keys of a document, and how keys compare.
use std::cmp::Ordering;
use std::rc::Rc;

use brooklet_document::{DataType, Value};
use brooklet_query::sorting::{Direction, Missing, SortBy, SortFunction, SortKey};
use brooklet_schema::{Field, SortFunction as DeclaredFunction, SortOrder};
use brooklet_segment::column::number::SeveralBlock;
use brooklet_segment::layout::{Collection, ColumnKind, ColumnSpec, NumberKind};
use brooklet_segment::{BlockSource, ColumnHeader, Halt, read_document};
use brooklet_task::{Code, Issues, Rejection};

use super::collation;
use super::collation::Collation;
pub(crate) use super::sort_values::SortValue;
use super::sort_values::{SortKind, collect, float_value, is_several};
use crate::deployed::DeployedSchema;
use crate::ranking::spot::Spot;
use crate::ranking::{single_number, single_string, texts_of};
use crate::resident::reads::Reads;

/// The locale of a collation that is asked for by name, where nothing says another.
const LOCALE: &str = "en_US";

/// A key bound to a schema.
#[derive(Clone, Debug)]
pub(crate) struct BoundKey {
    by: BoundBy,
    pub(crate) descending: bool,
    /// The key of a document that has no value.
    missing: SortValue,
}

#[derive(Clone, Debug)]
enum BoundBy {
    Relevance,
    DocumentId,
    Source,
    /// Nothing: the schema has no such attribute, but another searched one has.
    Absent,
    Numbers(ColumnSpec),
    Texts(ColumnSpec, TextOrder),
    /// The value of a field as the document has it, as text.
    Stored(String),
    /// The values at the end of a path, as the document has them.
    Read {
        field: String,
        parts: Vec<String>,
        order: TextOrder,
    },
}

#[derive(Clone, Debug)]
enum TextOrder {
    Raw,
    Lowercase,
    Collated(Collation),
}

/// The keys of a query, bound to each searched schema: the same number of keys for all, with the same directions, so
/// that documents of different schemas can be compared.
#[derive(Default)]
pub(crate) struct BoundOrder {
    /// For each schema its keys.
    pub(crate) keys: Vec<Vec<BoundKey>>,
    /// For each key whether it descends.
    pub(crate) descending: Vec<bool>,
}

/// Binds the keys of a query. What a schema cannot be sorted by is told; where no schema can, the key is left out.
pub(crate) fn bind_order(
    keys: &[SortKey],
    schemas: &[Rc<DeployedSchema>],
    language: Option<&str>,
    issues: &mut Issues,
) -> Result<BoundOrder, Rejection> {
    let mut order = BoundOrder { keys: vec![Vec::new(); schemas.len()], descending: Vec::new() };
    let is_attribute =
        |name: &str| schemas.iter().any(|of| of.schema.query_field(name).is_some_and(|field| field.indexing.attribute));
    // The reference fills in what keys leave out one after the other, and stops at the first that is no attribute.
    let mut filled = true;
    for key in keys {
        filled &= !matches!(&key.by, SortBy::Attribute(name) if !is_attribute(name));
        let unfilled = || SortKey {
            direction: key.direction.or(Some(Direction::Descending)),
            function: key.function.clone().or(Some(SortFunction::Raw)),
            ..key.clone()
        };
        let key = &if filled { key.clone() } else { unfilled() };
        let mut common = None;
        let mut bound = Vec::with_capacity(schemas.len());
        for schema in schemas {
            let of_schema = bind_key(key, schema, common, language, issues)?;
            common = common.or(of_schema.as_ref().map(|key| key.descending));
            bound.push(of_schema);
        }
        let Some(descending) = common else { continue };
        let absent = || BoundKey { by: BoundBy::Absent, descending, missing: SortValue::Last };
        order.descending.push(descending);
        order.keys.iter_mut().zip(bound).for_each(|(keys, key)| keys.push(key.unwrap_or_else(absent)));
    }
    // What is ordered by relevance alone, best first, is ordered as without any key.
    let usual = |keys: &Vec<BoundKey>| matches!(&keys[..], [BoundKey { by: BoundBy::Relevance, descending: true, .. }]);
    if order.keys.iter().all(usual) {
        order = BoundOrder { keys: vec![Vec::new(); schemas.len()], descending: Vec::new() };
    }
    Ok(order)
}

/// Binds a key to a schema; `common` is the direction it has for another one.
fn bind_key(
    key: &SortKey,
    schema: &DeployedSchema,
    common: Option<bool>,
    language: Option<&str>,
    issues: &mut Issues,
) -> Result<Option<BoundKey>, Rejection> {
    let by = match &key.by {
        SortBy::Relevance => BoundBy::Relevance,
        SortBy::DocumentId => BoundBy::DocumentId,
        SortBy::Source => BoundBy::Source,
        SortBy::Attribute(name) => return bind_attribute((key, name), schema, common, language, issues),
    };
    let descending = match key.direction {
        Some(direction) => direction == Direction::Descending,
        None => matches!(by, BoundBy::Relevance),
    };
    Ok(Some(BoundKey { by, descending, missing: SortValue::Last }))
}

#[inline(never)]
fn bind_attribute(
    (key, name): (&SortKey, &str),
    schema: &DeployedSchema,
    common: Option<bool>,
    language: Option<&str>,
    issues: &mut Issues,
) -> Result<Option<BoundKey>, Rejection> {
    let mut unsorted = |message: String| {
        issues.report(Code::ErrorInReply, message);
        Ok(None)
    };
    let Some((top, field)) = known_field(name, schema) else {
        let hint = schema.schema.field_hint(name);
        return unsorted(format!("Cannot locate field '{name}' in field name registry{hint}"));
    };
    match &field.data_type {
        DataType::Tensor(_) => {
            let message = format!("Cannot sort by '{name}': it is a tensor");
            return Err(Rejection::new(Code::InvalidQueryParameter, message));
        }
        DataType::Array(element) if **element == DataType::Bool => {
            return unsorted(format!("Attribute '{name}' is not sortable"));
        }
        _ => {}
    }
    let Some(kind) = SortKind::of(&field.data_type) else {
        return unsorted(format!("Attribute '{name}' is not valid"));
    };
    let descending = match key.direction {
        Some(direction) => direction == Direction::Descending,
        None => common.unwrap_or(field.sorting.order == SortOrder::Descending),
    };
    let order = if kind == SortKind::Text { text_order(key, field, language)? } else { TextOrder::Raw };
    let parts: Vec<String> = field.name.split('.').skip(1).map(str::to_owned).collect();
    let single = !is_several(&top.data_type, &parts);
    let missing = match &key.missing {
        None if single && !descending => SortValue::First,
        None | Some(Missing::Last) => SortValue::Last,
        Some(Missing::First) => SortValue::First,
        Some(Missing::As(text)) if kind == SortKind::Text => SortValue::Text(order_key(text, &order)),
        Some(Missing::As(text)) => match kind.replacement(text) {
            Some(value) => value,
            None => {
                let value = Rejection::quote(text);
                return unsorted(format!("Cannot sort by '{name}': '{value}' is no value that could be missing there"));
            }
        },
    };
    let in_columns = |kind: &ColumnKind| matches!(kind, ColumnKind::Numbers { .. } | ColumnKind::Strings { .. });
    let column = schema.column(&field.name, in_columns).filter(|_| field.indexing.attribute && parts.is_empty());
    let by = match column.cloned() {
        Some(spec) if matches!(spec.kind, ColumnKind::Strings { .. }) => BoundBy::Texts(spec, order),
        Some(spec) => BoundBy::Numbers(spec),
        None => BoundBy::Read { field: top.name.clone(), parts, order },
    };
    Ok(Some(BoundKey { by, descending, missing }))
}

/// The field that a key names, and the field of the document that it is a part of, if the scan knows it: it has some role.
fn known_field<'s>(name: &str, schema: &'s DeployedSchema) -> Option<(&'s Field, &'s Field)> {
    let field = schema.schema.query_field(name)?;
    let top = schema.schema.field(field.name.split('.').next()?)?;
    let has_role = |of: &Field| of.indexing.searchable() || of.indexing.summary;
    (has_role(top) || has_role(field)).then_some((top, field))
}

/// How texts compare. A locale comes from the query, the field or the request's language, in this order. Without any, a
/// key that does not name the Unicode collation falls back to lowercase, and one that does to `en_US` (yql, order by).
fn text_order(key: &SortKey, field: &Field, language: Option<&str>) -> Result<TextOrder, Rejection> {
    let (asked, strength) = match (&key.function, field.sorting.function) {
        (Some(SortFunction::Raw), _) | (None, Some(DeclaredFunction::Raw)) => return Ok(TextOrder::Raw),
        (Some(SortFunction::Lowercase), _) | (None, Some(DeclaredFunction::Lowercase)) => {
            return Ok(TextOrder::Lowercase);
        }
        (Some(SortFunction::Uca { locale, strength }), _) => {
            (locale.as_deref(), strength.map(collation::asked_strength))
        }
        (None, _) => (None, None),
    };
    let known = asked.or(field.sorting.locale.as_deref()).or(language);
    let Some(locale) = known.or_else(|| key.function.is_some().then_some(LOCALE)) else {
        return Ok(TextOrder::Lowercase);
    };
    let strength = strength.unwrap_or_else(|| collation::declared_strength(field.sorting.strength));
    Collation::new(locale, strength).map(TextOrder::Collated)
}

impl BoundKey {
    /// The value of a field, whatever its type, to be told apart from others: of its column if it has one with single
    /// values, else of the document.
    pub(crate) fn of_field(name: &str, schema: &DeployedSchema) -> BoundKey {
        let is_single = |kind: &ColumnKind| {
            matches!(
                kind,
                ColumnKind::Numbers { collection: Collection::Single, .. }
                    | ColumnKind::Strings { collection: Collection::Single }
            )
        };
        let field = schema.schema.field(name);
        let column = schema.column(name, is_single).filter(|_| field.is_some_and(|field| field.indexing.attribute));
        let by = match (field, column.cloned()) {
            (None, _) => BoundBy::Absent,
            (_, Some(spec)) if matches!(spec.kind, ColumnKind::Strings { .. }) => BoundBy::Texts(spec, TextOrder::Raw),
            (_, Some(spec)) => BoundBy::Numbers(spec),
            (_, None) => BoundBy::Stored(name.to_owned()),
        };
        BoundKey { by, descending: false, missing: SortValue::Last }
    }

    /// Whether the key is the document id: then it is read anyway.
    pub(crate) fn value(
        &self,
        spot: Spot<'_>,
        schema: &DeployedSchema,
        score: f64,
        id: &str,
        reads: &mut Reads,
    ) -> Result<SortValue, Halt> {
        let column = |spec: &ColumnSpec| spot.views[spot.view].segment.header.column(spec);
        let value = match &self.by {
            BoundBy::Relevance => Some(SortValue::Number(score)),
            BoundBy::DocumentId => Some(SortValue::Text(id.as_bytes().to_vec())),
            BoundBy::Source => Some(SortValue::Text(schema.cluster.as_bytes().to_vec())),
            BoundBy::Absent => None,
            BoundBy::Stored(name) => {
                let segment = &spot.views[spot.view].segment;
                let wanted = |field: &str| field == name;
                let document = read_document(&segment.header, spot.ordinal, &wanted, &mut reads.segment(segment))?;
                document.field(name).map(|value| SortValue::Text(value_text(value).into_bytes()))
            }
            BoundBy::Read { field, parts, order } => {
                let segment = &spot.views[spot.view].segment;
                let wanted = |name: &str| name == field;
                let document = read_document(&segment.header, spot.ordinal, &wanted, &mut reads.segment(segment))?;
                let mut values = Vec::new();
                if let Some(value) = document.field(field) {
                    collect(value, parts, &|text| order_key(text, order), &mut values);
                }
                self.extreme(values)
            }
            BoundBy::Numbers(spec) => match column(spec) {
                Some(column) => self.number(column, spot, reads)?,
                None => None,
            },
            BoundBy::Texts(spec, order) => match column(spec) {
                Some(column) => self.text(column, order, spot, reads)?,
                None => None,
            },
        };
        Ok(value.unwrap_or_else(|| self.missing.clone()))
    }

    fn number(&self, column: &ColumnHeader, spot: Spot<'_>, reads: &mut Reads) -> Result<Option<SortValue>, Halt> {
        let ColumnKind::Numbers { number, collection } = &column.spec.kind else { return Ok(None) };
        if *collection == Collection::Single && *number != NumberKind::Int64 {
            return Ok(float_value(single_number(column, spot, reads)?));
        }
        let several = *collection != Collection::Single;
        let values = integers_or_floats(column, *number, several, spot, reads)?;
        Ok(self.extreme(values))
    }

    fn text(
        &self,
        column: &ColumnHeader,
        order: &TextOrder,
        spot: Spot<'_>,
        reads: &mut Reads,
    ) -> Result<Option<SortValue>, Halt> {
        let ColumnKind::Strings { collection } = column.spec.kind else { return Ok(None) };
        if collection == Collection::Single {
            let text = single_string(column, spot, reads)?;
            return Ok(text.map(|text| SortValue::Text(order_key(&text, order))));
        }
        let [_, part] = &column.parts[..] else { return Ok(None) };
        let index = part.index_of(spot.ordinal);
        let (first, rows) = part.span_of(index);
        let block = reads.segment(&spot.views[spot.view].segment).block(part.first_block + index)?;
        let block = SeveralBlock::read(block.bytes(), rows, NumberKind::Int32, collection)?;
        let words = block.range((spot.ordinal - first) as usize).map(|at| block.values.integer(at) as u32);
        let texts = texts_of(column, words, spot, reads)?;
        Ok(self.extreme(texts.iter().map(|text| SortValue::Text(order_key(text, order))).collect()))
    }

    /// Of several values the lowest if they ascend, the highest if they descend.
    fn extreme(&self, values: Vec<SortValue>) -> Option<SortValue> {
        let compare = |a: &SortValue, b: &SortValue| compare_values(a, b);
        if self.descending { values.into_iter().max_by(compare) } else { values.into_iter().min_by(compare) }
    }
}

fn integers_or_floats(
    column: &ColumnHeader,
    number: NumberKind,
    several: bool,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Vec<SortValue>, Halt> {
    use brooklet_segment::column::number::SingleBlock;
    let (ColumnKind::Numbers { collection, .. }, Some(part)) = (&column.spec.kind, column.parts.first()) else {
        return Ok(Vec::new());
    };
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = reads.segment(&spot.views[spot.view].segment).block(part.first_block + index)?;
    let at = (spot.ordinal - first) as usize;
    let (values, range) = if several {
        let block = SeveralBlock::read(block.bytes(), rows, number, *collection)?;
        (block.values, block.range(at))
    } else {
        let block = SingleBlock::read(block.bytes(), rows, number)?;
        (block.values, at..at + usize::from(block.has(at)))
    };
    let value = |at: usize| match number.is_integer() {
        true => Some(SortValue::Integer(values.integer(at))),
        false => float_value(values.float(at)),
    };
    Ok(range.filter_map(value).collect())
}

/// A text as it is compared: lowercased and without accents, letter by letter; what folds to several letters is only
/// lowercased.
fn order_key(text: &str, order: &TextOrder) -> Vec<u8> {
    match order {
        TextOrder::Raw => return text.as_bytes().to_vec(),
        TextOrder::Collated(collation) => return collation.key(text),
        TextOrder::Lowercase => {}
    }
    let mut out = String::with_capacity(text.len());
    let (mut letter, mut folded) = ([0; 4], String::new());
    for c in text.chars() {
        folded.clear();
        brooklet_text::fold(c.encode_utf8(&mut letter), &mut folded);
        if folded.chars().nth(1).is_none() { out.push_str(&folded) } else { out.extend(c.to_lowercase()) }
    }
    out.into_bytes()
}

/// Values of one key compare by their kind first: where schemas give a name to different types, there is still one order.
fn compare_values(a: &SortValue, b: &SortValue) -> Ordering {
    let place = |value: &SortValue| match value {
        SortValue::First => 0,
        SortValue::Number(_) | SortValue::Integer(_) => 1,
        SortValue::Text(_) => 2,
        SortValue::Last => 3,
    };
    match (a, b) {
        (SortValue::Number(a), SortValue::Number(b)) => a.total_cmp(b),
        (SortValue::Integer(a), SortValue::Integer(b)) => a.cmp(b),
        (SortValue::Integer(a), SortValue::Number(b)) => compare_mixed(*a, *b),
        (SortValue::Number(a), SortValue::Integer(b)) => compare_mixed(*b, *a).reverse(),
        (SortValue::Text(a), SortValue::Text(b)) => a.cmp(b),
        _ => place(a).cmp(&place(b)),
    }
}

/// An integer and a float, compared exactly: rounded to a float, neighbours of a large integer would all equal it.
fn compare_mixed(integer: i64, float: f64) -> Ordering {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    let whole = float.trunc();
    // No range contains NaN.
    if !(-BOUND..BOUND).contains(&float) {
        return if float.is_sign_negative() { Ordering::Greater } else { Ordering::Less };
    }
    // Nothing is between a number and its whole part but the fraction; -0.0 comes before 0, as among floats.
    let fraction = 0.0f64.total_cmp(&(float - whole));
    let negative_zero = if float == 0.0 && float.is_sign_negative() { Ordering::Greater } else { Ordering::Equal };
    integer.cmp(&(whole as i64)).then(if float == whole { negative_zero } else { fraction })
}

/// A value as text that no other value of the field has.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Byte(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Long(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        other => format!("{other:?}"),
    }
}

/// The order of two documents by their keys.
pub(crate) fn compare(a: &[SortValue], b: &[SortValue], descending: &[bool]) -> Ordering {
    for ((a, b), descending) in a.iter().zip(b).zip(descending) {
        let placed = matches!(a, SortValue::First | SortValue::Last) || matches!(b, SortValue::First | SortValue::Last);
        let order = compare_values(a, b);
        let order = if *descending && !placed { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}
