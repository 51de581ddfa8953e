//! Inputs that a model makes: `input.query(q)=embed(id, "text")` (Vespa's query reference, embedding). Which texts they are
//! follows from the request and the rank profile; the host embeds them before it asks, and gives the embeddings in a
//! parameter of the request.
use std::sync::Arc;

use brooklet_document::embedding::{EmbeddingWanted, Embeddings, embedded, values_wanted, write_wanted};
use brooklet_document::json::decode_base64;
use brooklet_document::{Tensor, TensorType};
use brooklet_query::surroundings::Parameters;
use brooklet_schema::InputType;
use brooklet_task::bytes::Reader;
use brooklet_task::{Code, Rejection, limits};

use crate::compile::timeout_of;
use crate::deployed::Deployed;
use crate::embed_call::{EmbedCall, EmbedText};
use crate::request::Properties;

/// The parameter with the embeddings, in the form of docs/abi.md, as base64.
const EMBEDDINGS: &str = "brooklet.embeddings";

/// The texts a query wants embedded, as the host reads them (docs/abi.md, embeddings), and the milliseconds the query may
/// take, embedding included. A query that is refused wants none: its search says why.
///
/// # Errors
/// If the request is cut short.
pub fn query_embeddings(deployed: &Deployed, request: &[u8]) -> Result<(Vec<u8>, u32), Rejection> {
    let asked = Properties::from_request(deployed, &mut Reader::new(request))?;
    let wanted = asked.properties.and_then(|properties| {
        let wanted = wanted(deployed, &properties)?;
        let timeout_ms = if wanted.is_empty() { 0 } else { timeout_of(deployed, &properties)?.max(1) };
        Ok((write_wanted(&wanted), timeout_ms))
    });
    Ok(wanted.unwrap_or_else(|_| (write_wanted(&[]), 0)))
}

/// The embeddings that came with a request.
///
/// # Errors
/// If an input is no call of `embed`, or the embeddings are not those of its texts.
pub(crate) fn given(deployed: &Deployed, properties: &Properties) -> Result<Embeddings, Rejection> {
    let wanted = wanted(deployed, properties)?;
    let Some(text) = properties.value(EMBEDDINGS) else { return Ok(Embeddings::default()) };
    let malformed = |why: &str| Rejection::new(Code::InvalidQueryParameter, format!("Invalid '{EMBEDDINGS}': {why}"));
    let bytes = decode_base64(text).map_err(|error| malformed(error.message()))?;
    Embeddings::read(&wanted, &bytes).map_err(|rejection| malformed(&rejection.message))
}

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
        embedded(target, embedding).map_err(|rejection| illegal(rejection.message))
    });
    Some(tensor)
}

/// All texts of a request, each once, in order.
fn wanted(deployed: &Deployed, properties: &Properties) -> Result<Vec<EmbeddingWanted>, Rejection> {
    let profile = properties.value("ranking.profile").unwrap_or("default");
    let mut wanted = Vec::new();
    for (_, input, text) in properties.inputs() {
        let Some(call) = EmbedCall::read(&text) else { continue };
        let call = call?;
        let text = text_of(&call, properties)?;
        // What says nothing is a tensor of zeros.
        if text.trim().is_empty() {
            continue;
        }
        for schema in &deployed.schemas {
            let declared = schema.profile(profile).and_then(|profile| profile.profile.input(&input));
            if let Some(InputType::Tensor(target)) = declared.map(|input| &input.input_type) {
                wanted.push(wanted_of(target, &call, text.clone()));
            }
        }
    }
    wanted.sort();
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
