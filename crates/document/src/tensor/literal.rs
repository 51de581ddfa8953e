//! The text form of tensors: `tensor<float>(k{},x[2]):{a:[1.0, 2.0]}`, as in query inputs and constants.
use std::sync::Arc;

use brooklet_task::limits::{QUERY_TENSOR_CELLS, TENSOR_DIMENSIONS};
use brooklet_task::{Code, Rejection};
use memchr::memchr2;

use super::build::Labels;
use super::hex::parse_hex;
use super::{CellType, Dimension, Tensor, TensorBuilder, TensorType};
use crate::json::{parse_double, print_double, print_float};

mod print;

/// Reads a tensor in text form. Without `expected` the text must begin with its type, or be the form whose cells name
/// their dimensions, or a number. What is refused gets `code`; a query input may have [`QUERY_TENSOR_CELLS`] cells.
///
/// # Errors
/// If the text is no tensor, or one of another type than `expected`.
pub fn parse_literal(text: &str, expected: Option<&Arc<TensorType>>, code: Code) -> Result<Tensor, Rejection> {
    let text = text.trim();
    let parsed = split_type(text, expected).and_then(|(tensor_type, value)| match tensor_type {
        Some(tensor_type) => parse_value(value, tensor_type, code),
        None => parse_untyped(value, code),
    });
    parsed.map_err(|mut rejection| {
        rejection.code = code;
        let of_type = expected.map_or(String::new(), |expected| format!(" of type {expected}"));
        rejection.within(&format!("Could not parse '{}' as a tensor{of_type}", Rejection::quote(text)))
    })
}

/// The cell that a text stands for: a number as Java writes it, or a word for what is no finite number, in any case.
#[must_use]
pub fn parse_cell(text: &str) -> Option<f64> {
    let text = text.trim();
    let (negative, word) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match word {
        _ if word.eq_ignore_ascii_case("inf") || word.eq_ignore_ascii_case("infinity") => f64::INFINITY,
        _ if word.eq_ignore_ascii_case("nan") => f64::NAN,
        _ => return parse_double(text),
    };
    Some(if negative { -value } else { value })
}

type Typed<'a> = (Option<Arc<TensorType>>, &'a str);

/// Takes the type off the front of the text, if it stands there.
fn split_type<'a>(text: &'a str, expected: Option<&Arc<TensorType>>) -> Result<Typed<'a>, Rejection> {
    if !text.starts_with("tensor") {
        return Ok((expected.cloned(), text));
    }
    let (spec, value) = text.split_once(':').unwrap_or((text, ""));
    let tensor_type = Arc::new(TensorType::parse(spec.trim())?);
    match expected {
        Some(expected) if *expected != tensor_type => {
            let message = format!("Got tensor with type string '{spec}', but was passed type {expected}");
            Err(Rejection::new(Code::BadRequest, message))
        }
        _ => Ok((Some(tensor_type), value.trim())),
    }
}

/// The form `{{x:a,y:b}:1.0, …}`, whose first cell tells the dimensions, or a plain number.
fn parse_untyped(value: &str, code: Code) -> Result<Tensor, Rejection> {
    if value.starts_with('[') {
        let message = "The dense tensor form requires an explicit tensor type on the form 'tensor(dimensions):...";
        return Err(Rejection::new(code, message));
    }
    let mut names = Vec::new();
    if value.starts_with('{') {
        let mut scan = Scanner { text: value, at: 1, code };
        if scan.take("{") {
            while !scan.take("}") {
                names.push(scan.label()?);
                scan.need(":")?;
                scan.label()?;
                scan.take(",");
                if names.len() > TENSOR_DIMENSIONS {
                    return Err(scan.refuse(&format!("more than {TENSOR_DIMENSIONS} dimensions")));
                }
            }
        } else if !scan.take("}") {
            return Err(scan.refuse("a cell address such as {x:a} is expected"));
        }
    }
    let dimensions = names.into_iter().map(|name| Dimension { name, size: None }).collect();
    parse_value(value, Arc::new(TensorType::new(CellType::Double, dimensions)), code)
}

fn parse_value(value: &str, tensor_type: Arc<TensorType>, code: Code) -> Result<Tensor, Rejection> {
    let mut scan = Scanner { text: value, at: 0, code };
    let mut builder = TensorBuilder::new(tensor_type, code).at_most(QUERY_TENSOR_CELLS);
    if builder.dense_size() > QUERY_TENSOR_CELLS {
        return Err(scan.refuse(&format!("a tensor given as text may have {QUERY_TENSOR_CELLS} cells")));
    }
    let mapped = builder.tensor_type().mapped().count();
    if scan.peek() == Some('{') {
        scan.entries(&mut builder, &mut Vec::new())?;
    } else if mapped == 0 {
        let cells = scan.dense(&builder)?;
        builder.block(Vec::new(), cells)?;
    } else {
        return Err(scan.refuse("'{' is expected"));
    }
    match scan.peek() {
        None => builder.finish(),
        Some(_) => Err(scan.refuse("the end is expected")),
    }
}

/// Reads the value part from front to back; space may stand everywhere between its signs.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    code: Code,
}

impl<'t> Scanner<'t> {
    fn refuse(&self, cause: &str) -> Rejection {
        Rejection::at(self.code, format!("At value position {}: {cause}", self.at), self.text, self.at)
    }

    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed.chars().next()
    }

    fn take(&mut self, sign: &str) -> bool {
        self.peek();
        let found = self.text[self.at..].starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn need(&mut self, sign: &str) -> Result<(), Rejection> {
        if self.take(sign) { Ok(()) } else { Err(self.refuse(&format!("'{sign}' is expected"))) }
    }

    /// The text up to the next of `stops`, which are ASCII.
    fn until(&mut self, stops: &[u8]) -> &'t str {
        self.peek();
        let rest = &self.text[self.at..];
        let found = match stops {
            // What vectors of digits end with.
            [first, second] => memchr2(*first, *second, rest.as_bytes()),
            _ => rest.bytes().position(|byte| stops.contains(&byte)),
        };
        let word = &rest[..found.unwrap_or(rest.len())];
        self.at += word.len();
        word.trim_end()
    }

    /// A label or the name of a dimension: in quotes of either kind, or bare up to the next sign.
    fn label(&mut self) -> Result<String, Rejection> {
        let Some(quote @ ('\'' | '"')) = self.peek() else {
            return Ok(self.until(b":,{}[]").to_owned());
        };
        let start = self.at + 1;
        let length = self.text[start..].find(quote).ok_or_else(|| self.refuse("a label has no closing quote"))?;
        self.at = start + length + 1;
        Ok(self.text[start..start + length].to_owned())
    }

    fn number(&mut self) -> Result<f64, Rejection> {
        let start = self.at;
        let word = self.until(b",}]").to_owned();
        parse_cell(&word).ok_or_else(|| {
            self.at = start;
            self.refuse(&format!("'{}' is not a number", Rejection::quote(&word)))
        })
    }

    /// `{…}`: cells with full addresses, or labels of the next mapped dimension with what belongs to them. `outer` are
    /// the labels of the mapped dimensions around.
    fn entries(&mut self, builder: &mut TensorBuilder, outer: &mut Vec<String>) -> Result<(), Rejection> {
        self.need("{")?;
        if self.take("}") {
            return Ok(());
        }
        loop {
            if outer.is_empty() && self.peek() == Some('{') {
                let labels = self.address(builder)?;
                self.need(":")?;
                let value = self.number()?;
                builder.cell(labels, value)?;
            } else if builder.tensor_type().dimensions.is_empty() {
                let value = self.number()?;
                builder.cell(Vec::new(), value)?;
            } else {
                self.read_labelled(builder, outer)?;
            }
            if self.take("}") {
                return Ok(());
            }
            self.need(",")?;
        }
    }

    /// `{x:a,y:0}`
    fn address(&mut self, builder: &TensorBuilder) -> Result<Labels, Rejection> {
        let tensor_type = builder.tensor_type();
        let mut labels: Labels = vec![None; tensor_type.dimensions.len()];
        self.need("{")?;
        while !self.take("}") {
            let name = self.label()?;
            let place = tensor_type.dimensions.iter().position(|dimension| dimension.name == name);
            let place = place.ok_or_else(|| {
                self.refuse(&format!("{tensor_type} does not contain dimension '{}'", Rejection::quote(&name)))
            })?;
            self.need(":")?;
            if labels[place].replace(self.label()?).is_some() {
                return Err(self.refuse(&format!("Dimension '{name}' is given more than once")));
            }
            if !self.take(",") && self.peek() != Some('}') {
                return Err(self.refuse("',' or '}' is expected"));
            }
        }
        Ok(labels)
    }

    /// `label:` and a number, dense cells, or the labels of the next dimension.
    fn read_labelled(&mut self, builder: &mut TensorBuilder, outer: &mut Vec<String>) -> Result<(), Rejection> {
        let label = self.label()?;
        self.need(":")?;
        let tensor_type = builder.tensor_type();
        let mapped = tensor_type.mapped().count();
        if mapped == 0 {
            if tensor_type.dimensions.len() > 1 {
                return Err(self.refuse(&format!("a cell address is expected for {tensor_type}")));
            }
            let value = self.number()?;
            return builder.cell(vec![Some(label)], value);
        }
        outer.push(label);
        if outer.len() < mapped {
            self.entries(builder, outer)?;
        } else if tensor_type.indexed().next().is_none() {
            let value = self.number()?;
            builder.cell(outer.iter().cloned().map(Some).collect(), value)?;
        } else {
            let cells = self.dense(builder)?;
            builder.block(outer.clone(), cells)?;
        }
        outer.pop();
        Ok(())
    }

    /// The cells of one dense subspace: a list, nested or not, or hexadecimal digits; a number if there is only one.
    fn dense(&mut self, builder: &TensorBuilder) -> Result<Vec<f64>, Rejection> {
        if self.peek() != Some('[') {
            let word = self.until(b",}");
            if builder.tensor_type().dimensions.is_empty()
                && let Some(value) = parse_cell(word)
            {
                return Ok(vec![value]);
            }
            return parse_hex(word, builder);
        }
        let mut cells = Vec::new();
        let mut depth = 0;
        loop {
            while self.take("[") {
                depth += 1;
            }
            if self.peek() != Some(']') {
                cells.push(self.number()?);
                if cells.len() > builder.dense_size() {
                    return Err(self.refuse(&format!("Expected {} values, but got more", builder.dense_size())));
                }
            }
            while depth > 0 && self.take("]") {
                depth -= 1;
            }
            if depth == 0 {
                return Ok(cells);
            }
            self.need(",")?;
        }
    }
}

#[cfg(test)]
mod tests;
