//! Fingerprints: numbers that are others when stored columns would be.
use brooklet_document::DataType;

use crate::application::Application;
use crate::field::Field;
use crate::schema::Schema;

impl Application {
    /// A number that is another when stored columns would be: from names, types, roles and matching of all fields.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Hash::new();
        self.schemas.iter().for_each(|schema| add_schema(&mut hash, schema));
        hash.0
    }
}

impl Schema {
    /// As [`Application::fingerprint`], of one schema.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Hash::new();
        add_schema(&mut hash, self);
        hash.0
    }
}

fn add_schema(hash: &mut Hash, schema: &Schema) {
    hash.text(&schema.name);
    if schema.is_shared {
        hash.text(&schema.cluster);
    }
    hash.number(schema.fields.len());
    for field in &schema.fields {
        add_field(hash, field);
        add_type(hash, &field.data_type);
        hash.number(field.parts.len());
        field.parts.iter().for_each(|part| add_field(hash, part));
    }
}

fn add_field(hash: &mut Hash, field: &Field) {
    hash.text(&field.name);
    let roles = field.indexing;
    let matching = &field.matching;
    let bits = [roles.attribute, roles.index, roles.summary, matching.cased];
    bits.iter().for_each(|bit| hash.byte(u8::from(*bit)));
    hash.byte(matching.kind as u8);
    hash.byte(matching.mode as u8);
    hash.number(matching.max_length_bytes);
}

/// A number that is another for another type.
pub(crate) fn type_fingerprint(of: &DataType) -> u64 {
    let mut hash = Hash::new();
    add_type(&mut hash, of);
    hash.0
}

/// Types by structure: two structs of the same name may differ. Their depth and number of parts are limited.
fn add_type(hash: &mut Hash, of: &DataType) {
    hash.text(&of.to_string());
    match of {
        DataType::Array(element) | DataType::WeightedSet { element, .. } => add_type(hash, element),
        DataType::Map(key, value) => {
            add_type(hash, key);
            add_type(hash, value);
        }
        DataType::Struct(of) => {
            hash.number(of.fields.len());
            for field in &of.fields {
                hash.text(&field.name);
                add_type(hash, &field.data_type);
            }
        }
        _ => {}
    }
}

/// FNV-1a, 64 bits: the same everywhere and for ever, which the standard library's hash does not promise.
struct Hash(u64);

impl Hash {
    fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn number(&mut self, number: usize) {
        (number as u64).to_le_bytes().into_iter().for_each(|byte| self.byte(byte));
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        text.bytes().for_each(|byte| self.byte(byte));
    }
}
