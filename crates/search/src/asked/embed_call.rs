//! `embed(…)` as the value of an input: which embedder is to make a tensor of which text. It is read here, so that what
//! is wrong with it is told; making the tensor is for who has the model, before the query comes here.
use brooklet_task::{Code, Rejection};

/// Text to embed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EmbedText {
    /// As it stands.
    Literal(String),
    /// The value of a parameter of the request.
    Parameter(String),
}

/// `embed(text)`, `embed(@parameter)`, `embed(embedder, text)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EmbedCall {
    /// Its name; nothing if there is only one.
    pub(crate) embedder: Option<String>,
    pub(crate) text: EmbedText,
}

impl EmbedCall {
    /// Reads a value; nothing if it is no call of `embed`.
    pub(crate) fn read(value: &str) -> Option<Result<EmbedCall, Rejection>> {
        let inside = value.trim().strip_prefix("embed")?.trim_start().strip_prefix('(')?;
        Some(call(inside).ok_or_else(|| {
            let message = "embed takes a text in quotes or @parameter, or the name of an embedder and one of these";
            Rejection::new(Code::IllegalQuery, message)
        }))
    }

    /// Why it cannot be answered here.
    pub(crate) fn refusal(&self) -> Rejection {
        let which = match &self.embedder {
            Some(name) => format!("the embedder '{}' is not", Rejection::quote(name)),
            None => "no embedder is".to_owned(),
        };
        let what = match &self.text {
            EmbedText::Literal(text) => format!("'{}'", Rejection::quote(text)),
            EmbedText::Parameter(name) => format!("the parameter '{}'", Rejection::quote(name)),
        };
        Rejection::new(Code::Unsupported, format!("cannot embed {what}: {which} configured for queries"))
    }
}

fn call(inside: &str) -> Option<EmbedCall> {
    let inside = inside.trim_end().strip_suffix(')')?.trim();
    let is_name = |name: &str| {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        !name.is_empty() && name.chars().all(legal)
    };
    match inside.split_once(',') {
        Some((name, text)) if is_name(name.trim()) => {
            Some(EmbedCall { embedder: Some(name.trim().to_owned()), text: text_of(text.trim())? })
        }
        _ => Some(EmbedCall { embedder: None, text: text_of(inside)? }),
    }
}

/// A quoted text, `@parameter`, or a text without quotes.
fn text_of(text: &str) -> Option<EmbedText> {
    if let Some(parameter) = text.strip_prefix('@') {
        return (!parameter.is_empty()).then(|| EmbedText::Parameter(parameter.to_owned()));
    }
    for quote in ['"', '\''] {
        if let Some(rest) = text.strip_prefix(quote) {
            return rest.strip_suffix(quote).map(|literal| EmbedText::Literal(literal.to_owned()));
        }
    }
    (!text.is_empty()).then(|| EmbedText::Literal(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_in_every_form() {
        let read = |value: &str| EmbedCall::read(value).and_then(Result::ok);
        let literal = |text: &str| EmbedText::Literal(text.to_owned());
        let call = |embedder: Option<&str>, text| Some(EmbedCall { embedder: embedder.map(str::to_owned), text });
        assert_eq!(read("embed(\"a, b\")"), call(None, literal("a, b")));
        assert_eq!(read(" embed ( some words ) "), call(None, literal("some words")));
        assert_eq!(read("embed(minilm, 'x')"), call(Some("minilm"), literal("x")));
        assert_eq!(read("embed(minilm, @text)"), call(Some("minilm"), EmbedText::Parameter("text".to_owned())));
        assert_eq!(read("embed(@text)"), call(None, EmbedText::Parameter("text".to_owned())));
        for wrong in ["embed()", "embed(@)", "embed(\"a)", "embed(a, )", "embed(\"a\""] {
            assert!(EmbedCall::read(wrong).is_some_and(|read| read.is_err()), "{wrong}");
        }
        assert_eq!(EmbedCall::read("[1,2]"), None);
        assert!(
            read("embed(minilm, 'x')").unwrap().refusal().message.contains("the embedder 'minilm' is not configured")
        );
    }
}
