//! The kinds of failure, with the HTTP status and the number they have on Vespa's wire.

/// What kind of failure a [`crate::Rejection`] or [`crate::Issue`] is.
///
/// `number` is Vespa's search error code (`ErrorMessage`/`Error` of container-search), used in `root.errors`;
/// `name` is our own stable code, shown as an extra scalar member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Nothing to search for.
    NullQuery,
    /// A query parameter has a value that cannot be set, or the streaming scope is missing.
    IllegalQuery,
    /// The query cannot be parsed or names something unknown.
    InvalidQueryParameter,
    /// Answered, but something in the scan went wrong (soft).
    ErrorInReply,
    /// The scan did not finish in time.
    TimedOut,
    /// The request as a whole is malformed.
    BadRequest,
    /// A document, its id, or an operation on it is malformed.
    InvalidDocument,
    /// A document, value or request is larger than a limit.
    TooLarge,
    /// The application package cannot be deployed.
    InvalidApplication,
    /// Part of Vespa that this release does not support yet; never ignored silently.
    Unsupported,
    /// A condition did not hold.
    ConditionNotMet,
    /// Stored bytes are not what was written.
    StoreCorrupt,
    /// A defect of ours.
    Internal,
}

/// Every kind, for finding one by its name.
const ALL: [Code; 13] = [
    Code::NullQuery,
    Code::IllegalQuery,
    Code::InvalidQueryParameter,
    Code::ErrorInReply,
    Code::TimedOut,
    Code::BadRequest,
    Code::InvalidDocument,
    Code::TooLarge,
    Code::InvalidApplication,
    Code::Unsupported,
    Code::ConditionNotMet,
    Code::StoreCorrupt,
    Code::Internal,
];

impl Code {
    /// The kind with this [`name`](Code::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Code> {
        ALL.into_iter().find(|code| code.name() == name)
    }

    /// Vespa's error number on `/search/`.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Code::NullQuery => 1,
            Code::IllegalQuery => 3,
            Code::InvalidQueryParameter | Code::Unsupported => 4,
            Code::ErrorInReply => 8,
            Code::StoreCorrupt => 10,
            Code::TimedOut => 12,
            Code::BadRequest
            | Code::InvalidDocument
            | Code::TooLarge
            | Code::InvalidApplication
            | Code::ConditionNotMet => 17,
            Code::Internal => 18,
        }
    }

    /// Vespa's summary text for the number.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self.number() {
            1 => "Null query",
            3 => "Illegal query",
            4 => "Invalid query parameter",
            8 => "Error in search reply.",
            10 => "Backend communication error",
            12 => "Timed out",
            17 => "Bad request.",
            _ => "Internal server error.",
        }
    }

    /// HTTP status of a response that has no hits because of this.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Code::NullQuery | Code::ErrorInReply | Code::StoreCorrupt | Code::Internal => 500,
            Code::TimedOut => 504,
            Code::TooLarge => 413,
            Code::ConditionNotMet => 412,
            Code::IllegalQuery
            | Code::InvalidQueryParameter
            | Code::BadRequest
            | Code::InvalidDocument
            | Code::InvalidApplication
            | Code::Unsupported => 400,
        }
    }

    /// Our stable name of the kind, for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Code::NullQuery => "NULL_QUERY",
            Code::IllegalQuery => "ILLEGAL_QUERY",
            Code::InvalidQueryParameter => "INVALID_QUERY_PARAMETER",
            Code::ErrorInReply => "ERROR_IN_REPLY",
            Code::TimedOut => "TIMED_OUT",
            Code::BadRequest => "BAD_REQUEST",
            Code::InvalidDocument => "INVALID_DOCUMENT",
            Code::TooLarge => "TOO_LARGE",
            Code::InvalidApplication => "INVALID_APPLICATION_PACKAGE",
            Code::Unsupported => "UNSUPPORTED",
            Code::ConditionNotMet => "CONDITION_NOT_MET",
            Code::StoreCorrupt => "STORE_CORRUPT",
            Code::Internal => "INTERNAL",
        }
    }
}
