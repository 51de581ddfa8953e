//! Inputs that a model makes: `input.query(q)=embed(id, "text")` (Vespa's query reference, embedding). Which texts they are
//! follows from the request and the rank profile; the host embeds them before the query is searched.
use std::cell::LazyCell;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::embedding::{EmbeddingWanted, Embeddings, tensor_of, values_wanted};
use brooklet_document::{Tensor, TensorType};
use brooklet_kernel::sort;
use brooklet_query::surroundings::Parameters;
use brooklet_schema::InputType;
use brooklet_task::{Code, Rejection, limits};

use super::embed_call::{EmbedCall, EmbedText};
use super::properties::Properties;
use crate::deployed::DeployedSchema;

/// The tensor of an input that is a call of `embed`; nothing if the text is no such call.
pub(crate) fn read(
    text: &str,
    target: &Arc<TensorType>,
    properties: &Properties,
    embeddings: &Embeddings,
) -> Option<Result<Tensor, Rejection>> {
    let tensor = EmbedCall::read(text)?.and_then(|call| {
        let text = text_of(&call, properties)?;
        if text.trim().is_empty() {
            return Ok(Tensor::empty(target.clone()));
        }
        let wanted = wanted_of(target, &call, text);
        let embedding = embeddings.get(&wanted).ok_or_else(|| call.refusal())?;
        tensor_of(target, embedding).map_err(|rejection| illegal(rejection.message))
    });
    Some(tensor)
}

/// The texts that a query of these schemas wants embedded, each once, in order. Which they are is asked if there are calls.
///
/// # Errors
/// If an input is no call of `embed`, or there are too many.
pub(crate) fn embeddings_wanted(
    properties: &Properties,
    searched: impl Fn() -> Vec<Rc<DeployedSchema>>,
) -> Result<Vec<EmbeddingWanted>, Rejection> {
    let profile = properties.value("ranking.profile").unwrap_or("default");
    let (searched, mut wanted) = (LazyCell::new(searched), Vec::new());
    for (_, input, text) in properties.inputs() {
        if text.cells().is_some() {
            continue;
        }
        let Some(call) = EmbedCall::read(text) else { continue };
        let call = call?;
        let text = text_of(&call, properties)?;
        // What says nothing is a tensor of zeros.
        if text.trim().is_empty() {
            continue;
        }
        for schema in searched.iter() {
            let declared = schema.profile(profile).and_then(|profile| profile.profile.input(input));
            if let Some(InputType::Tensor(target)) = declared.map(|input| &input.input_type) {
                wanted.push(wanted_of(target, &call, text.clone()));
            }
        }
    }
    sort(&mut wanted);
    wanted.dedup();
    if wanted.len() > limits::QUERY_EMBEDDINGS {
        let message = format!("A query may embed {} texts at most, not {}", limits::QUERY_EMBEDDINGS, wanted.len());
        return Err(illegal(message));
    }
    Ok(wanted)
}

/// An input is `query(…)`, so an embedder that tells queries from documents takes its text for one.
fn wanted_of(target: &TensorType, call: &EmbedCall, text: String) -> EmbeddingWanted {
    let embedder = call.embedder.clone().unwrap_or_default();
    EmbeddingWanted { embedder, is_query: true, values: values_wanted(target), text }
}

/// The text of a call, and what is to embed it.
fn text_of(call: &EmbedCall, properties: &Properties) -> Result<String, Rejection> {
    match &call.text {
        EmbedText::Literal(text) => Ok(text.clone()),
        EmbedText::Parameter(name) => {
            let missing = || illegal(format!("embed: the parameter '{}' is not set", Rejection::quote(name)));
            properties.get(name).map(str::to_owned).ok_or_else(missing)
        }
    }
}

fn illegal(message: String) -> Rejection {
    Rejection::new(Code::IllegalQuery, message)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_searched_schemas_are_asked_for_once_where_there_are_calls() {
        let calls = ["input.query(a)", "input.query(b)"].map(|name| (name, "embed(e, \"a text\")"));
        for (given, expected) in [(&calls[..], 1), (&[("input.query(a)", "1")], 0)] {
            let asked = Cell::new(0);
            let properties = Properties::read(given.iter().copied(), b"").unwrap();
            let searched = || {
                asked.set(asked.get() + 1);
                Vec::new()
            };
            assert!(embeddings_wanted(&properties, searched).unwrap().is_empty());
            assert_eq!(asked.get(), expected);
        }
    }
}
