//! XML files, read without trust: no DTD, no entities but the five, no inclusion, limited size and depth.
use std::sync::Arc;

use brooklet_task::limits::{XML_BYTES, XML_DEPTH};
use brooklet_task::{Code, Rejection, Span};
use roxmltree::{Document, Error, Node, ParsingOptions};

use crate::place::SourcePlace;

/// Elements, attributes, texts and comments of one file.
const NODES_MAX: u32 = 100_000;

/// Attributes of one element.
const ATTRIBUTES_MAX: usize = 500;

/// Namespace of variants of an element for one environment.
pub(super) const DEPLOY: &str = "vespa";
const PREPROCESS: &str = "properties";
const XINCLUDE: &str = "http://www.w3.org/2001/XInclude";

/// An XML file of the package.
pub(crate) struct XmlFile<'a> {
    path: Arc<str>,
    document: Document<'a>,
}

impl<'a> XmlFile<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is not well-formed, has a DTD or an inclusion, or exceeds a limit.
    pub(crate) fn parse(path: &str, text: &'a str) -> Result<XmlFile<'a>, Rejection> {
        let path: Arc<str> = path.into();
        let start = SourcePlace { file: path.clone(), span: Span { offset: 0, line: 1, column: 1 } };
        if text.len() > XML_BYTES {
            return Err(start.reject(format!("an XML file has at most {XML_BYTES} bytes")));
        }
        // The parser compares each attribute of an element with all others.
        let attributes = |tag: &str| tag.matches("=\"").count() + tag.matches("='").count();
        if text.split('>').any(|tag| attributes(tag) > ATTRIBUTES_MAX) {
            return Err(start.reject(format!("an element has at most {ATTRIBUTES_MAX} attributes")));
        }
        let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options).map_err(|error| refusal(&path, text, &error))?;
        let file = XmlFile { path, document };
        file.check()?;
        Ok(file)
    }

    fn check(&self) -> Result<(), Rejection> {
        // Depth by one walk over the tree: each node's parent was seen before it.
        let mut depths = std::collections::BTreeMap::new();
        for node in self.document.descendants().filter(Node::is_element) {
            let depth =
                node.parent_element().and_then(|parent| depths.get(&parent.id().get()).copied()).unwrap_or(0) + 1;
            if depth > XML_DEPTH {
                return Err(self.place(node).reject(format!("elements nest at most {XML_DEPTH} levels deep")));
            }
            depths.insert(node.id().get(), depth);
            match node.tag_name().namespace() {
                Some(XINCLUDE) => {
                    return Err(self.place(node).reject("inclusion of other files (XInclude) is not allowed"));
                }
                Some(PREPROCESS) => return Err(self.place(node).unsupported_here(format!("<{}>", name(node)))),
                _ => {}
            }
        }
        Ok(())
    }

    /// The outermost element.
    pub(crate) fn root(&self) -> Node<'_, 'a> {
        self.document.root_element()
    }

    /// Where an element begins.
    pub(crate) fn place(&self, node: Node<'_, '_>) -> SourcePlace {
        let offset = node.range().start;
        let position = self.document.text_pos_at(offset);
        SourcePlace { file: self.path.clone(), span: Span { offset, line: position.row, column: position.col } }
    }

    /// The element's attribute.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn required_attribute<'n>(&self, node: Node<'n, '_>, attribute: &str) -> Result<&'n str, Rejection> {
        node.attribute(attribute)
            .ok_or_else(|| self.place(node).reject(format!("<{}> needs the attribute '{attribute}'", name(node))))
    }
}

/// Name of an element as written, without its prefix.
pub(super) fn name<'n>(node: Node<'n, '_>) -> &'n str {
    node.tag_name().name()
}

/// The text directly inside an element, trimmed.
pub(crate) fn text<'n>(node: Node<'n, '_>) -> &'n str {
    node.text().unwrap_or("").trim()
}

#[inline(never)]
fn refusal(path: &Arc<str>, text: &str, error: &Error) -> Rejection {
    let position = error.pos();
    let line = text.split_inclusive('\n').take(position.row as usize - 1).map(str::len).sum::<usize>();
    let rest = text.get(line..).unwrap_or("");
    let offset = line + rest.char_indices().nth(position.col as usize - 1).map_or(rest.len(), |(offset, _)| offset);
    let span = Span { offset, line: position.row, column: position.col };
    let message = match error {
        Error::DtdDetected => "DTD not allowed".to_owned(),
        Error::NodesLimitReached => format!("an XML file has at most {NODES_MAX} elements, attributes and texts"),
        // The parser's sentence ends with the position, which stands in front already.
        other => other.to_string().rsplit_once(" at ").map_or_else(|| other.to_string(), |(cause, _)| cause.to_owned()),
    };
    let place = SourcePlace { file: path.clone(), span };
    Rejection { code: Code::InvalidApplication, message: format!("{place}: {message}"), span: Some(span) }
}
