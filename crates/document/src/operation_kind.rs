//! What an operation does with its document.

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Writes a whole document.
    Put,
    /// Changes fields of a document.
    Update,
    /// Removes a document.
    Remove,
}

impl OperationKind {
    /// What a member of this name makes of an operation.
    pub(crate) fn from_key(key: &str) -> Option<OperationKind> {
        match key {
            "put" | "id" => Some(OperationKind::Put),
            "update" => Some(OperationKind::Update),
            "remove" => Some(OperationKind::Remove),
            _ => None,
        }
    }
}
