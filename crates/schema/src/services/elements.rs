//! What each element of services.xml may hold: looked up in the tables, and what stands there twice, or is text.
use std::collections::BTreeSet;

use brooklet_task::{Rejection, did_you_mean};
use roxmltree::Node;

use super::tables::{self, Entry, Treatment};
use super::xml::{self, XmlFile, name};
use crate::remarks::Remarks;

/// Elements that may stand several times in another; those with an id have one of their own.
const REPEATED: &[&str] = &[
    "container",
    "content",
    "config",
    "component",
    "components",
    "handler",
    "server",
    "accesslog",
    "binding",
    "chain",
    "provider",
    "searcher",
    "renderer",
    "include",
    "document",
    "documentprocessor",
    "model",
    "node",
];

pub(super) type Read<T> = Result<T, Rejection>;

/// The elements of a file, and what is said of them.
pub(super) struct Elements<'f, 'a> {
    pub(super) file: &'f XmlFile<'a>,
    pub(super) remarks: Remarks,
}

impl<'f, 'a> Elements<'f, 'a> {
    /// The children to be read; the others are ignored, warned about or refused as the table says. Attributes too.
    pub(super) fn children(&mut self, node: Node<'f, 'a>, context: &str, table: &[Entry]) -> Read<Vec<Node<'f, 'a>>> {
        self.attributes(node, context)?;
        self.texts(node, context);
        let (mut read, mut seen) = (Vec::new(), BTreeSet::new());
        for child in node.children().filter(Node::is_element).filter(|child| is_ours(*child)) {
            let Some(entry) = table.iter().find(|entry| entry.name == name(child)) else {
                let hint = did_you_mean(name(child), table.iter().map(|entry| entry.name));
                let (shown, place) = (Rejection::quote(name(child)), self.file.place(child));
                return Err(place.reject(format!("unknown element <{shown}> in <{context}>{hint}")));
            };
            let id = child.attribute("id");
            let may_repeat = REPEATED.contains(&entry.name);
            if !(may_repeat && id.is_none() || seen.insert((entry.name, id.filter(|_| may_repeat)))) {
                let message = format!("<{}> stands twice in <{context}>", entry.name);
                self.object(child, message + if may_repeat { ", with the same id" } else { "" });
            }
            match entry.treatment {
                Treatment::Stray => self.object(child, format!("unknown element <{}> in <{context}>", entry.name)),
                Treatment::Read => read.push(child),
                Treatment::Ignore => {}
                Treatment::Warn(why) => self.ignore(child, why),
                Treatment::Refuse => {
                    let what = child
                        .attribute("id")
                        .or(child.attribute("type"))
                        .map_or(String::new(), |id| format!(" ('{}')", Rejection::quote(id)));
                    return Err(self
                        .file
                        .place(child)
                        .unsupported_here(format!("<{}>{what} in <{context}>", entry.name)));
                }
            }
        }
        Ok(read)
    }

    /// Warns of an element that is passed over.
    pub(super) fn ignore(&mut self, node: Node<'f, 'a>, why: &str) {
        let place = self.file.place(node);
        self.remarks.warn(format!("{place}: <{}> is ignored: {why}", name(node)));
    }

    fn attributes(&mut self, node: Node<'f, 'a>, context: &str) -> Read<()> {
        let known =
            tables::ATTRIBUTES.iter().find(|(element, _)| *element == context).map_or(&[][..], |(_, known)| known);
        for attribute in node.attributes().filter(|attribute| attribute.namespace().is_none()) {
            if tables::STRAY_ATTRIBUTES.contains(&(context, attribute.name())) {
                self.object(node, format!("unknown attribute '{}' of <{context}>", attribute.name()));
            } else if !known.contains(&attribute.name()) {
                let hint = did_you_mean(attribute.name(), known.iter().copied());
                let shown = Rejection::quote(attribute.name());
                return Err(self.file.place(node).reject(format!("unknown attribute '{shown}' of <{context}>{hint}")));
            }
        }
        Ok(())
    }

    /// Objects to the attributes of `<redundancy>` and `<min-redundancy>`, but for one that has no counterpart here.
    pub(super) fn attributes_of_copies(&mut self, node: Node<'f, 'a>) {
        let context = node.tag_name().name();
        for attribute in node.attributes().filter(|attribute| attribute.namespace().is_none()) {
            let is_whole = attribute.value().trim().parse::<i64>().is_ok();
            if (context, attribute.name(), is_whole) != ("redundancy", "reply-after", true) {
                let shown = Rejection::quote(attribute.name());
                self.object(node, format!("unknown attribute '{shown}' of <{context}>"));
            }
        }
    }

    /// An objection to an element.
    pub(super) fn object(&mut self, node: Node<'f, 'a>, message: impl std::fmt::Display) {
        self.remarks.object(self.file.place(node).reject(message));
    }

    /// Objects to text where elements are expected.
    fn texts(&mut self, node: Node<'f, 'a>, context: &str) {
        let is_text = |child: &Node<'_, '_>| {
            child.is_text() && child.text().is_some_and(|text| !text.trim_matches([' ', '\t', '\r', '\n']).is_empty())
        };
        if let Some(text) = node.children().find(is_text) {
            self.object(text, format!("text is not allowed in <{context}>"));
        }
    }

    /// `<nodes>`: on which machines a cluster runs, which has no counterpart; each names its `required` attributes.
    pub(super) fn nodes(&mut self, node: Node<'f, 'a>, required: &[&str]) {
        let children = self.children(node, "nodes", tables::NODES);
        for child in children.unwrap_or_else(|objection| {
            self.remarks.object(objection);
            Vec::new()
        }) {
            let known = self.attributes(child, "node");
            let missing = required.iter().map(|attribute| self.file.required_attribute(child, attribute).map(|_| ()));
            self.remarks.objections.extend(missing.chain([known]).filter_map(Result::err));
            let key = child.attribute("distribution-key").map(|key| key.trim().parse::<u32>());
            if key.is_some_and(|key| !key.is_ok_and(|key| key <= DISTRIBUTION_KEY_MAX)) {
                self.object(child, format!("distribution-key is a whole number up to {DISTRIBUTION_KEY_MAX}"));
            }
        }
    }

    /// The ids of clusters are XML names, and all different.
    pub(super) fn cluster_ids(&mut self, clusters: &[Node<'f, 'a>]) {
        let mut seen = BTreeSet::new();
        for cluster in clusters {
            let id = cluster.attribute("id").unwrap_or(name(*cluster));
            let shown = Rejection::quote(id);
            let others = |c: char| c.is_alphanumeric() || "_-.".contains(c);
            if !id.starts_with(|c: char| c.is_alphabetic() || c == '_') || !id.chars().all(others) {
                self.object(*cluster, format!("the id '{shown}' is no XML name"));
            }
            if !seen.insert(id) {
                self.object(*cluster, format!("two clusters have the id '{shown}'"));
            }
        }
    }
}

/// The largest number of a node in its cluster.
const DISTRIBUTION_KEY_MAX: u32 = 65_534;

/// Whether an element is for this installation: variants for other environments are left out.
pub(super) fn is_ours(node: Node<'_, '_>) -> bool {
    let matches = |attribute: &str, ours: &str| match node.attribute((xml::DEPLOY, attribute)) {
        Some(names) => names.split([' ', ',']).any(|name| name == ours),
        None => true,
    };
    matches("environment", "prod") && matches("region", "default") && matches("instance", "default")
}
