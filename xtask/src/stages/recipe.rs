//! What the stages are made of, and the recipe that says it to who loads them.

use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use wasm_encoder::{CustomSection, Section};

/// The signature at the end of the whole, which the recipe has too.
const SIGNATURE: &str = "stages";

/// A piece of a stage.
pub enum Piece {
    Made(Vec<u8>),
    /// Of the whole.
    Copied(Range<usize>),
}

impl Piece {
    pub fn len(&self) -> usize {
        match self {
            Self::Made(bytes) => bytes.len(),
            Self::Copied(range) => range.len(),
        }
    }
}

/// `module` with a signature at its end: a recipe is of one module.
pub fn signed(module: &[u8]) -> Vec<u8> {
    let mut hasher = DefaultHasher::new();
    hasher.write(module);
    let mut signed = module.to_vec();
    let section = CustomSection { name: SIGNATURE.into(), data: hasher.finish().to_le_bytes().to_vec().into() };
    section.append_to(&mut signed);
    signed
}

/// How they are made, and where the table of functions has what they share.
pub struct Stages {
    pub start: Vec<Piece>,
    pub more: Vec<Piece>,
    pub rest: Vec<Piece>,
    /// A module that makes of a function of the host one that a table can have.
    pub loader: Vec<Piece>,
    /// What the memory of the start has at the beginning.
    pub data: Vec<Data>,
    /// The table of functions.
    pub table: u32,
    pub slots: Slots,
    /// How many functions the second stage imports, and the rest.
    pub imports: [u32; 2],
}

/// Bytes of the whole that belong into a memory before anything is called.
pub struct Data {
    pub address: u32,
    pub range: Range<usize>,
}

/// Slots of the table that the whole does not have, in this order.
pub struct Slots {
    /// The functions that load the later stages.
    pub load: u32,
    /// Those that later stages import, imported ones of the start first.
    pub functions: u32,
    /// Others that the start has doors to.
    pub doors: u32,
    pub end: u32,
}

impl Stages {
    /// The start, the second stage and the rest.
    pub fn modules(&self, whole: &[u8]) -> Result<[Vec<u8>; 3], String> {
        Ok([made(&self.start, whole)?, made(&self.more, whole)?, made(&self.rest, whole)?])
    }

    /// The recipe: the signature of the whole; the number of the table of functions, its slots of the first function that loads a stage
    /// and of the first that stages import, and how many these are for the second stage and for the rest; then of the three stages and the
    /// loader how many bytes they have, how many pieces, and of each piece whether it is of the whole (1) or of the recipe (0), where it
    /// begins and how many bytes it has; then how many data there are, and of each its address, where it begins in the whole and how many
    /// bytes it has; then the bytes of the recipe. Numbers have four bytes, the lowest first.
    pub fn recipe(&self, whole: &[u8]) -> Result<Vec<u8>, String> {
        let number = |value: usize| u32::try_from(value).map_err(|_| "the core is too large".to_string());
        let modules = [&self.start, &self.more, &self.rest, &self.loader];
        let count: usize = modules.iter().map(|pieces| pieces.len()).sum();
        let mut bytes = Vec::new();
        let mut head = vec![self.table, self.slots.load, self.slots.functions];
        head.extend(self.imports);
        let head_bytes = 8 + 4 * (head.len() + 2 * modules.len() + 3 * count + 1 + 3 * self.data.len());
        for pieces in modules {
            head.extend([number(pieces.iter().map(Piece::len).sum())?, number(pieces.len())?]);
            for piece in pieces {
                let (is_copied, begin) = match piece {
                    Piece::Copied(range) => (1, range.start),
                    Piece::Made(_) => (0, head_bytes + bytes.len()),
                };
                head.extend([is_copied, number(begin)?, number(piece.len())?]);
                if let Piece::Made(made) = piece {
                    bytes.extend_from_slice(made);
                }
            }
        }
        head.push(number(self.data.len())?);
        for Data { address, range } in &self.data {
            head.extend([*address, number(range.start)?, number(range.len())?]);
        }
        let signature = whole.len().checked_sub(8).and_then(|begin| whole.get(begin..)).ok_or("no signature")?;
        let mut recipe = signature.to_vec();
        recipe.extend(head.iter().flat_map(|value| value.to_le_bytes()));
        recipe.extend(bytes);
        Ok(recipe)
    }
}

fn made(pieces: &[Piece], whole: &[u8]) -> Result<Vec<u8>, String> {
    let mut module = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Made(bytes) => module.extend_from_slice(bytes),
            Piece::Copied(range) => {
                module.extend_from_slice(whole.get(range.clone()).ok_or("a piece is not of the core")?)
            }
        }
    }
    Ok(module)
}
