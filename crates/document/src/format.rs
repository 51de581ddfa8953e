//! The formats that values are written in.
use crate::cbor::CborWriter;
use crate::json::JsonWriter;
use crate::value_writer::ValueWriter;

/// The formats there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// RFC 8259.
    #[default]
    Json,
    /// RFC 8949.
    Cbor,
}

impl Format {
    /// What writes it.
    #[must_use]
    pub fn writer(self) -> FormatWriter {
        match self {
            Format::Json => FormatWriter::Json(JsonWriter::new()),
            Format::Cbor => FormatWriter::Cbor(CborWriter::new()),
        }
    }

    /// The bytes of what `write` writes.
    pub fn write_with(self, write: impl FnOnce(&mut dyn ValueWriter)) -> Vec<u8> {
        let mut writer = self.writer();
        write(writer.out());
        writer.finish()
    }
}

/// A growing value of one of the formats.
#[derive(Clone, Debug)]
pub enum FormatWriter {
    /// A text.
    Json(JsonWriter),
    /// Bytes.
    Cbor(CborWriter),
}

impl FormatWriter {
    /// What is written to.
    pub fn out(&mut self) -> &mut dyn ValueWriter {
        match self {
            FormatWriter::Json(json) => json,
            FormatWriter::Cbor(cbor) => cbor,
        }
    }

    /// The bytes written.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        match self {
            FormatWriter::Json(json) => json.finish().into_bytes(),
            FormatWriter::Cbor(cbor) => cbor.finish(),
        }
    }
}
