//! Which columns the documents of a schema are stored in.
//!
//! A column follows from a field's type, roles and match settings alone, never from a rank profile or a query; so
//! segments stay readable when those change, and are rewritten when these do ([`fingerprint`]).
use brooklet_document::{CellType, DataType};
use brooklet_schema::{Field, MatchKind, Normalizing, Schema};
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

/// The number of values a document can have in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collection {
    /// A single value, or none.
    Single,
    /// Any number, in order.
    Array,
    /// Any number, each with a weight.
    WeightedSet,
    /// Any number: of a part of a struct or map, each with the number of the element it is part of, which is the
    /// outermost array's or map's (stored where a weighted set has weights).
    Parts,
}

impl Collection {
    /// Whether a number is stored with each value: its weight, or the element it is part of.
    #[must_use]
    pub const fn is_annotated(self) -> bool {
        matches!(self, Collection::WeightedSet | Collection::Parts)
    }

    /// Element and weight of a value: the one at `place` of the document, with this number stored beside it.
    #[must_use]
    pub const fn element_of(self, place: u32, annotation: i32) -> (u32, i32) {
        match self {
            Collection::Parts => (annotation as u32, 1),
            _ => (place, annotation),
        }
    }
}

/// The stored form of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberKind {
    /// bool: 0 or 1.
    Bool,
    /// 8-bit integer.
    Int8,
    /// 32-bit integer.
    Int32,
    /// 64-bit integer.
    Int64,
    /// 32-bit float.
    Float32,
    /// 64-bit float.
    Float64,
}

impl NumberKind {
    /// Bytes of a value.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            NumberKind::Bool | NumberKind::Int8 => 1,
            NumberKind::Int32 | NumberKind::Float32 => 4,
            NumberKind::Int64 | NumberKind::Float64 => 8,
        }
    }

    /// Whether values are integers (bool is).
    #[must_use]
    pub const fn is_integer(self) -> bool {
        !matches!(self, NumberKind::Float32 | NumberKind::Float64)
    }
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// The document ids, sorted.
    Ids,
    /// The documents' fields, but for those that only a vector column holds.
    Source,
    /// A string field as words for matching.
    Text {
        /// What is done to a value first.
        normalizing: Normalizing,
        /// The whole value is one word.
        whole: bool,
        /// A value is cut to this many bytes first.
        max_length_bytes: u32,
        /// Values of a document.
        collection: Collection,
    },
    /// A string attribute as written, for sorting and `attribute()`.
    Strings {
        /// Values of a document.
        collection: Collection,
    },
    /// A numeric attribute.
    Numbers {
        /// The stored form of a value.
        number: NumberKind,
        /// Values of a document.
        collection: Collection,
    },
    /// A tensor field with one indexed dimension: rows of cells, with codes for fast scans.
    Vectors {
        /// Type of the cells.
        cell: CellType,
        /// Cells of a row.
        size: u32,
        /// Name of the indexed dimension.
        dimension: String,
        /// Whether a document can have several rows, by label.
        mapped: bool,
    },
    /// Any other tensor field.
    Tensors,
    /// When the documents were last written.
    Times,
    /// A position field: as [`NumberKind::Int64`], the latitude above the longitude ([`position_bits`]).
    Positions {
        /// Values of a document.
        collection: Collection,
    },
}

impl ColumnKind {
    /// Values of a document.
    #[must_use]
    pub const fn collection(&self) -> Collection {
        match self {
            ColumnKind::Text { collection, .. }
            | ColumnKind::Strings { collection }
            | ColumnKind::Numbers { collection, .. }
            | ColumnKind::Positions { collection } => *collection,
            _ => Collection::Single,
        }
    }
}

/// A position as a column holds it, from micro-degrees.
#[must_use]
pub const fn position_bits(longitude: i32, latitude: i32) -> i64 {
    (latitude as i64) << 32 | longitude as u32 as i64
}

/// Longitude and latitude of [`position_bits`].
#[must_use]
pub const fn position_of_bits(bits: i64) -> (i32, i32) {
    (bits as i32, (bits >> 32) as i32)
}

/// One column of a schema: a field and what of it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnSpec {
    /// Name of the field; empty for ids and source.
    pub field: String,
    /// What is stored.
    pub kind: ColumnKind,
}

impl ColumnSpec {
    /// The ids of every segment.
    #[must_use]
    pub fn ids() -> ColumnSpec {
        ColumnSpec { field: String::new(), kind: ColumnKind::Ids }
    }

    /// The source of every segment.
    #[must_use]
    pub fn source() -> ColumnSpec {
        ColumnSpec { field: String::new(), kind: ColumnKind::Source }
    }

    /// The times of every segment.
    #[must_use]
    pub fn times() -> ColumnSpec {
        ColumnSpec { field: String::new(), kind: ColumnKind::Times }
    }

    /// The field of the document that the values are in: of a part the one that it is of.
    pub(crate) fn document_field(&self) -> &str {
        self.field.split('.').next().unwrap_or_default()
    }

    /// Whether the field's value is found here and nowhere else.
    #[must_use]
    pub fn replaces_source(&self) -> bool {
        matches!(self.kind, ColumnKind::Vectors { mapped: false, .. })
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.text(&self.field);
        match &self.kind {
            ColumnKind::Ids => writer.u8(0),
            ColumnKind::Source => writer.u8(1),
            ColumnKind::Text { normalizing, whole, max_length_bytes, collection } => {
                writer.u8(2);
                writer.u8(match normalizing {
                    Normalizing::None => 0,
                    Normalizing::Lowercase => 1,
                    Normalizing::LowercaseAndFold => 2,
                });
                writer.u8(u8::from(*whole));
                writer.u32(*max_length_bytes);
                writer.u8(*collection as u8);
            }
            ColumnKind::Strings { collection } => {
                writer.u8(3);
                writer.u8(*collection as u8);
            }
            ColumnKind::Numbers { number, collection } => {
                writer.u8(4);
                writer.u8(*number as u8);
                writer.u8(*collection as u8);
            }
            ColumnKind::Vectors { cell, size, dimension, mapped } => {
                writer.u8(5);
                writer.u8(*cell as u8);
                writer.u32(*size);
                writer.text(dimension);
                writer.u8(u8::from(*mapped));
            }
            ColumnKind::Tensors => writer.u8(6),
            ColumnKind::Times => writer.u8(8),
            ColumnKind::Positions { collection } => {
                writer.u8(7);
                writer.u8(*collection as u8);
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<ColumnSpec, Rejection> {
        let field = reader.text()?.to_owned();
        let kind = match reader.u8()? {
            0 => ColumnKind::Ids,
            1 => ColumnKind::Source,
            2 => ColumnKind::Text {
                normalizing: pick(reader, &[Normalizing::None, Normalizing::Lowercase, Normalizing::LowercaseAndFold])?,
                whole: reader.u8()? == 1,
                max_length_bytes: reader.u32()?,
                collection: collection(reader)?,
            },
            3 => ColumnKind::Strings { collection: collection(reader)? },
            4 => ColumnKind::Numbers { number: pick(reader, &NUMBERS)?, collection: collection(reader)? },
            5 => ColumnKind::Vectors {
                cell: pick(reader, &[CellType::Double, CellType::Float, CellType::Bfloat16, CellType::Int8])?,
                size: reader.u32()?,
                dimension: reader.text()?.to_owned(),
                mapped: reader.u8()? == 1,
            },
            6 => ColumnKind::Tensors,
            7 => ColumnKind::Positions { collection: collection(reader)? },
            8 => ColumnKind::Times,
            other => return Err(Rejection::corrupt(format!("unknown kind of column {other}"))),
        };
        Ok(ColumnSpec { field, kind })
    }
}

/// Longest row of a vector column, bytes: one that is read in place fits a block. Longer tensors are stored like others.
const ROW_BYTES: usize = 1 << 20;

const NUMBERS: [NumberKind; 6] = [
    NumberKind::Bool,
    NumberKind::Int8,
    NumberKind::Int32,
    NumberKind::Int64,
    NumberKind::Float32,
    NumberKind::Float64,
];

fn collection(reader: &mut Reader<'_>) -> Result<Collection, Rejection> {
    pick(reader, &[Collection::Single, Collection::Array, Collection::WeightedSet, Collection::Parts])
}

fn pick<T: Copy>(reader: &mut Reader<'_>, among: &[T]) -> Result<T, Rejection> {
    let index = reader.u8()?;
    among.get(index as usize).copied().ok_or_else(|| Rejection::corrupt(format!("unknown choice {index}")))
}

/// The columns of a schema, in the order of its fields, each with those of its parts; ids and times first, source last.
#[must_use]
pub fn columns(schema: &Schema) -> Vec<ColumnSpec> {
    let mut specs = removed_columns();
    for field in &schema.fields {
        specs.extend(field_columns(field, false));
        for part in &field.parts {
            let mut path = part.name.split('.').skip(1);
            let within = is_within_several(&field.data_type, &mut path);
            // A tensor inside a struct is not searched.
            let tensor = |spec: &ColumnSpec| matches!(spec.kind, ColumnKind::Vectors { .. } | ColumnKind::Tensors);
            specs.extend(field_columns(part, within).into_iter().filter(|spec| !tensor(spec)));
            if is_key_of_map(&field.data_type, part) && !part.indexing.attribute {
                // Entries are looked up by their key as it is written, whatever its words are.
                let kind = ColumnKind::Strings { collection: Collection::Parts };
                specs.push(ColumnSpec { field: part.name.clone(), kind });
            }
        }
    }
    specs.push(ColumnSpec::source());
    specs
}

/// The columns of a segment of removed documents ([`crate::REMOVED`]): what is left of each is its id and when.
#[must_use]
pub fn removed_columns() -> Vec<ColumnSpec> {
    vec![ColumnSpec::ids(), ColumnSpec::times()]
}

/// Whether a part of a type is inside an array or map, so that a document has it several times.
fn is_within_several<'a>(of: &DataType, path: &mut impl Iterator<Item = &'a str>) -> bool {
    match of {
        DataType::Array(_) | DataType::Map(..) => path.next().is_some(),
        DataType::Struct(of) => {
            let inner = path.next().and_then(|name| of.field(name));
            inner.is_some_and(|field| is_within_several(&field.data_type, path))
        }
        _ => false,
    }
}

/// Whether a part is the text key of the entries of a map that is a field of the document.
fn is_key_of_map(of: &DataType, part: &Field) -> bool {
    let text_key = matches!(of, DataType::Map(key, _) if **key == DataType::String);
    text_key && part.indexing.searchable() && part.name.split('.').skip(1).eq(["key"])
}

/// Changes when [`columns`] does: a segment with another fingerprint is rewritten before it is searched. Times do not
/// count: no search looks at them, and the segments of earlier releases have none.
#[must_use]
pub fn fingerprint<'a>(specs: impl IntoIterator<Item = &'a ColumnSpec>) -> u64 {
    let mut writer = Writer::new();
    let counted = specs.into_iter().filter(|spec| spec.kind != ColumnKind::Times);
    counted.for_each(|spec| spec.write(&mut writer));
    brooklet_kernel::checksum(0, &writer.finish())
}

/// `within`: whether the field is a part of elements.
fn field_columns(field: &Field, within: bool) -> Vec<ColumnSpec> {
    let roles = field.indexing;
    let (collection, element) = match &field.data_type {
        DataType::Array(element) => (Collection::Array, element.as_ref()),
        DataType::WeightedSet { element, .. } => (Collection::WeightedSet, element.as_ref()),
        single => (Collection::Single, single),
    };
    let collection = if within { Collection::Parts } else { collection };
    let mut kinds = Vec::new();
    match element {
        _ if !roles.searchable() => {}
        DataType::String | DataType::Uri => {
            kinds.push(text(field, collection));
            if roles.attribute {
                kinds.push(ColumnKind::Strings { collection });
            }
        }
        DataType::Tensor(of) if collection == Collection::Single => {
            let indexed: Vec<_> = of.indexed().collect();
            let row_bytes = of.dense_size().saturating_mul(of.cell.bytes());
            kinds.push(match indexed[..] {
                [dimension] if row_bytes <= ROW_BYTES => ColumnKind::Vectors {
                    cell: of.cell,
                    size: dimension.size.unwrap_or(0) as u32,
                    dimension: dimension.name.clone(),
                    mapped: of.dimensions.len() > 1,
                },
                _ => ColumnKind::Tensors,
            });
        }
        DataType::Position => kinds.push(ColumnKind::Positions { collection }),
        other => kinds.extend(number(other).map(|number| ColumnKind::Numbers { number, collection })),
    }
    kinds.into_iter().map(|kind| ColumnSpec { field: field.name.clone(), kind }).collect()
}

fn text(field: &Field, collection: Collection) -> ColumnKind {
    ColumnKind::Text {
        normalizing: field.normalizing(),
        whole: matches!(field.matching.kind, MatchKind::Word | MatchKind::Exact),
        max_length_bytes: u32::try_from(field.matching.max_length_bytes).unwrap_or(u32::MAX),
        collection,
    }
}

/// How a value of this type is stored as a number, if it is one that can be searched.
#[must_use]
pub fn number(data_type: &DataType) -> Option<NumberKind> {
    Some(match data_type {
        DataType::Bool => NumberKind::Bool,
        DataType::Byte => NumberKind::Int8,
        DataType::Int => NumberKind::Int32,
        DataType::Long => NumberKind::Int64,
        DataType::Float => NumberKind::Float32,
        DataType::Double => NumberKind::Float64,
        _ => return None,
    })
}
