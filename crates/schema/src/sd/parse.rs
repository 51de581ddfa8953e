//! The outer elements of a schema file: schema, document, struct, fieldset.
use brooklet_task::limits::FIELDS;

use super::lex::{SourceFile, Token};
use super::onnx_model::unique_models;
use super::settings::{Parsed, Parser, check_count, duplicate, unique};
use super::tree::{DocumentTree, FieldBody, FieldSetTree, FieldTree, Name, ProfileTree, SchemaTree, StructTree};
use crate::remarks::Remarks;

const SCHEMA_ELEMENTS: &[&str] = &[
    "document",
    "field",
    "fieldset",
    "rank-profile",
    "constant",
    "onnx-model",
    "document-summary",
    "import",
    "stemming",
    "raw-as-base64-in-summary",
    "documentid",
    "index",
    "struct",
    "annotation",
    "linguistics",
];

/// Reads a `.sd` file.
///
/// # Errors
/// If it is not one schema or one document.
pub(crate) fn schema_file(file: &SourceFile) -> Parsed<SchemaTree> {
    let mut parser = Parser::new(file);
    parser.newlines()?;
    let name = parser.word("'schema'")?;
    let mut tree = match name.text.as_str() {
        "schema" | "search" => parser.schema()?,
        "document" => parser.bare_document()?,
        _ => return Err(parser.unknown_setting(&name, "element", &["schema", "document"])),
    };
    parser.newlines()?;
    if parser.peek()? != Token::End {
        return Err(parser.lexer.expected_token("the end of the file"));
    }
    tree.remarks = parser.remarks;
    Ok(tree)
}

/// Reads a `.profile` file: rank profiles that belong to a schema.
///
/// # Errors
/// If it holds anything but rank profiles.
pub(crate) fn profile_file(file: &SourceFile) -> Parsed<(Vec<ProfileTree>, Remarks)> {
    let mut parser = Parser::new(file);
    let mut profiles = Vec::new();
    loop {
        parser.newlines()?;
        if parser.peek()? == Token::End {
            return Ok((profiles, parser.remarks));
        }
        let name = parser.word("'rank-profile'")?;
        if name.text != "rank-profile" {
            return Err(parser.unknown_setting(&name, "element", &["rank-profile"]));
        }
        parser.rank_profile(&mut profiles)?;
    }
}

impl Parser<'_> {
    fn schema(&mut self) -> Parsed<SchemaTree> {
        let name = self.name("the name of the schema")?;
        let mut tree = empty(name);
        if self.take_word("inherits")? {
            tree.inherits = Some(self.name("the schema to inherit")?);
        }
        self.block(|parser| parser.schema_element(&mut tree))?;
        unique(tree.fields.iter().map(|field| &field.name), "field")?;
        unique(tree.structs.iter().map(|of| &of.name), "struct")?;
        unique(tree.field_sets.iter().map(|set| &set.name), "fieldset")?;
        unique(tree.summaries.iter().map(|class| &class.name), "document-summary")?;
        unique(tree.constants.iter().map(|constant| &constant.name), "constant")?;
        unique_models(&tree.onnx_models)?;
        Ok(tree)
    }

    fn schema_element(&mut self, tree: &mut SchemaTree) -> Parsed<()> {
        let element = self.word("an element of a schema")?;
        match element.text.as_str() {
            "document" => {
                let document = self.document(Some(&tree.name))?;
                if let Some(first) = &tree.document {
                    return Err(duplicate(&document.name, &first.name, "document"));
                }
                tree.document = Some(document);
            }
            "field" => {
                tree.fields.push(self.field()?);
                check_count(tree.fields.len(), &element.place, "fields")?;
            }
            "struct" => {
                tree.structs.push(self.structure()?);
                check_count(tree.structs.len(), &element.place, "structs")?;
            }
            "fieldset" => tree.field_sets.push(self.field_set()?),
            "rank-profile" | "model" => self.rank_profile(&mut tree.profiles)?,
            "document-summary" => {
                tree.summaries.push(self.summary_class()?);
                check_count(tree.summaries.len(), &element.place, "document-summaries")?;
            }
            "constant" => tree.constants.push(self.constant_block()?),
            "import" => tree.imports.push(self.import()?),
            "raw-as-base64-in-summary" => {
                tree.raw_as_base64 =
                    Some(if self.peek()? == Token::Symbol(':') { self.switch_value(&element.text)? } else { true });
            }
            "stemming" => self.stemming()?,
            "documentid" => self.document_id_storage()?,
            "index" => tree.indexes.push(self.schema_index()?),
            "onnx-model" => {
                tree.onnx_models.push(self.onnx_model()?);
                check_count(tree.onnx_models.len(), &element.place, "onnx-models")?;
            }
            "annotation" => return Err(element.place.unsupported_here("annotation")),
            "linguistics" => self.linguistics(&element.place)?,
            _ => return Err(self.unknown_setting(&element, "element of a schema", SCHEMA_ELEMENTS)),
        }
        Ok(())
    }

    fn bare_document(&mut self) -> Parsed<SchemaTree> {
        let document = self.document(None)?;
        let mut tree = empty(document.name.clone());
        tree.document = Some(document);
        tree.document_only = true;
        Ok(tree)
    }

    fn document(&mut self, default_name: Option<&Name>) -> Parsed<DocumentTree> {
        let place = self.place();
        let named = matches!(self.peek()?, Token::Word(word) if word != "inherits");
        let name = match default_name {
            Some(name) if !named => Name { text: name.text.clone(), place },
            _ => self.name("the name of the document")?,
        };
        self.newlines()?;
        let inherits = self.inherits()?;
        let mut tree = DocumentTree { name, inherits, fields: Vec::new(), structs: Vec::new() };
        self.block(|parser| {
            let element = parser.word("an element of a document")?;
            match element.text.as_str() {
                "field" => tree.fields.push(parser.field()?),
                "struct" => {
                    tree.structs.push(parser.structure()?);
                    check_count(tree.structs.len(), &element.place, "structs")?;
                }
                "compression" => {
                    parser.raw_value()?;
                    parser.remarks.object(element.place.reject("unknown element of a document 'compression'"));
                }
                "annotation" => return Err(element.place.unsupported_here("annotation")),
                _ => {
                    return Err(parser.unknown_setting(&element, "element of a document", &["field", "struct"]));
                }
            }
            if tree.fields.len() > FIELDS {
                return Err(element.place.reject(format!("a document has at most {FIELDS} fields")));
            }
            Ok(())
        })?;
        unique(tree.structs.iter().map(|of| &of.name), "struct")?;
        Ok(tree)
    }

    /// A struct; the fields have a type, and at most an id and a match.
    fn structure(&mut self) -> Parsed<StructTree> {
        let name = self.name("the name of the struct")?;
        self.newlines()?;
        let inherits = self.inherits()?;
        let mut fields = Vec::new();
        self.block(|parser| {
            let element = parser.word("'field'")?;
            if element.text != "field" {
                return Err(parser.unknown_setting(&element, "element of a struct", &["field"]));
            }
            let (name, data_type) = parser.field_head()?;
            let (mut body, mut id) = (FieldBody::default(), None);
            parser.block(|parser| {
                let setting = parser.word("a setting of a field of a struct")?;
                match setting.text.as_str() {
                    "id" => parser.integer_value("id").map(|value| id = Some(value)),
                    "match" => {
                        parser.note(&setting.place, "match in a struct is ignored: use struct-field in the field");
                        parser.match_settings(&mut body.matching)
                    }
                    _ => Err(parser.unknown_setting(&setting, "setting of a field of a struct", &["match", "id"])),
                }
            })?;
            fields.push(FieldTree { name, data_type, body, id });
            if fields.len() > FIELDS {
                return Err(element.place.reject(format!("a struct has at most {FIELDS} fields")));
            }
            Ok(())
        })?;
        unique(fields.iter().map(|field: &FieldTree| &field.name), "field")?;
        Ok(StructTree { name, inherits, fields })
    }

    fn field_set(&mut self) -> Parsed<FieldSetTree> {
        let name = self.word("the name of the fieldset")?;
        let mut tree =
            FieldSetTree { name, fields: Vec::new(), matching: Default::default(), phrase_segmenting: false };
        self.block(|parser| {
            let setting = parser.word("a setting of a fieldset")?;
            match setting.text.as_str() {
                "fields" => {
                    parser.expect(':')?;
                    tree.fields.extend(parser.words("a field")?);
                    check_count(tree.fields.len(), &setting.place, "fields in a fieldset")
                }
                "match" => parser.match_settings(&mut tree.matching),
                "query-command" => parser.query_command(&setting.place, &mut tree.phrase_segmenting),
                "linguistics" => parser.linguistics(&setting.place),
                _ => Err(parser.unknown_setting(
                    &setting,
                    "setting of a fieldset",
                    &["fields", "match", "query-command"],
                )),
            }
        })?;
        if tree.fields.is_empty() {
            return Err(tree.name.place.reject(format!("fieldset '{}' has no fields", tree.name.text)));
        }
        Ok(tree)
    }

    fn import(&mut self) -> Parsed<Name> {
        if !self.take_word("field")? {
            return Err(self.lexer.expected_token("'field'"));
        }
        self.word("the field to import")?;
        if !self.take_word("as")? {
            return Err(self.lexer.expected_token("'as'"));
        }
        let name = self.word("a name for the imported field")?;
        self.block(|parser| Err(parser.lexer.expected_token("'}'")))?;
        Ok(name)
    }

    fn document_id_storage(&mut self) -> Parsed<()> {
        let name = self.word_value("'from-disk' or 'attribute'")?;
        match name.text.as_str() {
            "from-disk" | "attribute" => Ok(()),
            _ => Err(self.unknown_setting(&name, "value of documentid", &["from-disk", "attribute"])),
        }
    }

    /// `index NAME { … }` outside a field.
    fn schema_index(&mut self) -> Parsed<Name> {
        let name = self.name("the name of the index")?;
        let mut body = FieldBody::default();
        self.index_settings(&mut body)?;
        Ok(name)
    }
}

fn empty(name: Name) -> SchemaTree {
    SchemaTree {
        name,
        inherits: None,
        document: None,
        document_only: false,
        fields: Vec::new(),
        structs: Vec::new(),
        field_sets: Vec::new(),
        profiles: Vec::new(),
        summaries: Vec::new(),
        constants: Vec::new(),
        onnx_models: Vec::new(),
        imports: Vec::new(),
        raw_as_base64: None,
        indexes: Vec::new(),
        remarks: Remarks::default(),
    }
}
