//! The document types of the application that the vectors were recorded with, written by hand.
use std::sync::Arc;

use brooklet_document::json::FieldTypes;
use brooklet_document::{DataType, DocumentTypes, StructField, StructType};

/// The fields of one document type.
pub struct Fields(pub Vec<(&'static str, DataType)>);

impl FieldTypes for Fields {
    fn data_type(&self, field: &str) -> Option<&DataType> {
        self.0.iter().find(|(name, _)| *name == field).map(|(_, data_type)| data_type)
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }
}

/// The types `mail` and `note`.
pub struct Types {
    mail: Fields,
    note: Fields,
}

impl DocumentTypes for Types {
    fn fields_of(&self, document_type: &str) -> Option<&dyn FieldTypes> {
        match document_type {
            "mail" => Some(&self.mail),
            "note" => Some(&self.note),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        vec!["mail", "note"]
    }
}

fn array(element: DataType) -> DataType {
    DataType::Array(Arc::new(element))
}

fn map(key: DataType, value: DataType) -> DataType {
    DataType::Map(Arc::new(key), Arc::new(value))
}

fn weighted_set(element: DataType) -> DataType {
    DataType::WeightedSet { element: Arc::new(element), create_if_nonexistent: false, remove_if_zero: false }
}

fn tensor(text: &str) -> DataType {
    DataType::Tensor(Arc::new(text.parse().unwrap()))
}

impl Types {
    /// As in the application.
    pub fn new() -> Types {
        let field = |name: &str, data_type| StructField { name: name.to_owned(), data_type };
        let person = DataType::Struct(Arc::new(StructType {
            name: "person".to_owned(),
            fields: vec![
                field("name", DataType::String),
                field("email", DataType::String),
                field("age", DataType::Int),
            ],
        }));
        let texts = ["subject", "body", "sender", "folder", "prefixed", "suffixed", "grams", "nostem"];
        let mut mail: Vec<_> = texts.into_iter().map(|name| (name, DataType::String)).collect();
        mail.extend([
            ("year", DataType::Int),
            ("size", DataType::Long),
            ("b", DataType::Byte),
            ("score", DataType::Double),
            ("f", DataType::Float),
            ("unread", DataType::Bool),
            ("tags", array(DataType::String)),
            ("attrtags", array(DataType::String)),
            ("nums", array(DataType::Int)),
            ("weights", weighted_set(DataType::String)),
            ("iw", weighted_set(DataType::Int)),
            ("people", array(person.clone())),
            ("main", person.clone()),
            ("props", map(DataType::String, DataType::String)),
            ("counts", map(DataType::String, DataType::Int)),
            ("byid", map(DataType::Int, person)),
            ("location", DataType::Position),
            ("emb", tensor("tensor<float>(x[3])")),
            ("sparse", tensor("tensor(k{})")),
            ("mixed", tensor("tensor<float>(k{},x[2])")),
            ("url", DataType::Uri),
            ("blob", DataType::Raw),
            ("pred", DataType::Predicate),
        ]);
        let note = vec![("text", DataType::String), ("year", DataType::Int)];
        Types { mail: Fields(mail), note: Fields(note) }
    }
}
