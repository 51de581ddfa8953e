//! Where in an application package something stands.
use std::sync::Arc;

use brooklet_task::{Code, Rejection, Span};

/// A place in a file of the package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// Path in the package.
    pub file: Arc<str>,
    /// Offset, line and column.
    pub span: Span,
}

impl SourcePlace {
    /// A rejection of the package that names file, line and column.
    #[must_use]
    pub fn reject(&self, message: impl std::fmt::Display) -> Rejection {
        self.rejection(Code::InvalidApplication, message)
    }

    /// A rejection because this release does not support what stands here.
    #[must_use]
    pub fn unsupported_here(&self, what: impl std::fmt::Display) -> Rejection {
        self.rejection(Code::Unsupported, format!("{what} is not supported yet"))
    }

    fn rejection(&self, code: Code, message: impl std::fmt::Display) -> Rejection {
        Rejection { code, message: format!("{self}: {message}"), span: Some(self.span) }
    }
}

impl std::fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.span.line, self.span.column)
    }
}

/// A text of the package that another crate parses, and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The text, without white space around it.
    pub text: Arc<str>,
    /// Where it begins; nothing for what is built in.
    pub place: Option<SourcePlace>,
}

impl SourceText {
    /// A text that stands in no file.
    #[must_use]
    pub fn built_in(text: &str) -> SourceText {
        SourceText { text: text.into(), place: None }
    }

    /// The rejection of a parser of this text (its span counted in the text) as one of the file: the message names
    /// file, line and column, and the span is that of the file.
    #[must_use]
    pub fn locate(&self, rejection: Rejection) -> Rejection {
        let Some(place) = &self.place else { return rejection };
        let inner = rejection.span.unwrap_or(Span { offset: 0, line: 1, column: 1 });
        let column = if inner.line == 1 { place.span.column + inner.column - 1 } else { inner.column };
        let span = Span { offset: place.span.offset + inner.offset, line: place.span.line + inner.line - 1, column };
        let place = SourcePlace { file: place.file.clone(), span };
        Rejection { code: rejection.code, message: format!("{place}: {}", rejection.message), span: Some(span) }
    }
}
