//! Values and ids of groups as bytes.
use std::rc::Rc;

use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use super::datum::{Datum, End, Key, Sortable};

const NOTHING: u8 = 0;
const BOOL: u8 = 1;
const LONG: u8 = 2;
const DOUBLE: u8 = 3;
pub(crate) const TEXT: u8 = 4;
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
        value => write_key(&Key::new(value).unwrap_or(Key::Null), writer),
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

pub(crate) fn read_single(kind: u8, reader: &mut Reader<'_>) -> Result<Datum, Rejection> {
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

pub(crate) fn write_key(key: &Key, writer: &mut Writer) {
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
pub(crate) fn read_key(kind: u8, reader: &mut Reader<'_>) -> Result<Key, Rejection> {
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
