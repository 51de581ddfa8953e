//! Types as written to types as meant; struct types.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use brooklet_document::{DataType, StructField, StructType};
use brooklet_task::limits::FIELDS;
use brooklet_task::{Rejection, did_you_mean};

use super::outcome::Resolved;
use crate::place::SourcePlace;
use crate::schema::Schema;
use crate::sd::settings::unique;
use crate::sd::tree::{Name, SchemaTree, StructTree, TypeKind, TypeTree};

/// Structs inside structs.
const STRUCT_DEPTH_MAX: usize = 16;

const PRIMITIVES: &[(&str, DataType)] = &[
    ("string", DataType::String),
    ("int", DataType::Int),
    ("long", DataType::Long),
    ("byte", DataType::Byte),
    ("bool", DataType::Bool),
    ("float", DataType::Float),
    ("double", DataType::Double),
    ("float16", DataType::Float16),
    ("position", DataType::Position),
    ("predicate", DataType::Predicate),
    ("raw", DataType::Raw),
    ("uri", DataType::Uri),
];

/// Names no field may have. (The documentation advises against a few more, which are taken nevertheless.)
const RESERVED: &[&str] = &[
    "attribute",
    "case",
    "documentid",
    "else",
    "host",
    "if",
    "index",
    "index_url",
    "position",
    "relevancy",
    "sddocname",
    "select_input",
    "split_foreach",
    "summary",
    "switch",
    "tokenize",
];

/// The struct types a document may use.
pub(super) struct Structs<'t> {
    schema: &'t str,
    trees: Vec<&'t StructTree>,
    /// Resolved ones, and how many parts each has, at every depth.
    done: BTreeMap<String, (Arc<StructType>, usize)>,
    /// Names that several inherited documents have for structs that differ.
    conflicts: BTreeSet<String>,
    /// Objections to what is read nevertheless.
    pub(super) objections: Vec<Rejection>,
    /// Names being resolved, outermost first.
    open: Vec<String>,
}

impl<'t> Structs<'t> {
    /// Resolves all structs of a schema and its document; those of inherited documents are known, too.
    pub(super) fn resolve(tree: &'t SchemaTree, inherited: &[&Arc<Schema>]) -> Resolved<Structs<'t>> {
        let own = tree.document.iter().flat_map(|document| &document.structs).chain(&tree.structs);
        let mut structs = Structs {
            schema: &tree.name.text,
            trees: own.collect(),
            done: BTreeMap::new(),
            conflicts: BTreeSet::new(),
            objections: Vec::new(),
            open: Vec::new(),
        };
        unique(structs.trees.iter().map(|tree| &tree.name), "struct")?;
        for of in inherited.iter().flat_map(|schema| &schema.structs) {
            let entry = (of.clone(), parts(&DataType::Struct(of.clone())));
            if structs.done.insert(of.name.clone(), entry).is_some_and(|(other, _)| other != *of) {
                structs.conflicts.insert(of.name.clone());
            }
        }
        for tree in &structs.trees {
            // A struct belongs to the document that declares it: fields of an inherited one keep theirs.
            structs.done.remove(&tree.name.text);
            structs.conflicts.remove(&tree.name.text);
        }
        for tree in structs.trees.clone() {
            structs.struct_named(&tree.name)?;
        }
        Ok(structs)
    }

    pub(super) fn into_types(self) -> Vec<Arc<StructType>> {
        self.done.into_values().map(|(of, _)| of).collect()
    }

    fn struct_named(&mut self, name: &Name) -> Resolved<Option<Arc<StructType>>> {
        self.object_to_conflict(&name.text, &name.place);
        if let Some((of, _)) = self.done.get(&name.text) {
            return Ok(Some(of.clone()));
        }
        let Some(tree) = self.trees.iter().copied().find(|tree| tree.name.text == name.text) else { return Ok(None) };
        if self.open.contains(&name.text) {
            return Err(name.place.reject(format!("struct '{}' contains itself", name.text)));
        }
        if self.open.len() >= STRUCT_DEPTH_MAX {
            return Err(name.place.reject(format!("structs nest at most {STRUCT_DEPTH_MAX} levels deep")));
        }
        self.open.push(name.text.clone());
        let of = Arc::new(StructType { name: name.text.clone(), fields: self.fields(tree)? });
        self.open.pop();
        let count = parts(&DataType::Struct(of.clone()));
        if count > FIELDS {
            return Err(tree.name.place.reject(format!("a struct has at most {FIELDS} parts, at all depths")));
        }
        self.done.insert(name.text.clone(), (of.clone(), count));
        Ok(Some(of))
    }

    /// The struct of the last of the documents is meant then.
    fn object_to_conflict(&mut self, name: &str, place: &SourcePlace) {
        if self.conflicts.remove(name) {
            let message = format!("conflicting values for struct {name} in document '{}'", self.schema);
            self.objections.push(place.reject(message));
        }
    }

    fn fields(&mut self, tree: &StructTree) -> Resolved<Vec<StructField>> {
        let mut fields: Vec<StructField> = Vec::new();
        for parent in &tree.inherits {
            let Some(of) = self.struct_named(parent)? else {
                let hint = self.hint(&parent.text);
                let message =
                    format!("struct '{}' inherits '{}', but this is not found{hint}", tree.name.text, parent.text);
                return Err(parent.place.reject(message));
            };
            fields.extend(of.fields.iter().cloned());
        }
        for field in &tree.fields {
            legal_name(&field.name, self.schema)?;
            if fields.iter().any(|other| other.name == field.name.text) {
                return Err(field.name.place.reject(format!("field '{}' is inherited already", field.name.text)));
            }
            fields.push(StructField { name: field.name.text.clone(), data_type: self.data_type(&field.data_type)? });
        }
        Ok(fields)
    }

    fn hint(&self, name: &str) -> String {
        let primitives = PRIMITIVES.iter().map(|(primitive, _)| *primitive);
        let structs = self.trees.iter().map(|tree| tree.name.text.as_str()).chain(self.done.keys().map(String::as_str));
        did_you_mean(name, primitives.chain(["array", "weightedset", "map", "tensor", "tag"]).chain(structs))
    }

    /// The type a tree means.
    pub(super) fn data_type(&mut self, tree: &TypeTree) -> Resolved<DataType> {
        Ok(match &tree.kind {
            TypeKind::Named(name) => self.named_type(name, &tree.place)?,
            TypeKind::Tensor(tensor) => DataType::Tensor(Arc::new(tensor.clone())),
            TypeKind::Reference(name) => DataType::Reference(name.clone()),
            TypeKind::Array(element) => match self.data_type(element)? {
                tensor @ DataType::Tensor(_) => {
                    return Err(tree
                        .place
                        .reject(format!("an array of {tensor} is not possible: add a mapped dimension")));
                }
                element => DataType::Array(Arc::new(element)),
            },
            TypeKind::WeightedSet(element) => {
                let element = self.data_type(element)?;
                if !matches!(
                    element,
                    DataType::String | DataType::Uri | DataType::Int | DataType::Long | DataType::Byte
                ) {
                    return Err(tree.place.reject(format!(
                        "weightedset of type '{element}' is not supported, only of string, uri, int, long and byte"
                    )));
                }
                weighted_set(element, false)
            }
            TypeKind::Map(key, value) => {
                let key = self.data_type(key)?;
                if !(key.is_numeric() || matches!(key, DataType::String | DataType::Bool)) {
                    return Err(tree.place.reject(format!("a map with keys of type '{key}' is not supported")));
                }
                DataType::Map(Arc::new(key), Arc::new(self.data_type(value)?))
            }
        })
    }

    fn named_type(&mut self, name: &str, place: &SourcePlace) -> Resolved<DataType> {
        if let Some((_, primitive)) = PRIMITIVES.iter().find(|(primitive, _)| *primitive == name) {
            return Ok(primitive.clone());
        }
        if name == "tag" {
            return Ok(weighted_set(DataType::String, true));
        }
        if let Some(of) = self.struct_named(&Name { text: name.to_owned(), place: place.clone() })? {
            return Ok(DataType::Struct(of));
        }
        let hint =
            if name == "tensor" { "; a tensor has dimensions: tensor(x[3])".to_owned() } else { self.hint(name) };
        let name = Rejection::quote(name);
        Err(place.reject(format!("unknown type named '{name}' in context document '{}'{hint}", self.schema)))
    }
}

fn weighted_set(element: DataType, counting: bool) -> DataType {
    DataType::WeightedSet { element: Arc::new(element), create_if_nonexistent: counting, remove_if_zero: counting }
}

/// Number of parts of a type, at all depths; a number past the limit when there are more than the limit.
fn parts(of: &DataType) -> usize {
    match of {
        DataType::Array(element) => parts(element),
        DataType::Map(key, value) => 2 + parts(key) + parts(value),
        DataType::Struct(of) => {
            let mut count = 0usize;
            for field in &of.fields {
                count += 1 + parts(&field.data_type);
                if count > FIELDS {
                    break;
                }
            }
            count
        }
        _ => 0,
    }
}

/// Refuses names that fields cannot have.
pub(super) fn legal_name(name: &Name, schema: &str) -> Resolved<()> {
    let (first, text) = (name.text.chars().next(), &name.text);
    if RESERVED.contains(&text.to_lowercase().as_str()) {
        return Err(name.place.reject(format!("Reserved name '{text}' cannot be used as a field name.")));
    }
    let legal =
        first.is_some_and(|c| c.is_ascii_alphabetic()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !legal {
        let shown = Rejection::quote(text);
        let message =
            format!("For schema '{schema}', field '{shown}':  Not a legal field name. Legal expression: [a-zA-Z]\\w*");
        return Err(name.place.reject(message));
    }
    Ok(())
}
