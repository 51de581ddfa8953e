//! What expressions read of documents: the columns of attributes where there are some, else the documents themselves.
use std::collections::BTreeMap;
use std::rc::Rc;

use brooklet_document::Value;
use brooklet_segment::column::dictionary::DictionaryBlock;
use brooklet_segment::column::number::{SeveralBlock, SingleBlock};
use brooklet_segment::layout::{Collection, ColumnKind, ColumnSpec, NumberKind};
use brooklet_segment::{BlockSource, ColumnHeader, Halt, Part, read_document, read_id};
use brooklet_task::Rejection;

use super::datum::Datum;
use super::numeric::curve;
use super::program::Type;
use crate::partition::View;
use crate::reads::Reads;

/// Documents of a batch when they are read themselves: their blocks must be held all at once.
pub(crate) const SOURCE_BATCH: usize = 128;

/// Where an input comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InputSpec {
    /// The field whose elements it goes through.
    pub(crate) field: String,
    pub(crate) of: Type,
    pub(crate) several: bool,
    pub(crate) from: From,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum From {
    Column(ColumnSpec),
    /// Of the document: steps into the field's value.
    Source(Vec<Step>),
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Field(String),
    Key,
    Value,
    /// The value of this key.
    Entry(String),
    /// Latitude and longitude, two numbers for each place.
    Place,
    /// The place as one number.
    Curve,
}

/// Some elements of a field: those that led into the group that is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Selection<'a> {
    /// Inputs that go through that field.
    pub(crate) inputs: Rc<[usize]>,
    pub(crate) elements: Vec<u32>,
    /// Elements of other fields.
    pub(crate) outer: Option<&'a Selection<'a>>,
}

impl<'a> Selection<'a> {
    /// The selection that holds for an input.
    pub(crate) fn of(mut at: Option<&'a Selection<'a>>, input: usize) -> Option<&'a Selection<'a>> {
        while let Some(selection) = at {
            if selection.inputs.contains(&input) {
                return at;
            }
            at = selection.outer;
        }
        None
    }
}

/// The inputs of some documents of one view.
#[derive(Default)]
pub(crate) struct Inputs {
    loaded: Vec<Loaded>,
    ids: Vec<String>,
}

enum Loaded {
    Bools(Vec<bool>),
    Longs(Vec<i64>),
    Doubles(Vec<f64>),
    /// Numbers of words, and the words by number.
    Words(Vec<u32>, BTreeMap<u32, Datum>, Datum),
    Values(Vec<Datum>),
}

/// The number of no word.
const NO_WORD: u32 = u32::MAX;

impl Inputs {
    /// The value of an input for a document.
    pub(crate) fn value(&self, index: usize, at: usize, selection: Option<&Selection<'_>>) -> Datum {
        let value = match &self.loaded[index] {
            Loaded::Bools(values) => return Datum::Bool(values[at]),
            Loaded::Longs(values) => return Datum::Long(values[at]),
            Loaded::Doubles(values) => return Datum::Double(values[at]),
            Loaded::Words(numbers, words, empty) => return words.get(&numbers[at]).unwrap_or(empty).clone(),
            Loaded::Values(values) => &values[at],
        };
        match (value, Selection::of(selection, index)) {
            (Datum::Several(values), Some(selection)) => match &selection.elements[..] {
                [only] => values.get(*only as usize).cloned().unwrap_or(Datum::Nothing),
                some => Datum::several(some.iter().filter_map(|at| values.get(*at as usize).cloned()).collect()),
            },
            (value, _) => value.clone(),
        }
    }

    /// The numbers of the words of an input that is a column of texts.
    pub(crate) fn words(&self, index: usize) -> Option<&[u32]> {
        match &self.loaded[index] {
            Loaded::Words(numbers, ..) => Some(numbers),
            _ => None,
        }
    }

    /// Inputs that are these values already.
    pub(crate) fn of_values(values: Vec<Vec<Datum>>) -> Inputs {
        Inputs { loaded: values.into_iter().map(Loaded::Values).collect(), ids: Vec::new() }
    }

    /// The id of a document, if ids were asked for.
    pub(crate) fn id(&self, at: usize) -> &str {
        self.ids.get(at).map_or("", String::as_str)
    }

    /// Reads the inputs of documents of one view, in ascending order. All missing blocks are noted before it halts.
    pub(crate) fn load(
        specs: &[InputSpec],
        with_ids: bool,
        view: &View,
        ordinals: &[u32],
        reads: &mut Reads,
    ) -> Result<Inputs, Halt> {
        let mut inputs = Inputs::default();
        let mut missing = false;
        let mut sources: Vec<(usize, &InputSpec, &[Step])> = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            inputs.loaded.push(Loaded::Values(Vec::new()));
            match &spec.from {
                From::Column(column) => match load_column(spec, column, view, ordinals, reads) {
                    Ok(loaded) => inputs.loaded[index] = loaded,
                    Err(Halt::Missing) => missing = true,
                    Err(halt) => return Err(halt),
                },
                From::Source(steps) => sources.push((index, spec, steps)),
            }
        }
        let header = &view.segment.header;
        for ordinal in ordinals.iter().filter(|_| with_ids || !sources.is_empty()) {
            if with_ids {
                match read_id(header, *ordinal, &mut reads.of(&view.segment)) {
                    Ok(id) => inputs.ids.push(id),
                    Err(Halt::Missing) => missing = true,
                    Err(halt) => return Err(halt),
                }
            }
            if sources.is_empty() {
                continue;
            }
            let wanted = |name: &str| sources.iter().any(|(_, spec, _)| spec.field == name);
            match read_document(header, *ordinal, &wanted, &mut reads.of(&view.segment)) {
                Ok(document) => {
                    for (index, spec, steps) in &sources {
                        let value = extract(document.field(&spec.field), steps, spec);
                        if let Loaded::Values(values) = &mut inputs.loaded[*index] {
                            values.push(value);
                        }
                    }
                }
                Err(Halt::Missing) => missing = true,
                Err(halt) => return Err(halt),
            }
        }
        if missing { Err(Halt::Missing) } else { Ok(inputs) }
    }
}

fn load_column(
    spec: &InputSpec,
    column: &ColumnSpec,
    view: &View,
    ordinals: &[u32],
    reads: &mut Reads,
) -> Result<Loaded, Halt> {
    let Some(column) = view.segment.header.column(column) else {
        return Ok(Loaded::Values(vec![default(spec); ordinals.len()]));
    };
    match (&column.spec.kind, &column.parts[..]) {
        (ColumnKind::Numbers { number, collection: Collection::Single }, [part]) => {
            single_numbers(*number, part, view, ordinals, reads)
        }
        (ColumnKind::Numbers { number, collection }, [part]) => {
            let mut values = Vec::with_capacity(ordinals.len());
            several_numbers(*number, *collection, part, view, ordinals, reads, |numbers| {
                values.push(Datum::several(numbers.iter().map(|bits| number_of(*number, *bits)).collect()));
            })?;
            Ok(Loaded::Values(values))
        }
        (ColumnKind::Strings { collection: Collection::Single }, [dictionary, part]) => {
            let numbers = single_words(part, view, ordinals, reads)?;
            let words = words_of(dictionary, numbers.iter().copied().filter(|word| *word != NO_WORD), view, reads)?;
            Ok(Loaded::Words(numbers, words, Datum::text("")))
        }
        (ColumnKind::Strings { collection }, [dictionary, part]) => {
            several_words(column, dictionary, *collection, part, view, ordinals, reads)
        }
        _ => Err(Rejection::corrupt("a column without its parts").into()),
    }
}

/// The value of documents that have none: fields of one value have a default, others are empty.
fn default(spec: &InputSpec) -> Datum {
    if spec.several {
        return Datum::several(Vec::new());
    }
    default_of(spec.of)
}

fn default_of(of: Type) -> Datum {
    match of {
        Type::Bool => Datum::Bool(false),
        Type::Long => Datum::Long(0),
        Type::Double => Datum::Double(0.0),
        Type::Text => Datum::text(""),
        Type::Raw => Datum::Raw(Rc::from(&b""[..])),
    }
}

/// A number from the bits that [`several_numbers`] gives.
fn number_of(kind: NumberKind, bits: u64) -> Datum {
    match kind {
        NumberKind::Bool => Datum::Bool(bits != 0),
        NumberKind::Float32 | NumberKind::Float64 => Datum::Double(f64::from_bits(bits)),
        _ => Datum::Long(bits as i64),
    }
}

/// Calls `each` for the documents of every block of a part. All missing blocks are noted before it halts.
fn by_block(
    part: &Part,
    view: &View,
    ordinals: &[u32],
    reads: &mut Reads,
    mut each: impl FnMut(&[u8], u32, u32, &[u32]) -> Result<(), Rejection>,
) -> Result<(), Halt> {
    let mut missing = false;
    let mut rest = ordinals;
    while let Some(ordinal) = rest.first() {
        let index = part.index_of(*ordinal);
        let (first, rows) = part.span_of(index);
        let end = rest.partition_point(|ordinal| *ordinal < first + rows).max(1);
        match reads.of(&view.segment).block(part.first_block + index) {
            Ok(block) if !missing => each(block.bytes(), first, rows, &rest[..end])?,
            Ok(_) => {}
            Err(Halt::Missing) => missing = true,
            Err(halt) => return Err(halt),
        }
        rest = &rest[end..];
    }
    if missing { Err(Halt::Missing) } else { Ok(()) }
}

fn single_numbers(
    kind: NumberKind,
    part: &Part,
    view: &View,
    ordinals: &[u32],
    reads: &mut Reads,
) -> Result<Loaded, Halt> {
    let (mut longs, mut doubles) = (Vec::new(), Vec::new());
    by_block(part, view, ordinals, reads, |bytes, first, rows, ordinals| {
        // The values of documents without one are zero, which is their default.
        let block = SingleBlock::read(bytes, rows, kind)?;
        let rows = ordinals.iter().map(|ordinal| (ordinal - first) as usize);
        if kind.is_integer() {
            longs.extend(rows.map(|row| block.values.integer(row)));
        } else {
            doubles.extend(rows.map(|row| block.values.float(row)));
        }
        Ok(())
    })?;
    Ok(match kind {
        NumberKind::Bool => Loaded::Bools(longs.into_iter().map(|value| value != 0).collect()),
        _ if kind.is_integer() => Loaded::Longs(longs),
        _ => Loaded::Doubles(doubles),
    })
}

fn several_numbers(
    kind: NumberKind,
    collection: Collection,
    part: &Part,
    view: &View,
    ordinals: &[u32],
    reads: &mut Reads,
    mut each: impl FnMut(&[u64]),
) -> Result<(), Halt> {
    let mut numbers = Vec::new();
    by_block(part, view, ordinals, reads, |bytes, first, rows, ordinals| {
        let block = SeveralBlock::read(bytes, rows, kind, collection)?;
        for ordinal in ordinals {
            numbers.clear();
            numbers.extend(block.range((ordinal - first) as usize).map(|at| match kind.is_integer() {
                true => block.values.integer(at) as u64,
                false => block.values.float(at).to_bits(),
            }));
            each(&numbers);
        }
        Ok(())
    })
}

fn single_words(part: &Part, view: &View, ordinals: &[u32], reads: &mut Reads) -> Result<Vec<u32>, Halt> {
    let mut words = Vec::with_capacity(ordinals.len());
    by_block(part, view, ordinals, reads, |bytes, first, rows, ordinals| {
        let block = SingleBlock::read(bytes, rows, NumberKind::Int32)?;
        words.extend(ordinals.iter().map(|ordinal| {
            let row = (ordinal - first) as usize;
            if block.has(row) { block.values.integer(row) as u32 } else { NO_WORD }
        }));
        Ok(())
    })?;
    Ok(words)
}

fn several_words(
    column: &ColumnHeader,
    dictionary: &Part,
    collection: Collection,
    part: &Part,
    view: &View,
    ordinals: &[u32],
    reads: &mut Reads,
) -> Result<Loaded, Halt> {
    debug_assert!(matches!(column.spec.kind, ColumnKind::Strings { .. }));
    let mut rows: Vec<Vec<u32>> = Vec::with_capacity(ordinals.len());
    several_numbers(NumberKind::Int32, collection, part, view, ordinals, reads, |numbers| {
        rows.push(numbers.iter().map(|number| *number as u32).collect());
    })?;
    let words = words_of(dictionary, rows.iter().flatten().copied(), view, reads)?;
    let texts = |row: &Vec<u32>| row.iter().filter_map(|word| words.get(word).cloned()).collect();
    Ok(Loaded::Values(rows.iter().map(|row| Datum::several(texts(row))).collect()))
}

/// The texts of words by their numbers.
fn words_of(
    dictionary: &Part,
    numbers: impl Iterator<Item = u32>,
    view: &View,
    reads: &mut Reads,
) -> Result<BTreeMap<u32, Datum>, Halt> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut words = BTreeMap::new();
    by_block(dictionary, view, &numbers, reads, |bytes, first, _, numbers| {
        let block = DictionaryBlock::read(bytes)?;
        for number in numbers {
            let at = (number - first) as usize;
            if at >= block.len() {
                return Err(Rejection::corrupt("a word beyond its dictionary"));
            }
            words.insert(*number, Datum::Text(Rc::from(block.word(at))));
        }
        Ok(())
    })?;
    Ok(words)
}

/// What the steps of a spec find in the value of a field.
fn extract(value: Option<&Value>, steps: &[Step], spec: &InputSpec) -> Datum {
    let keyed = steps.iter().any(|step| matches!(step, Step::Entry(_)));
    let mut found = Vec::new();
    if let Some(value) = value {
        collect(value, steps, spec.of, &mut found);
    }
    if spec.several || steps.last() == Some(&Step::Place) {
        return Datum::several(found);
    }
    // A key that a map does not have yields nothing at all.
    let instead = if keyed { Datum::Nothing } else { default_of(spec.of) };
    found.into_iter().next().unwrap_or(instead)
}

fn collect(value: &Value, steps: &[Step], of: Type, found: &mut Vec<Datum>) {
    match (value, steps) {
        (Value::Array(elements), _) => elements.iter().for_each(|element| collect(element, steps, of, found)),
        (Value::WeightedSet(entries), _) => entries.iter().for_each(|(key, _)| collect(key, steps, of, found)),
        (Value::Map(entries), [Step::Key, rest @ ..]) => {
            entries.iter().for_each(|(key, _)| collect(key, rest, of, found));
        }
        (Value::Map(entries), [Step::Value, rest @ ..]) => {
            entries.iter().for_each(|(_, value)| collect(value, rest, of, found));
        }
        (Value::Map(entries), [Step::Entry(wanted), rest @ ..]) => {
            let is_wanted = |key: &Value| *datum(key).bytes() == *wanted.as_bytes();
            entries.iter().filter(|(key, _)| is_wanted(key)).for_each(|(_, value)| collect(value, rest, of, found));
        }
        (Value::Struct(fields), [Step::Field(name), rest @ ..]) => {
            match fields.iter().find(|(field, _)| field == name) {
                Some((_, value)) => collect(value, rest, of, found),
                // Every element has its place among the others, set or not.
                None => found.push(default_of(of)),
            }
        }
        (Value::Position { x, y }, [Step::Place]) => {
            found.extend([y, x].map(|degrees| Datum::Double(f64::from(*degrees) / 1e6)));
        }
        (Value::Position { x, y }, [Step::Curve]) => found.push(Datum::Long(curve(*x, *y))),
        (Value::Position { x, y }, [Step::Field(name)]) => {
            found.push(Datum::Long(i64::from(if name == "x" { *x } else { *y })));
        }
        (value, []) => found.push(datum(value)),
        _ => {}
    }
}

fn datum(value: &Value) -> Datum {
    match value {
        Value::String(text) => Datum::text(text),
        Value::Int(value) => Datum::Long(i64::from(*value)),
        Value::Long(value) => Datum::Long(*value),
        Value::Byte(value) => Datum::Long(i64::from(*value)),
        Value::Bool(flag) => Datum::Bool(*flag),
        Value::Float(value) => Datum::Double(f64::from(*value)),
        Value::Double(value) => Datum::Double(*value),
        Value::Raw(bytes) => Datum::Raw(Rc::from(&bytes[..])),
        _ => Datum::Nothing,
    }
}
