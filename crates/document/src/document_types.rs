//! What reading documents needs to know of their types.
use crate::DataType;

/// What the reader needs to know about a document type.
pub trait FieldTypes {
    /// The type of a field, if the document type has it.
    fn data_type(&self, field: &str) -> Option<&DataType>;

    /// The names of all fields, for hints.
    fn names(&self) -> Vec<&str>;
}

/// The document types of an application.
pub trait DocumentTypes {
    /// The fields of a document type, if there is one of that name.
    fn fields_of(&self, document_type: &str) -> Option<&dyn FieldTypes>;

    /// The fields of a document type that a selection names: one that no document is of may be inherited by others.
    fn fields_selected(&self, document_type: &str) -> Option<&dyn FieldTypes> {
        self.fields_of(document_type)
    }

    /// The names of all document types.
    fn names(&self) -> Vec<&str>;

    /// Whether `document_type` is `ancestor` or inherits it: then it has all its fields.
    fn is_a(&self, document_type: &str, ancestor: &str) -> bool {
        document_type == ancestor
    }
}
