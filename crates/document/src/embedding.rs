//! Embeddings: what a model makes of texts, on its way into tensors. Models run in the host; which texts are wanted and
//! what becomes of the numbers is decided here (Vespa's embedding reference; docs/abi.md, embeddings).
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Code, Rejection, limits};

use crate::{CellType, Tensor, TensorBuilder, TensorType};

/// A text to be embedded, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EmbeddingWanted {
    /// The component that embeds; empty if the only one there is is meant.
    pub embedder: String,
    /// Whether it is the text of a query, and not of a document.
    pub is_query: bool,
    /// Values of each vector; 0 if weights of labels are wanted.
    pub values: u32,
    /// The text.
    pub text: String,
}

/// What a model made of one text.
#[derive(Clone, Debug, PartialEq)]
pub enum Embedding {
    /// One vector.
    Vector(Vec<f32>),
    /// A vector of so many values for each token, one after another.
    Rows(usize, Vec<f32>),
    /// Weights of labels.
    Weights(Vec<(String, f32)>),
    /// What a language model answered.
    Text(String),
}

/// Embeddings by what was wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embeddings(BTreeMap<EmbeddingWanted, Embedding>);

impl Embeddings {
    /// The embedding of a text, if it is there.
    #[must_use]
    pub fn get(&self, wanted: &EmbeddingWanted) -> Option<&Embedding> {
        self.0.get(wanted)
    }

    /// Adds an embedding.
    pub fn insert(&mut self, wanted: EmbeddingWanted, embedding: Embedding) {
        self.0.insert(wanted, embedding);
    }

    /// Reads what the host knows, as an update takes it: as often as it asked, the texts that were wanted and their
    /// embeddings.
    ///
    /// # Errors
    /// As [`Embeddings::read`].
    pub fn read_known(known: &[u8]) -> Result<Embeddings, Rejection> {
        let mut embeddings = Embeddings::default();
        let mut reader = Reader::new(known);
        while reader.remaining() > 0 {
            let wanted = read_wanted(reader.bytes()?)?;
            embeddings.0.extend(Embeddings::read(&wanted, reader.bytes()?)?.0);
        }
        Ok(embeddings)
    }

    /// Reads what the host answers to `wanted`: an embedding for each, in that order. Nothing at all is no embeddings.
    ///
    /// # Errors
    /// If it is cut short, or has more or fewer than were wanted.
    pub fn read(wanted: &[EmbeddingWanted], answer: &[u8]) -> Result<Embeddings, Rejection> {
        let mut embeddings = Embeddings::default();
        if answer.is_empty() {
            return Ok(embeddings);
        }
        let mut reader = Reader::new(answer);
        embeddings.add(wanted, &mut reader)?;
        reader.end()?;
        Ok(embeddings)
    }

    /// Adds the next answer that `answers` has, to `wanted`.
    ///
    /// # Errors
    /// As [`Embeddings::read`].
    pub fn add(&mut self, wanted: &[EmbeddingWanted], answers: &mut Reader<'_>) -> Result<(), Rejection> {
        if answers.count(2)? != wanted.len() {
            return Err(Rejection::new(Code::BadRequest, "More or fewer embeddings than texts"));
        }
        wanted.iter().try_for_each(|wanted| {
            self.insert(wanted.clone(), read_embedding(answers)?);
            Ok(())
        })
    }
}

/// Writes what is wanted.
#[must_use]
pub fn write_wanted(wanted: &[EmbeddingWanted]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.varint(wanted.len() as u64);
    for one in wanted {
        writer.text(&one.embedder);
        writer.u8(u8::from(one.is_query));
        writer.u32(one.values);
        writer.text(&one.text);
    }
    writer.finish()
}

fn read_wanted(bytes: &[u8]) -> Result<Vec<EmbeddingWanted>, Rejection> {
    let mut reader = Reader::new(bytes);
    let count = reader.count(7)?;
    let wanted = (0..count).map(|_| {
        let embedder = reader.text()?.to_owned();
        let (is_query, values) = (reader.u8()? == 1, reader.u32()?);
        Ok(EmbeddingWanted { embedder, is_query, values, text: reader.text()?.to_owned() })
    });
    let wanted = wanted.collect::<Result<_, Rejection>>()?;
    reader.end()?;
    Ok(wanted)
}

#[inline(never)]
fn read_embedding(reader: &mut Reader<'_>) -> Result<Embedding, Rejection> {
    let kind = reader.u8()?;
    let floats = |reader: &mut Reader<'_>| -> Result<Vec<f32>, Rejection> {
        let count = reader.count(4)?;
        (0..count).map(|_| reader.f32()).collect()
    };
    match kind {
        1 => floats(reader).map(Embedding::Vector),
        2 => {
            let width = reader.count(0)?;
            let values = floats(reader)?;
            if width == 0 || values.len() % width != 0 {
                return Err(Rejection::new(Code::BadRequest, "An embedding's rows are not of one length"));
            }
            Ok(Embedding::Rows(width, values))
        }
        3 => {
            let count = reader.count(5)?;
            let weights = (0..count).map(|_| Ok((reader.text()?.to_owned(), reader.f32()?)));
            weights.collect::<Result<_, Rejection>>().map(Embedding::Weights)
        }
        4 => reader.text().map(|text| Embedding::Text(text.to_owned())),
        other => Err(Rejection::new(Code::BadRequest, format!("An embedding of unknown kind {other}"))),
    }
}

/// Values of one vector that a model must give for a tensor of this type: eight for each cell of bits; 0 for weights.
#[must_use]
pub fn values_wanted(target: &TensorType) -> u32 {
    let Some(size) = target.indexed().next().and_then(|dimension| dimension.size) else { return 0 };
    let values = if target.cell == CellType::Int8 { size.saturating_mul(8) } else { size };
    values.min(limits::TENSOR_CELLS) as u32
}

/// The tensor of a text's embedding.
///
/// # Errors
/// If the embedding does not fit the type.
pub fn tensor_of(target: &Arc<TensorType>, embedding: &Embedding) -> Result<Tensor, Rejection> {
    let mut builder = builder(target);
    add(&mut builder, target, embedding, None)?;
    builder.finish()
}

/// The tensor of the embeddings of an array of texts: the numbers of the elements are labels of the dimension `elements`.
///
/// # Errors
/// If an embedding does not fit the type.
pub fn embedded_array(
    target: &Arc<TensorType>,
    elements: &str,
    embeddings: &[&Embedding],
) -> Result<Tensor, Rejection> {
    let place = target.mapped().position(|dimension| dimension.name == elements);
    let place = place.ok_or_else(|| misfit(target, &format!("it has no mapped dimension '{elements}'")))?;
    let mut builder = builder(target);
    for (number, embedding) in embeddings.iter().enumerate() {
        add(&mut builder, target, embedding, Some((place, number.to_string())))?;
    }
    builder.finish()
}

fn builder(target: &Arc<TensorType>) -> TensorBuilder {
    TensorBuilder::new(target.clone(), Code::InvalidDocument)
}

/// Adds an embedding's subspaces; `element` is the place and the label of the dimension of elements.
fn add(
    builder: &mut TensorBuilder,
    target: &TensorType,
    embedding: &Embedding,
    element: Option<(usize, String)>,
) -> Result<(), Rejection> {
    let own = target.mapped().count() - usize::from(element.is_some());
    let address = |label: Option<String>| {
        let mut address: Vec<String> = label.into_iter().collect();
        if let Some((place, number)) = &element {
            address.insert((*place).min(address.len()), number.clone());
        }
        address
    };
    match (embedding, own) {
        (Embedding::Vector(values), 0) => builder.block(address(None), cells(target, values)?),
        (Embedding::Rows(width, values), 1) => values
            .chunks(*width)
            .enumerate()
            .try_for_each(|(row, values)| builder.block(address(Some(row.to_string())), cells(target, values)?)),
        (Embedding::Weights(weights), 1) if target.indexed().next().is_none() => weights
            .iter()
            .try_for_each(|(label, weight)| builder.block(address(Some(label.clone())), vec![f64::from(*weight)])),
        (Embedding::Vector(_), _) => Err(misfit(target, "the embedder gives one vector for a text")),
        (Embedding::Rows(..), _) => Err(misfit(target, "the embedder gives a vector for each token")),
        (Embedding::Weights(_), _) => Err(misfit(target, "the embedder gives weights of labels")),
        (Embedding::Text(_), _) => Err(misfit(target, "it is a text that was generated")),
    }
}

/// The dense cells of a vector: as many as the type has, or bits of eight times as many, the first the most significant.
fn cells(target: &TensorType, values: &[f32]) -> Result<Vec<f64>, Rejection> {
    let wanted = values_wanted(target) as usize;
    let Some(values) = values.get(..wanted) else {
        let given = values.len();
        return Err(if target.cell == CellType::Int8 {
            misfit(target, &format!("Cannot pack {given} into {} int8's", wanted / 8))
        } else {
            misfit(target, &format!("the embedder gives {given} values"))
        });
    };
    if target.cell != CellType::Int8 {
        return Ok(values.iter().map(|value| f64::from(*value)).collect());
    }
    let byte = |bits: &[f32]| bits.iter().fold(0u8, |byte, value| byte << 1 | u8::from(*value > 0.0));
    Ok(values.chunks(8).map(|bits| f64::from(byte(bits) as i8)).collect())
}

fn misfit(target: &TensorType, why: &str) -> Rejection {
    Rejection::new(Code::InvalidDocument, format!("Cannot embed into {target}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dimension;

    fn target(cell: CellType, dimensions: &[(&str, Option<usize>)]) -> Arc<TensorType> {
        let dimensions = dimensions.iter().map(|(name, size)| Dimension { name: (*name).to_owned(), size: *size });
        Arc::new(TensorType::new(cell, dimensions.collect()))
    }

    #[test]
    fn vectors_are_cut_and_cast() {
        let tensor = tensor_of(&target(CellType::Float, &[("x", Some(2))]), &Embedding::Vector(vec![0.5, -1.0, 9.0]));
        assert_eq!(tensor.unwrap().cells, [0.5, -1.0]);
        let short = tensor_of(&target(CellType::Float, &[("x", Some(4))]), &Embedding::Vector(vec![0.5]));
        assert!(short.unwrap_err().message.contains("gives 1 values"));
    }

    #[test]
    fn bits_are_packed_the_first_one_highest() {
        let values = [1.0, -1.0, 0.0, 1.0, -2.0, 0.1, 0.0, 3.0, -1.0, 1.0];
        let vector = Embedding::Vector(values.to_vec());
        let tensor = tensor_of(&target(CellType::Int8, &[("x", Some(1))]), &vector).unwrap();
        assert_eq!(tensor.cells, [f64::from(0b1001_0101u8 as i8)]);
        let refused = tensor_of(&target(CellType::Int8, &[("x", Some(2))]), &vector).unwrap_err();
        assert!(refused.message.contains("Cannot pack 10 into 2 int8's"));
    }

    #[test]
    fn tokens_and_elements_are_labels() {
        let rows = Embedding::Rows(2, vec![1.0, 2.0, 3.0, 4.0]);
        let tensor = tensor_of(&target(CellType::Float, &[("t", None), ("x", Some(2))]), &rows).unwrap();
        assert_eq!(tensor.addresses, [["0"], ["1"]]);
        let both = target(CellType::Float, &[("t", None), ("p", None), ("x", Some(2))]);
        let tensor = embedded_array(&both, "p", &[&rows, &rows]).unwrap();
        // Dimensions are sorted by name: p before t.
        assert_eq!(tensor.addresses, [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]]);
        let chunks = target(CellType::Float, &[("p", None), ("x", Some(1))]);
        let vectors = [Embedding::Vector(vec![1.0]), Embedding::Vector(vec![2.0])];
        let tensor = embedded_array(&chunks, "p", &vectors.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(
            (tensor.addresses, tensor.cells),
            (vec![vec!["0".to_owned()], vec!["1".to_owned()]], vec![1.0, 2.0])
        );
    }

    #[test]
    fn weights_are_cells_of_labels_and_nothing_else_fits() {
        let weights = Embedding::Weights(vec![("b".to_owned(), 2.0), ("a".to_owned(), 1.0)]);
        let tensor = tensor_of(&target(CellType::Float, &[("w", None)]), &weights).unwrap();
        assert_eq!(
            (tensor.addresses, tensor.cells),
            (vec![vec!["a".to_owned()], vec!["b".to_owned()]], vec![1.0, 2.0])
        );
        assert!(tensor_of(&target(CellType::Float, &[("x", Some(2))]), &weights).is_err());
    }

    #[test]
    fn answers_are_read_in_the_order_of_the_wants() {
        let wanted =
            |text: &str| EmbeddingWanted { embedder: String::new(), is_query: true, values: 1, text: text.to_owned() };
        let mut writer = Writer::new();
        writer.varint(2);
        writer.u8(1);
        writer.varint(1);
        writer.f32(0.5);
        writer.u8(3);
        writer.varint(1);
        writer.text("label");
        writer.f32(2.0);
        let answer = writer.finish();
        let both = [wanted("a"), wanted("b")];
        let embeddings = Embeddings::read(&both, &answer).unwrap();
        assert_eq!(embeddings.get(&wanted("a")), Some(&Embedding::Vector(vec![0.5])));
        assert!(Embeddings::read(&both[..1], &answer).is_err());
        for length in 1..answer.len() {
            assert!(Embeddings::read(&both, &answer[..length]).is_err());
        }
        assert_eq!(Embeddings::read(&both, &[]), Ok(Embeddings::default()));
    }
}
