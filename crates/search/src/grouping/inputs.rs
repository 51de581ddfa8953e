//! What expressions read of documents: the columns of attributes where there are some, else the documents themselves.
use std::rc::Rc;

use brooklet_document::{Value, shown_id};
use brooklet_segment::{Gaps, Halt, read_document, read_id};

use super::columns::{Column, Texts, elements_of};
use super::datum::Datum;
use super::numeric::curve;
use super::spec::{From, InputSpec, Type, ValueStep};
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Documents of a batch when they are read themselves.
const SOURCE_BATCH: usize = 128;

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
    pub(crate) fn of_input(mut at: Option<&'a Selection<'a>>, input: usize) -> Option<&'a Selection<'a>> {
        while let Some(selection) = at {
            if selection.inputs.contains(&input) {
                return at;
            }
            at = selection.outer;
        }
        None
    }

    /// The elements of so many that are selected: the only one itself.
    fn of_elements(&self, length: usize, element: impl Fn(usize) -> Datum) -> Datum {
        let known = |at: &u32| (*at as usize) < length;
        match &self.elements[..] {
            [only] if known(only) => element(*only as usize),
            [_] => Datum::Nothing,
            some => Datum::several(some.iter().filter(|at| known(at)).map(|at| element(*at as usize)).collect()),
        }
    }
}

/// The inputs of some documents of one view.
#[derive(Default)]
pub(crate) struct Inputs {
    columns: Vec<Column>,
    /// For each input the texts of its words that were looked up, of this view.
    texts: Vec<Texts>,
    view: Option<u32>,
    ids: Vec<String>,
}

impl Inputs {
    /// The value of an input for a document.
    pub(crate) fn value(&self, index: usize, at: usize, selection: Option<&Selection<'_>>) -> Datum {
        let texts = &self.texts[index];
        match &self.columns[index] {
            Column::Bools(values) => Datum::Bool(values[at]),
            Column::Longs(values) => Datum::Long(values[at]),
            Column::Doubles(values) => Datum::Double(values[at]),
            Column::Words(words) => texts.text(words[at]),
            Column::Several { ends, elements } => {
                let places = elements_of(ends, at);
                match Selection::of_input(selection, index) {
                    None => Datum::several(places.map(|at| elements.value(at, texts)).collect()),
                    Some(selection) => {
                        selection.of_elements(places.len(), |at| elements.value(places.start + at, texts))
                    }
                }
            }
            Column::Values(values) => match (&values[at], Selection::of_input(selection, index)) {
                (Datum::Several(values), Some(selection)) => {
                    selection.of_elements(values.len(), |at| values[at].clone())
                }
                (value, _) => value.clone(),
            },
        }
    }

    /// The values of an input, by document.
    pub(super) fn column(&self, index: usize) -> &Column {
        &self.columns[index]
    }

    /// The texts of an input's words.
    pub(super) fn texts(&self, index: usize) -> &Texts {
        &self.texts[index]
    }

    /// Inputs that are these values already.
    pub(crate) fn of_values(values: Vec<Vec<Datum>>, ids: Vec<String>) -> Inputs {
        let texts = values.iter().map(|_| Texts::default()).collect();
        Inputs { columns: values.into_iter().map(Column::Values).collect(), texts, ids, view: None }
    }

    /// The id of a document, if ids were asked for.
    pub(crate) fn id(&self, at: usize) -> &str {
        self.ids.get(at).map_or("", String::as_str)
    }

    /// Reads the inputs of documents of a view, in ascending order, in place of those before. All missing blocks are noted
    /// before it halts.
    pub(crate) fn load(
        &mut self,
        specs: &[InputSpec],
        with_ids: bool,
        (number, view): (u32, &View),
        ordinals: &[u32],
        reads: &mut Reads,
    ) -> Result<(), Halt> {
        self.texts.resize_with(specs.len(), Texts::default);
        if self.view.replace(number) != Some(number) {
            self.texts.iter_mut().for_each(Texts::clear);
        }
        self.columns.clear();
        self.ids.clear();
        let mut gaps = Gaps::default();
        let mut sources: Vec<(usize, &InputSpec, &[ValueStep])> = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            let column = match &spec.from {
                From::Column(column) if Column::is_cut(column, view) => {
                    sources.push((index, spec, &[]));
                    Column::Values(Vec::with_capacity(ordinals.len()))
                }
                From::Column(column) => {
                    match gaps.note(Column::load(column, view, ordinals, &mut self.texts[index], reads))? {
                        Some(Some(column)) => column,
                        Some(None) => Column::Values(vec![default(spec); ordinals.len()]),
                        None => Column::Values(Vec::new()),
                    }
                }
                From::Source(steps) => {
                    sources.push((index, spec, steps));
                    Column::Values(Vec::with_capacity(ordinals.len()))
                }
            };
            self.columns.push(column);
        }
        gaps.note(self.read_documents(&sources, with_ids, view, ordinals, reads))?;
        gaps.check()
    }

    /// Reads what is in no column. All missing blocks are noted before it halts.
    fn read_documents(
        &mut self,
        sources: &[(usize, &InputSpec, &[ValueStep])],
        with_ids: bool,
        view: &View,
        ordinals: &[u32],
        reads: &mut Reads,
    ) -> Result<(), Halt> {
        let mut gaps = Gaps::default();
        let header = &view.segment.header;
        for ordinal in ordinals.iter().filter(|_| with_ids || !sources.is_empty()) {
            if with_ids {
                let id = gaps.note(read_id(header, *ordinal, &mut reads.segment(&view.segment)))?;
                self.ids.extend(id.map(|id| shown_id(&id).into_owned()));
            }
            if sources.is_empty() {
                continue;
            }
            let wanted = |name: &str| sources.iter().any(|(_, spec, _)| spec.field == name);
            if let Some(document) =
                gaps.note(read_document(header, *ordinal, &wanted, &mut reads.segment(&view.segment)))?
            {
                for (index, spec, steps) in sources {
                    if let Column::Values(values) = &mut self.columns[*index] {
                        values.push(extract(document.field(&spec.field), steps, spec));
                    }
                }
            }
        }
        gaps.check()
    }
}

/// How many of some documents of a view are read at once.
pub(super) fn at_once(specs: &[InputSpec], with_ids: bool, view: &View, ordinals: &[u32]) -> usize {
    let of = |spec: &InputSpec| match &spec.from {
        From::Column(column) if !Column::is_cut(column, view) => Column::at_once(column, view, ordinals),
        // Their blocks must be held all at once.
        From::Column(_) | From::Source(_) => SOURCE_BATCH,
    };
    let ids = if with_ids { SOURCE_BATCH } else { usize::MAX };
    specs.iter().map(of).fold(ids.min(ordinals.len()), usize::min)
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

/// What the steps of a spec find in the value of a field.
fn extract(value: Option<&Value>, steps: &[ValueStep], spec: &InputSpec) -> Datum {
    let keyed = steps.iter().any(|step| matches!(step, ValueStep::Entry(_)));
    let mut found = Vec::new();
    if let Some(value) = value {
        collect(value, steps, spec.of, &mut found);
    }
    if spec.several || steps.last() == Some(&ValueStep::Place) {
        return Datum::several(found);
    }
    // A key that a map does not have yields no value: as many as an empty array.
    let instead = || if keyed { Datum::several(Vec::new()) } else { default_of(spec.of) };
    found.into_iter().next().unwrap_or_else(instead)
}

fn collect(value: &Value, steps: &[ValueStep], of: Type, found: &mut Vec<Datum>) {
    match (value, steps) {
        (Value::Array(elements), _) => elements.iter().for_each(|element| collect(element, steps, of, found)),
        (Value::WeightedSet(entries), _) => entries.iter().for_each(|(key, _)| collect(key, steps, of, found)),
        (Value::Map(entries), [ValueStep::Key, rest @ ..]) => {
            entries.iter().for_each(|(key, _)| collect(key, rest, of, found));
        }
        (Value::Map(entries), [ValueStep::Value, rest @ ..]) => {
            entries.iter().for_each(|(_, value)| collect(value, rest, of, found));
        }
        (Value::Map(entries), [ValueStep::Entry(wanted), rest @ ..]) => {
            let is_wanted = |key: &Value| *datum(key).bytes() == *wanted.as_bytes();
            entries.iter().filter(|(key, _)| is_wanted(key)).for_each(|(_, value)| collect(value, rest, of, found));
        }
        (Value::Struct(fields), [ValueStep::Field(name), rest @ ..]) => {
            match fields.iter().find(|(field, _)| field == name) {
                Some((_, value)) => collect(value, rest, of, found),
                // Every element has its place among the others, set or not.
                None => found.push(default_of(of)),
            }
        }
        (Value::Position { x, y }, [ValueStep::Place]) => {
            found.extend([y, x].map(|degrees| Datum::Double(f64::from(*degrees) / 1e6)));
        }
        (Value::Position { x, y }, [ValueStep::Curve]) => found.push(Datum::Long(curve(*x, *y))),
        (Value::Position { x, y }, [ValueStep::Field(name)]) => {
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
