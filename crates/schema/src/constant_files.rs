//! Constants that stand in files: `constant NAME { file: constants/name.json  type: tensor… }`.
//!
//! A file holds the tensor as JSON, in any of the forms documents and queries know (cells, blocks, values), and may be
//! packed as an LZ4 frame (`.lz4`).
use std::borrow::Cow;
use std::sync::Arc;

use brooklet_document::json::{Lexer, TensorSource, read_tensor};
use brooklet_task::limits::CONSTANT_BYTES;
use brooklet_task::{Code, Rejection};

use crate::lz4::{self, Lz4Error};
use crate::package::Package;
use crate::sd::tree::{ConstantTree, SchemaTree, ValueType};

/// Reads the files that constants of the schema and of its profiles name.
///
/// # Errors
/// If a file is missing, too long, or holds no tensor of the constant's type.
pub(crate) fn insert(tree: &mut SchemaTree, package: &Package<'_>) -> Result<(), Rejection> {
    let of_profiles = tree.profiles.iter_mut().flat_map(|profile| &mut profile.constants);
    for constant in tree.constants.iter_mut().chain(of_profiles) {
        if let Some(path) = constant.file.clone() {
            read(constant, &path, package)?;
        }
    }
    Ok(())
}

#[inline(never)]
pub(crate) fn read(constant: &mut ConstantTree, path: &str, package: &Package<'_>) -> Result<(), Rejection> {
    let place = constant.name.place.clone();
    let path = path.strip_prefix("./").unwrap_or(path);
    let ValueType::Tensor(of) = &constant.value_type else {
        return Err(place.reject(format!("constant '{}' from a file must have a tensor type", constant.name.text)));
    };
    let Some(content) = package.files.get(path) else {
        return Err(place.reject(format!("there is no file {}", Rejection::quote(path))));
    };
    let name = path.strip_suffix(".lz4").unwrap_or(path);
    if !name.ends_with(".json") {
        return Err(place
            .unsupported_here(format!("{}: a constant file that is not .json or .json.lz4", Rejection::quote(path))));
    }
    let bytes = unpack(path, content).map_err(|message| place.reject(message))?;
    let mut json = Lexer::from_bytes(&bytes, Code::InvalidApplication)
        .map_err(|rejection| place.reject(format!("{path}: {}", rejection.message)))?;
    let tensor = read_tensor(&Arc::new(of.clone()), &mut json, TensorSource::Document).and_then(|tensor| {
        json.end()?;
        Ok(tensor)
    });
    let tensor = tensor.map_err(|rejection| match rejection.span {
        Some(span) => place.reject(format!("{path}:{}:{}: {}", span.line, span.column, rejection.message)),
        None => place.reject(format!("{path}: {}", rejection.message)),
    })?;
    constant.tensor = Some(Arc::new(tensor));
    Ok(())
}

fn unpack<'c>(path: &str, content: &'c [u8]) -> Result<Cow<'c, [u8]>, String> {
    let too_large = || format!("{path}: a constant file may have {CONSTANT_BYTES} bytes");
    if !path.ends_with(".lz4") {
        return if content.len() > CONSTANT_BYTES { Err(too_large()) } else { Ok(Cow::Borrowed(content)) };
    }
    match lz4::decode(content, CONSTANT_BYTES) {
        Ok(bytes) => Ok(Cow::Owned(bytes)),
        Err(Lz4Error::TooLarge) => Err(too_large()),
        Err(Lz4Error::Malformed) => Err(format!("{path}: the file is no LZ4 frame, or cut short")),
    }
}
