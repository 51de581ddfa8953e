//! Writes the segment of a list of documents, a step at a time: folding shares its thread with requests.
use brooklet_document::encode::{encode_fields, encode_fields_where};
use brooklet_document::{Document, Tensor, Value};
use brooklet_task::bytes::Writer;
use brooklet_task::limits;

use crate::block::BlockSink;
use crate::column::header::ColumnHeader;
use crate::column::ids::IdsWriter;
use crate::column::number::NumberWriter;
use crate::column::stored::StoredWriter;
use crate::column::text::TextWriter;
use crate::column::vector::VectorWriter;
use crate::column::{dictionary, times};
use crate::header::Header;
use crate::layout::{Collection, ColumnKind, ColumnSpec, NumberKind, position_bits};
use crate::sealing::BuiltSegment;
use crate::stored_schema::StoredSchema;
use crate::values::each_value;

enum Column {
    Text(TextWriter),
    Strings(ColumnSpec, StringsWriter),
    Numbers(ColumnSpec, NumberWriter),
    Vectors(Box<VectorWriter>),
    Tensors(ColumnSpec, StoredWriter),
    Ids,
    Times(Vec<u64>),
    Source(StoredWriter),
}

/// Room for the source of a short document, made at once.
const SHORT_SOURCE_BYTES: usize = 256;

/// Builds a segment: [`add`](SegmentBuilder::add) every document in the order of the ids, then
/// [`step`](SegmentBuilder::step) until the segment is there.
pub struct SegmentBuilder {
    schema: String,
    fingerprint: u64,
    specs: Vec<ColumnSpec>,
    ids: IdsWriter,
    source_bytes: usize,
    columns: std::collections::VecDeque<Column>,
    sink: BlockSink,
    headers: Vec<ColumnHeader>,
}

impl SegmentBuilder {
    /// A segment of documents of `schema`, in these columns.
    #[must_use]
    pub fn new(schema: &str, specs: &[ColumnSpec]) -> SegmentBuilder {
        SegmentBuilder::from_schema(&StoredSchema::of_columns(schema, specs.to_vec()))
    }

    /// A segment of documents of a schema. Values that are not read are marked already ([`StoredSchema::mark_unread`]).
    #[must_use]
    pub fn from_schema(schema: &StoredSchema) -> SegmentBuilder {
        let StoredSchema { name, columns: specs, fingerprint, .. } = schema;
        SegmentBuilder {
            schema: name.clone(),
            fingerprint: *fingerprint,
            specs: specs.clone(),
            ids: IdsWriter::default(),
            source_bytes: 0,
            columns: specs.iter().map(column_of).collect(),
            sink: BlockSink::default(),
            headers: Vec::new(),
        }
    }

    /// Documents added so far.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.ids.len()
    }

    /// Bytes of document source so far.
    #[must_use]
    pub fn source_bytes(&self) -> usize {
        self.source_bytes
    }

    /// Bytes of all that its columns hold so far, about as [`Header::bytes`] counts them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|column| bytes_of(column, self.documents())).sum()
    }

    /// Adds a document that was last written at `time` (µs since the epoch; 0: that is not known).
    ///
    /// # Panics
    /// If its id is not greater than the last one's.
    pub fn add(&mut self, document: &Document, time: u64) {
        assert!(
            self.ids.last().is_none_or(|last| last < document.id.as_str()),
            "documents are added in the order of their ids"
        );
        for (column, spec) in self.columns.iter_mut().zip(&self.specs) {
            if let Column::Times(times) = column {
                times.push(time);
            } else {
                add_to(column, spec, document, &self.specs);
            }
        }
        self.ids.push(&document.id);
        self.source_bytes =
            self.columns.iter().map(|column| if let Column::Source(s) = column { s.len() } else { 0 }).sum();
    }

    /// Writes the next column; the segment when there is none left.
    pub fn step(&mut self) -> Option<BuiltSegment> {
        if let Some(column) = self.columns.pop_front() {
            let header = finish_column(column, &self.ids, &mut self.sink);
            self.headers.push(header);
            return None;
        }
        let payloads = std::mem::take(&mut self.sink).into_payloads();
        let header = Header {
            schema: self.schema.clone(),
            fingerprint: self.fingerprint,
            documents: self.ids.len() as u32,
            blocks: payloads.len() as u32,
            columns: std::mem::take(&mut self.headers),
        };
        Some(BuiltSegment { header, payloads })
    }

    /// Writes all that is left at once.
    #[must_use]
    pub fn finish(mut self) -> BuiltSegment {
        loop {
            if let Some(segment) = self.step() {
                return segment;
            }
        }
    }
}

fn column_of(spec: &ColumnSpec) -> Column {
    match spec.kind {
        ColumnKind::Ids => Column::Ids,
        ColumnKind::Times => Column::Times(Vec::new()),
        ColumnKind::Source => Column::Source(StoredWriter::default()),
        ColumnKind::Text { .. } => Column::Text(TextWriter::new(spec.clone())),
        ColumnKind::Strings { collection } => Column::Strings(spec.clone(), StringsWriter::new(collection)),
        ColumnKind::Numbers { number, collection } => {
            Column::Numbers(spec.clone(), NumberWriter::new(number, collection))
        }
        ColumnKind::Positions { collection } => {
            Column::Numbers(spec.clone(), NumberWriter::new(NumberKind::Int64, collection))
        }
        ColumnKind::Vectors { .. } => Column::Vectors(Box::new(VectorWriter::new(spec.clone()))),
        ColumnKind::Tensors => Column::Tensors(spec.clone(), StoredWriter::default()),
    }
}

fn add_to(column: &mut Column, spec: &ColumnSpec, document: &Document, specs: &[ColumnSpec]) {
    let value = document.field(&spec.field);
    let each = |of: &mut dyn FnMut(&Value, i32)| {
        // Documents with more were taken by earlier releases, whose values beyond would be a row that no block holds.
        let mut left = limits::ELEMENTS;
        each_value(document, &spec.field, &mut |value, place| {
            let Some(others) = left.checked_sub(1) else { return };
            left = others;
            of(value, if spec.kind.collection() == Collection::Parts { place.element as i32 } else { place.weight });
        });
    };
    match column {
        Column::Ids | Column::Times(_) => {}
        Column::Source(writer) => {
            let mut bytes = Writer::new();
            bytes.reserve(SHORT_SOURCE_BYTES);
            let elsewhere = |name: &str| specs.iter().any(|spec| spec.field == name && spec.replaces_source());
            encode_fields_where(&document.fields, &mut bytes, |name| !elsewhere(name));
            writer.push(bytes.as_bytes());
        }
        Column::Text(writer) => {
            each(&mut |element, weight| {
                if let Value::String(text) = element {
                    writer.element(text, weight);
                }
            });
            writer.end_document();
        }
        Column::Strings(_, writer) => {
            each(&mut |element, weight| {
                if let Value::String(text) = element {
                    writer.value(text, weight);
                }
            });
            writer.numbers.end_row();
        }
        Column::Numbers(_, writer) => {
            each(&mut |element, weight| {
                if let Some(bits) = bits_of(element) {
                    writer.value(bits, weight);
                }
            });
            writer.end_row();
        }
        Column::Vectors(writer) => writer.document(tensor_of(value)),
        Column::Tensors(_, writer) => {
            let mut bytes = Writer::new();
            if let Some(tensor) = tensor_of(value) {
                encode_fields(&[(String::new(), Value::Tensor(tensor.clone()))], &mut bytes);
            }
            writer.push(&bytes.finish());
        }
    }
}

/// What a column holds of so many documents.
fn bytes_of(column: &Column, documents: usize) -> usize {
    match column {
        Column::Source(writer) | Column::Tensors(_, writer) => writer.len(),
        Column::Text(writer) => writer.bytes(),
        Column::Vectors(writer) => writer.bytes(),
        Column::Ids | Column::Times(_) | Column::Strings(..) | Column::Numbers(..) => documents * size_of::<u64>(),
    }
}

fn tensor_of(value: Option<&Value>) -> Option<&Tensor> {
    match value {
        Some(Value::Tensor(tensor)) => Some(tensor),
        _ => None,
    }
}

/// A number as a column takes it: integers sign-extended, floats as the bits of their float64.
fn bits_of(value: &Value) -> Option<u64> {
    Some(match value {
        Value::Bool(value) => u64::from(*value),
        Value::Byte(value) => i64::from(*value) as u64,
        Value::Int(value) => i64::from(*value) as u64,
        Value::Long(value) => *value as u64,
        Value::Float(value) => f64::from(*value).to_bits(),
        Value::Double(value) => value.to_bits(),
        Value::Position { x, y } => position_bits(*x, *y) as u64,
        _ => return None,
    })
}

/// String attributes: the distinct values sorted, and their numbers per document.
struct StringsWriter {
    values: rustc_hash::FxHashMap<Box<str>, u32>,
    numbers: NumberWriter,
}

impl StringsWriter {
    fn new(collection: Collection) -> StringsWriter {
        let numbers = NumberWriter::new(NumberKind::Int32, collection);
        StringsWriter { values: rustc_hash::FxHashMap::default(), numbers }
    }

    fn value(&mut self, text: &str, weight: i32) {
        let next = self.values.len() as u32;
        let text = crate::column::text::cut(text, dictionary::WORD_BYTES);
        let number = match self.values.get(text) {
            Some(number) => *number,
            None => {
                self.values.insert(text.into(), next);
                next
            }
        };
        self.numbers.value(u64::from(number), weight);
    }

    fn finish(mut self, spec: ColumnSpec, sink: &mut BlockSink) -> ColumnHeader {
        let mut sorted: Vec<(Box<str>, u32)> = self.values.into_iter().collect();
        sorted.sort_unstable();
        let mut number_of = vec![0u64; sorted.len()];
        for (number, (_, provisional)) in sorted.iter().enumerate() {
            number_of[*provisional as usize] = number as u64;
        }
        self.numbers.map(|provisional| number_of[provisional as usize]);
        let words: Vec<&[u8]> = sorted.iter().map(|(word, _)| word.as_bytes()).collect();
        let entries = vec![dictionary::Entry::default(); words.len()];
        let dictionary = dictionary::write(&words, &entries, sink);
        ColumnHeader { spec, parameters: Vec::new(), parts: vec![dictionary, self.numbers.finish(sink)] }
    }
}

fn finish_column(column: Column, document_ids: &IdsWriter, sink: &mut BlockSink) -> ColumnHeader {
    match column {
        Column::Ids => document_ids.write(sink),
        Column::Times(times) => times::write(&times, sink),
        Column::Source(writer) => {
            let parameters = vec![writer.len() as u32];
            ColumnHeader { spec: ColumnSpec::source(), parameters, parts: vec![writer.finish(sink)] }
        }
        Column::Text(writer) => writer.finish(sink),
        Column::Strings(spec, writer) => writer.finish(spec, sink),
        Column::Numbers(spec, writer) => {
            ColumnHeader { spec, parameters: Vec::new(), parts: vec![writer.finish(sink)] }
        }
        Column::Vectors(writer) => writer.finish(sink),
        Column::Tensors(spec, writer) => {
            ColumnHeader { spec, parameters: Vec::new(), parts: vec![writer.finish(sink)] }
        }
    }
}
