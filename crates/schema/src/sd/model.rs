//! `.model` files: functions that are a model by themselves, with their inputs and constants.
use super::lex::{SourceFile, Token};
use super::profile::empty;
use super::settings::{Parsed, Parser, check_count, unique};
use super::tree::{ConstantTree, InputTree, ProfileTree, ValueType};

const ELEMENTS: &[&str] = &["inputs", "constants", "constant", "function"];

/// Reads a `.model` file: what it defines, as a rank profile that ranks nothing.
///
/// # Errors
/// If it is not one model.
pub(crate) fn model_file(file: &SourceFile) -> Parsed<ProfileTree> {
    let mut parser = Parser::new(file);
    parser.newlines()?;
    let word = parser.word("'model'")?;
    if word.text != "model" {
        return Err(parser.unknown_setting(&word, "element", &["model"]));
    }
    let mut tree = empty(parser.word("the name of the model")?, Vec::new());
    parser.block(|parser| parser.model_element(&mut tree))?;
    parser.newlines()?;
    if parser.peek()? != Token::End {
        return Err(parser.lexer.expected_token("the end of the file"));
    }
    unique(tree.functions.iter().map(|function| &function.name), "function")?;
    unique(tree.inputs.iter().map(|input| &input.name), "input")?;
    unique(tree.constants.iter().map(|constant| &constant.name), "constant")?;
    check_count(tree.inputs.len(), &tree.name.place, "inputs")?;
    check_count(tree.constants.len(), &tree.name.place, "constants")?;
    Ok(tree)
}

impl Parser<'_> {
    fn model_element(&mut self, tree: &mut ProfileTree) -> Parsed<()> {
        let element = self.word("an element of a model")?;
        match element.text.as_str() {
            "inputs" => self.block(|parser| {
                let name = parser.name("the name of an input")?;
                parser.expect(':')?;
                let value_type = parser.value_type(&format!("Input {}", name.text))?;
                tree.inputs.push(InputTree { name, value_type, default: None });
                Ok(())
            }),
            "constants" => self.block(|parser| {
                tree.constants.push(parser.model_constant()?);
                Ok(())
            }),
            "constant" => {
                tree.constants.push(self.constant_block()?);
                Ok(())
            }
            "function" => self.function(tree),
            _ => Err(self.unknown_setting(&element, "element of a model", ELEMENTS)),
        }
    }

    /// `name: 0.5` or `name: tensor(x[2]): [1,2]`.
    fn model_constant(&mut self) -> Parsed<ConstantTree> {
        let name = self.name("the name of a constant")?;
        self.expect(':')?;
        let mut value_type = ValueType::Number;
        if matches!(self.peek()?, Token::Word(word) if word.starts_with("tensor")) {
            value_type = self.value_type(&format!("Constant {}", name.text))?;
            self.expect(':')?;
        }
        let value = self.literal()?;
        Ok(ConstantTree { name, value_type, value, file: None, tensor: None })
    }
}
