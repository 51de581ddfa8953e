//! Reads the text of a tensor type: `tensor<float>(a{},x[3])`.
use brooklet_task::limits::{TENSOR_CELLS, TENSOR_DIMENSIONS};
use brooklet_task::{Code, Rejection};

use super::{CellType, Dimension, TensorType};

impl TensorType {
    /// Reads a type. Spaces may stand around dimensions, nowhere else.
    ///
    /// # Errors
    /// If the text is not a tensor type (code `InvalidApplication`: types are written in schemas), if a dimension is
    /// unbound (`x[]`), or if it is larger than the limits of tensors.
    pub fn parse(text: &str) -> Result<TensorType, Rejection> {
        let body = text.strip_prefix("tensor").and_then(|rest| rest.strip_suffix(')'));
        let body = body.ok_or_else(|| malformed_type(text, ""))?;
        let (cell, dimensions) =
            body.split_once('(').ok_or_else(|| malformed_type(text, " Dimensions must be enclosed in parenthesis."))?;
        let cell = parse_cell(cell, text)?;
        let mut parsed: Vec<Dimension> = Vec::new();
        if !dimensions.trim().is_empty() {
            for dimension in dimensions.split(',') {
                let dimension = parse_dimension(dimension.trim(), text)?;
                if parsed.iter().any(|other| other.name == dimension.name) {
                    let name = &dimension.name;
                    return Err(refusal(format!("Dimension '{name}' is given more than once in '{text}'")));
                }
                parsed.push(dimension);
                if parsed.len() > TENSOR_DIMENSIONS {
                    return Err(too_large(text, &format!("more than {TENSOR_DIMENSIONS} dimensions")));
                }
            }
        }
        let tensor_type = TensorType::new(cell, parsed);
        if tensor_type.checked_dense_size().is_none() {
            return Err(too_large(text, &format!("more than {TENSOR_CELLS} cells")));
        }
        Ok(tensor_type)
    }

    /// Cells of one dense subspace, if it is not more than the limit.
    #[must_use]
    pub fn checked_dense_size(&self) -> Option<usize> {
        let mut cells = 1usize;
        for dimension in self.indexed() {
            cells = cells.checked_mul(dimension.size?)?;
        }
        (cells <= TENSOR_CELLS).then_some(cells)
    }
}

impl std::str::FromStr for TensorType {
    type Err = Rejection;

    fn from_str(text: &str) -> Result<TensorType, Rejection> {
        TensorType::parse(text)
    }
}

impl CellType {
    /// The cell type of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<CellType> {
        [CellType::Double, CellType::Float, CellType::Bfloat16, CellType::Int8]
            .into_iter()
            .find(|cell| cell.name() == name)
    }
}

fn parse_cell(spec: &str, text: &str) -> Result<CellType, Rejection> {
    if spec.is_empty() {
        return Ok(CellType::Double);
    }
    let name = spec.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let name = name.ok_or_else(|| malformed_type(text, " Value type spec must be enclosed in <>."))?;
    let cause = || malformed_type(text, " Value type must be one of double, float, bfloat16 and int8.");
    CellType::from_name(name).ok_or_else(cause)
}

fn parse_dimension(spec: &str, text: &str) -> Result<Dimension, Rejection> {
    let wrong = || malformed_type(text, &format!(" Dimension '{}' is on the wrong format.", Rejection::quote(spec)));
    let name_end = spec.find(['{', '[']).ok_or_else(wrong)?;
    let (name, kind) = spec.split_at(name_end);
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(wrong());
    }
    if kind == "{}" {
        return Ok(Dimension { name: name.to_owned(), size: None });
    }
    let digits = kind.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or_else(wrong)?;
    if digits.is_empty() {
        let message = format!("Dimension '{name}' has no size: only bound dimensions such as {name}[3] are supported");
        return Err(Rejection::new(Code::Unsupported, message));
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    match digits.parse::<i32>() {
        Ok(0) => Err(refusal(format!("Size of bound dimension '{name}' must be at least 1"))),
        Ok(size) => Ok(Dimension { name: name.to_owned(), size: Some(size as usize) }),
        Err(_) => Err(refusal(format!("For input string: \"{}\"", Rejection::quote(digits)))),
    }
}

fn refusal(message: String) -> Rejection {
    Rejection::new(Code::InvalidApplication, message)
}

fn malformed_type(text: &str, cause: &str) -> Rejection {
    let shown = Rejection::quote(text);
    refusal(format!(
        "A tensor type spec must be on the form tensor[<valuetype>]?(dimensionidentifier[{{}}|[length]*), but was \
         '{shown}'.{cause} Examples: tensor(x[3]), tensor<float>(name{{}}, x[10])"
    ))
}

fn too_large(text: &str, cause: &str) -> Rejection {
    refusal(format!("Tensor type '{}' has {cause}, which is the limit", Rejection::quote(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_printed_with_their_dimensions_sorted() {
        for (text, printed) in [
            ("tensor( x[3] )", "tensor(x[3])"),
            ("tensor<float>(x[3], a{})", "tensor<float>(a{},x[3])"),
            ("tensor<double>(X[3])", "tensor(X[3])"),
            ("tensor<bfloat16>(x{})", "tensor<bfloat16>(x{})"),
            ("tensor()", "tensor()"),
        ] {
            assert_eq!(TensorType::parse(text).unwrap().to_string(), printed);
        }
    }

    #[test]
    fn what_is_no_type_is_refused() {
        for text in [
            "double",
            "tensor",
            "tensor(x)",
            "tensor(x[3]",
            "tensor<float> (x[3])",
            "tensor<half>(x[3])",
            "tensor(x-y{})",
        ] {
            let message = TensorType::parse(text).unwrap_err().message;
            assert!(message.contains(&format!("but was '{text}'")), "{message}");
        }
        assert_eq!(TensorType::parse("tensor(x[])").unwrap_err().code, Code::Unsupported);
        for text in ["tensor(x[0])", "tensor(x[-1])", "tensor(x{},x{})", "tensor(,)", "tensor(x{}extra)", "tensor(é{})"]
        {
            assert!(TensorType::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn large_types_are_refused_without_multiplying_over() {
        assert!(TensorType::parse("tensor(x[1048576])").is_ok());
        for text in [
            "tensor(x[1048577])",
            "tensor(x[2147483647],y[2147483647],z[2147483647])",
            "tensor(x[4294967296],y[4294967296])",
            "tensor(a{},b{},c{},d{},e{},f{},g{},h{},i{})",
        ] {
            assert!(TensorType::parse(text).is_err(), "{text}");
        }
    }
}
