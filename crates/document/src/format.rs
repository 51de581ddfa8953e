//! The formats that values are written in.
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
    /// The bytes of what `write` writes.
    pub fn write_with(self, write: impl FnOnce(&mut dyn ValueWriter)) -> Vec<u8> {
        match self {
            Format::Json => {
                let mut json = crate::json::JsonWriter::new();
                write(&mut json);
                json.finish().into_bytes()
            }
            Format::Cbor => {
                let mut cbor = crate::cbor::CborWriter::new();
                write(&mut cbor);
                cbor.finish()
            }
        }
    }
}
