//! Groups as bytes: what one partition or schema adds to the groups of a request. Read under the limits of groups.
use std::rc::Rc;

use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use super::datum::{Datum, End, Key, Sortable};
use super::groups::{Groups, HeldHit};

impl Groups {
    /// As bytes. Hits must have their ids and fields.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        for (index, table) in self.tables.iter().enumerate() {
            writer.varint(table.keys.len() as u64);
            for group in 0..table.keys.len() {
                if index > 0 {
                    writer.varint(u64::from(table.parents[group]));
                    write_key(&table.keys[group], &mut writer);
                }
                writer.f64(table.ranks[group]);
                table.totals.iter().for_each(|totals| totals.write(group, &mut writer));
                for hits in &table.hits {
                    writer.varint(hits[group].hits.len() as u64);
                    hits[group].hits.iter().for_each(|hit| write_hit(hit, &mut writer));
                }
            }
        }
        self.write_firsts(&mut writer);
        writer.finish()
    }

    /// Adds what [`Groups::encode`] wrote of another part, of the same request.
    ///
    /// # Errors
    /// If it is not that, or all takes more memory than groups may.
    pub(crate) fn absorb(&mut self, bytes: &[u8], schemas: usize) -> Result<(), Rejection> {
        let mut reader = Reader::new(bytes);
        // For each table where its groups are.
        let mut places: Vec<Vec<u32>> = Vec::with_capacity(self.tables.len());
        for table in 0..self.tables.len() {
            let above = self.parent_table(table);
            let count = reader.count(8)?;
            let mut of_table = Vec::with_capacity(count);
            for _ in 0..count {
                let group = match above {
                    // Of the root there is one.
                    None => 0,
                    Some(above) => {
                        let parent = usize::try_from(reader.varint()?).ok().and_then(|at| places[above].get(at));
                        let parent =
                            *parent.ok_or_else(|| Rejection::corrupt("a group in a group that is not there"))?;
                        self.read_key_of(table, parent, &mut reader)?
                    }
                };
                self.absorb_group(table, group as usize, schemas, &mut reader)?;
                of_table.push(group);
            }
            places.push(of_table);
        }
        self.read_firsts(schemas, &mut reader)?;
        self.settle_firsts();
        reader.end()
    }

    /// Finds the group of the id that comes, or makes it.
    fn read_key_of(&mut self, table: usize, parent: u32, reader: &mut Reader<'_>) -> Result<u32, Rejection> {
        let kind = reader.u8()?;
        if kind == TEXT {
            return self.group_of_text(table, parent, reader.bytes()?);
        }
        let key = read_key(kind, reader)?;
        self.group(table, parent, &key)
    }

    fn absorb_group(
        &mut self,
        table: usize,
        group: usize,
        schemas: usize,
        reader: &mut Reader<'_>,
    ) -> Result<(), Rejection> {
        let of = &mut self.tables[table];
        let rank = reader.f64()?;
        if rank > of.ranks[group] {
            of.ranks[group] = rank;
        }
        let mut more = 0;
        for totals in &mut of.totals {
            more += totals.read(group, reader)?;
        }
        for hits in &mut of.hits {
            for _ in 0..reader.count(11)? {
                let hit = read_hit(schemas, reader)?;
                more += hit.bytes();
                hits[group].hits.push(hit);
            }
        }
        self.take(more)
    }
}

fn write_hit(hit: &HeldHit, writer: &mut Writer) {
    writer.varint(u64::from(hit.schema));
    writer.f64(hit.score);
    writer.text(hit.id.as_deref().unwrap_or_default());
    writer.bytes(hit.fields.iter().flatten().next().map_or(&[][..], |fields| fields));
}

fn read_hit(schemas: usize, reader: &mut Reader<'_>) -> Result<HeldHit, Rejection> {
    let schema = reader.varint()?;
    if schema >= schemas as u64 {
        return Err(Rejection::corrupt("a hit of a schema that is not searched"));
    }
    let score = reader.f64()?;
    let id = Some(Rc::from(reader.text()?));
    let fields = reader.bytes()?;
    let fields = Some((!fields.is_empty()).then(|| Rc::from(fields)));
    Ok(HeldHit { schema: schema as u32, view: 0, ordinal: 0, score, id, fields })
}

const NOTHING: u8 = 0;
const BOOL: u8 = 1;
const LONG: u8 = 2;
const DOUBLE: u8 = 3;
const TEXT: u8 = 4;
const RAW: u8 = 5;
const LONG_BUCKET: u8 = 6;
const DOUBLE_BUCKET: u8 = 7;
const TEXT_BUCKET: u8 = 8;
const RAW_BUCKET: u8 = 9;
const SEVERAL: u8 = 10;

/// A value.
pub(crate) fn write_datum(value: &Datum, writer: &mut Writer) {
    match value {
        Datum::Several(values) => {
            writer.u8(SEVERAL);
            writer.varint(values.len() as u64);
            values.iter().for_each(|value| write_datum(value, writer));
        }
        Datum::Double(value) => {
            writer.u8(DOUBLE);
            writer.f64(*value);
        }
        value => write_key(&Key::of(value).unwrap_or(Key::Null), writer),
    }
}

pub(crate) fn read_datum(reader: &mut Reader<'_>) -> Result<Datum, Rejection> {
    let kind = reader.u8()?;
    if kind != SEVERAL {
        return read_single(kind, reader);
    }
    let values = (0..reader.count(1)?).map(|_| {
        let kind = reader.u8()?;
        read_single(kind, reader)
    });
    Ok(Datum::several(values.collect::<Result<_, _>>()?))
}

fn read_single(kind: u8, reader: &mut Reader<'_>) -> Result<Datum, Rejection> {
    Ok(match kind {
        NOTHING => Datum::Nothing,
        BOOL => Datum::Bool(reader.u8()? == 1),
        LONG => Datum::Long(reader.u64()? as i64),
        DOUBLE => Datum::Double(reader.f64()?),
        TEXT => Datum::Text(Rc::from(reader.bytes()?)),
        RAW => Datum::Raw(Rc::from(reader.bytes()?)),
        other => return Err(Rejection::corrupt(format!("a value of kind {other}"))),
    })
}

fn write_key(key: &Key, writer: &mut Writer) {
    let bytes = |kind: u8, from: Option<&Rc<[u8]>>, to: &End<Rc<[u8]>>, writer: &mut Writer| {
        writer.u8(kind);
        writer.u8(u8::from(from.is_some()) | u8::from(matches!(to, End::At(_))) << 1);
        from.into_iter().for_each(|from| writer.bytes(from));
        if let End::At(to) = to {
            writer.bytes(to);
        }
    };
    match key {
        Key::Null => writer.u8(NOTHING),
        Key::Bool(flag) => {
            writer.u8(BOOL);
            writer.u8(u8::from(*flag));
        }
        Key::Long(value) => {
            writer.u8(LONG);
            writer.u64(*value as u64);
        }
        Key::Double(value) => {
            writer.u8(DOUBLE);
            writer.f64(value.value());
        }
        Key::Text(text) => {
            writer.u8(TEXT);
            writer.bytes(text);
        }
        Key::Raw(raw) => {
            writer.u8(RAW);
            writer.bytes(raw);
        }
        Key::LongBucket(from, to) => {
            writer.u8(LONG_BUCKET);
            writer.u64(*from as u64);
            writer.u64(*to as u64);
        }
        Key::DoubleBucket(from, to) => {
            writer.u8(DOUBLE_BUCKET);
            writer.f64(from.value());
            writer.f64(to.value());
        }
        Key::TextBucket(from, to) => bytes(TEXT_BUCKET, from.as_ref(), to, writer),
        Key::RawBucket(from, to) => bytes(RAW_BUCKET, from.as_ref(), to, writer),
    }
}

/// The rest of an id of this kind.
fn read_key(kind: u8, reader: &mut Reader<'_>) -> Result<Key, Rejection> {
    Ok(match kind {
        NOTHING => Key::Null,
        BOOL => Key::Bool(reader.u8()? == 1),
        LONG => Key::Long(reader.u64()? as i64),
        DOUBLE => Key::Double(Sortable::new(reader.f64()?)),
        TEXT => Key::Text(Rc::from(reader.bytes()?)),
        RAW => Key::Raw(Rc::from(reader.bytes()?)),
        LONG_BUCKET => Key::LongBucket(reader.u64()? as i64, reader.u64()? as i64),
        DOUBLE_BUCKET => Key::DoubleBucket(Sortable::new(reader.f64()?), Sortable::new(reader.f64()?)),
        TEXT_BUCKET | RAW_BUCKET => {
            let ends = reader.u8()?;
            let from = if ends & 1 == 1 { Some(Rc::from(reader.bytes()?)) } else { None };
            let to = if ends & 2 == 2 { End::At(Rc::from(reader.bytes()?)) } else { End::Infinite };
            if kind == TEXT_BUCKET { Key::TextBucket(from, to) } else { Key::RawBucket(from, to) }
        }
        other => return Err(Rejection::corrupt(format!("an id of a group of kind {other}"))),
    })
}
