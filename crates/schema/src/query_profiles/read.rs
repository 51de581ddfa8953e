//! From the XML files of query profiles and their types to what they mean together.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::TensorType;
use brooklet_kernel::sort_by_key;
use brooklet_task::{Rejection, did_you_mean};
use roxmltree::Node;

use super::profile::{
    Body, FieldType, FieldValue, ProfileField, ProfileType, QueryProfile, QueryProfiles, TypedField, Variant,
    version_of,
};
use super::types::text_of;
use crate::place::SourcePlace;
use crate::remarks::Remarks;
use crate::services::xml::{XmlFile, text};

/// Longest name of a field, bytes.
const NAME_BYTES: usize = 1_000;

/// Parameters that a profile may not set: the group a query searches is the request's own.
const SCOPES: [&str; 3] = ["streaming.groupname", "streaming.selection", "streaming.userid"];

/// Types of the parameters that every request may have: what may be referred to, and inherited, without being defined.
const NATIVE_TYPES: [&str; 12] = [
    "native",
    "model",
    "ranking",
    "features",
    "properties",
    "matching",
    "matchPhase",
    "presentation",
    "select",
    "trace",
    "dispatch",
    "softTimeout",
];

/// Files by path, with their contents.
type Files<'f> = BTreeMap<&'f str, &'f str>;

/// Reads the files of `search/query-profiles/` and `search/query-profiles/types/`; what is said of them goes to `remarks`.
///
/// # Errors
/// If a file is malformed, names what does not exist, or has a value its type does not allow.
pub(crate) fn read(profiles: &Files<'_>, types: &Files<'_>, remarks: &mut Remarks) -> Result<QueryProfiles, Rejection> {
    let files = parse_files(profiles)?;
    let type_files = parse_files(types)?;
    let mut all = QueryProfiles { profiles: Vec::new(), types: read_types(&type_files, remarks)? };
    let mut ids = Vec::new();
    for (path, file) in &files {
        let id = id_of(path, file, "query-profile")?;
        let (name, version) = id.split_once(':').unwrap_or((id, ""));
        let version = if version.is_empty() { Some(Vec::new()) } else { version_of(version) };
        let version = version.ok_or_else(|| {
            file.place(file.root()).reject(format!("'{}' has no version like 1.2", Rejection::quote(id)))
        })?;
        ids.push(id);
        let profile_type = type_named(file, file.root(), &all.types)?;
        all.profiles.push(QueryProfile {
            name: name.to_owned(),
            version,
            profile_type,
            dimensions: Vec::new(),
            body: Body::default(),
            variants: Vec::new(),
        });
    }
    for (index, (_, file)) in files.iter().enumerate() {
        let mut places = Places::default();
        let reader = ProfileReader { file, ids: &ids, remarks };
        let (dimensions, body, variants) = reader.profile(&mut places)?;
        let profile = &mut all.profiles[index];
        (profile.dimensions, profile.body, profile.variants) = (dimensions, body, variants);
        let profile = all.profiles[index].clone();
        places.check(&all, &profile, remarks)?;
    }
    for (index, (_, file)) in files.iter().enumerate() {
        if let Some(reason) = all.too_large(index) {
            return Err(file.place(file.root()).reject(reason));
        }
    }
    Ok(all)
}

fn parse_files<'f>(files: &Files<'f>) -> Result<Vec<(&'f str, XmlFile<'f>)>, Rejection> {
    files.iter().map(|(path, content)| Ok((*path, XmlFile::parse(path, content)?))).collect()
}

/// The id of a file's root, which the file's name must be.
fn id_of<'a>(path: &str, file: &'a XmlFile<'_>, element: &str) -> Result<&'a str, Rejection> {
    let root = file.root();
    let place = file.place(root);
    let found = root.tag_name().name();
    if found != element {
        return Err(place.reject(format!("the root must be <{element}>, not <{found}>")));
    }
    let id = file.required_attribute(root, "id")?;
    let expected = format!("{}.xml", id.replace('/', "_").replace(':', "-"));
    let name = path.rsplit('/').next().unwrap_or(path);
    if id.is_empty() || name != expected {
        let id = Rejection::quote(id);
        return Err(place.reject(format!("the file of '{id}' must be named '{expected}', not '{name}'")));
    }
    Ok(id)
}

fn type_named(file: &XmlFile<'_>, node: Node<'_, '_>, types: &[ProfileType]) -> Result<Option<usize>, Rejection> {
    let Some(name) = node.attribute("type").filter(|name| *name != "native") else { return Ok(None) };
    let index = types.iter().position(|of| of.name == name);
    index.map(Some).ok_or_else(|| {
        let hint = did_you_mean(name, types.iter().map(|of| of.name.as_str()));
        file.place(node).reject(format!("query profile type '{}' does not exist{hint}", Rejection::quote(name)))
    })
}

// Types.

fn read_types(files: &[(&str, XmlFile<'_>)], remarks: &mut Remarks) -> Result<Vec<ProfileType>, Rejection> {
    let mut names = Vec::new();
    for (path, file) in files {
        names.push(id_of(path, file, "query-profile-type")?);
    }
    let mut types: Vec<Option<ProfileType>> = vec![None; files.len()];
    for index in 0..files.len() {
        resolve_type(index, (files, &names), &mut types, &mut Vec::new(), remarks)?;
    }
    Ok(types.into_iter().flatten().collect())
}

/// Reads a type after those it inherits.
fn resolve_type(
    index: usize,
    (files, names): (&[(&str, XmlFile<'_>)], &[&str]),
    types: &mut Vec<Option<ProfileType>>,
    open: &mut Vec<usize>,
    remarks: &mut Remarks,
) -> Result<(), Rejection> {
    if types[index].is_some() {
        return Ok(());
    }
    let file = &files[index].1;
    let root = file.root();
    if open.contains(&index) || open.len() >= 32 {
        return Err(file.place(root).reject(format!("type '{}' inherits itself", names[index])));
    }
    open.push(index);
    let mut made = ProfileType { name: names[index].to_owned(), ..ProfileType::default() };
    for inherited in root.attribute("inherits").unwrap_or("").split_whitespace() {
        let is_defined = names.contains(&inherited) && inherited != names[index];
        if !is_defined && NATIVE_TYPES.contains(&inherited) {
            made.native |= inherited == "native";
            continue;
        }
        let Some(parent) = names.iter().position(|name| *name == inherited) else {
            let hint = did_you_mean(inherited, names.iter().copied());
            let inherited = Rejection::quote(inherited);
            return Err(file
                .place(root)
                .reject(format!("inherited query profile type '{inherited}' does not exist{hint}")));
        };
        resolve_type(parent, (files, names), types, open, remarks)?;
        let parent = types[parent].clone().unwrap_or_default();
        made.native |= parent.native;
        made.strict |= parent.strict;
        made.matches_paths |= parent.matches_paths;
        let new = |field: &TypedField| made.fields.iter().all(|known| known.name != field.name);
        let added: Vec<TypedField> = parent.fields.into_iter().filter(new).collect();
        made.fields.extend(added);
    }
    open.pop();
    for node in root.children().filter(Node::is_element) {
        match node.tag_name().name() {
            "strict" => made.strict = true,
            "match" => made.matches_paths = node.attribute("path") == Some("true"),
            "description" => {}
            "field" => {
                let field = typed_field(file, node, names, remarks)?;
                made.fields.retain(|known| known.name != field.name);
                made.fields.push(field);
            }
            other => return Err(file.place(node).reject(format!("<{other}> is not part of a query profile type"))),
        }
    }
    types[index] = Some(made);
    Ok(())
}

fn typed_field(
    file: &XmlFile<'_>,
    node: Node<'_, '_>,
    names: &[&str],
    remarks: &mut Remarks,
) -> Result<TypedField, Rejection> {
    let name = field_name(file, node, remarks)?;
    Ok(TypedField {
        name: name.to_owned(),
        field_type: field_type((file, node), name, names, remarks)?,
        mandatory: truth(file, node, "mandatory", remarks).unwrap_or(false),
        overridable: truth(file, node, "overridable", remarks).unwrap_or(true),
        aliases: node.attribute("alias").unwrap_or("").split_whitespace().map(str::to_lowercase).collect(),
    })
}

fn field_type(
    (file, node): (&XmlFile<'_>, Node<'_, '_>),
    name: &str,
    names: &[&str],
    remarks: &mut Remarks,
) -> Result<FieldType, Rejection> {
    let written = file.required_attribute(node, "type")?;
    Ok(match written {
        "string" | "query" => FieldType::Text,
        "integer" => FieldType::Integer,
        "long" => FieldType::Long,
        "float" => FieldType::Float,
        "double" => FieldType::Double,
        "boolean" => FieldType::Boolean,
        "query-profile" => FieldType::Profile(None),
        _ if written.starts_with("tensor") => match TensorType::parse(written) {
            Ok(of) => FieldType::Tensor(Arc::new(of)),
            Err(error) => {
                remarks.object(file.place(node).reject(format!("field '{name}': {}", error.message)));
                FieldType::Text
            }
        },
        _ => {
            let inner = written.strip_prefix("query-profile:");
            let index = inner.and_then(|inner| names.iter().position(|name| *name == inner));
            if index.is_none() && inner.is_some_and(|inner| NATIVE_TYPES.contains(&inner)) {
                return Ok(FieldType::Profile(None));
            }
            let known = ["string", "integer", "long", "float", "double", "boolean", "query-profile", "query"];
            let hint = did_you_mean(written, known);
            let message = || format!("field '{name}' has the unknown type '{}'{hint}", Rejection::quote(written));
            FieldType::Profile(Some(index.ok_or_else(|| file.place(node).reject(message()))?))
        }
    })
}

/// An attribute that is true or false, if it says anything; others are objected to, and mean false.
fn truth(file: &XmlFile<'_>, node: Node<'_, '_>, attribute: &str, remarks: &mut Remarks) -> Option<bool> {
    let value = node.attribute(attribute).filter(|value| !value.is_empty())?;
    if !["true", "false"].contains(&value) {
        let message = format!("{attribute} is true or false, not '{}'", Rejection::quote(value));
        remarks.object(file.place(node).reject(message));
    }
    Some(value == "true")
}

/// What each part of a name may be, between its dots.
fn is_name_part(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphabetic() || "$_/".contains(c))
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"$_/-()".contains(&byte))
}

fn field_name<'n>(file: &XmlFile<'_>, node: Node<'n, '_>, remarks: &mut Remarks) -> Result<&'n str, Rejection> {
    let name = file.required_attribute(node, "name")?;
    let legal = !name.is_empty() && name.len() <= NAME_BYTES && !name.contains(char::is_whitespace);
    if !legal {
        return Err(file.place(node).reject(format!("'{}' cannot be the name of a field", Rejection::quote(name))));
    }
    if !name.split('.').all(is_name_part) {
        let shown = Rejection::quote(name);
        let message = format!("'{shown}' cannot be the name of a field: letters, digits and $ _ / - ( ) between dots");
        remarks.object(file.place(node).reject(message));
    }
    if SCOPES.contains(&name) {
        let message = format!("'{name}' cannot be set in a query profile: every request names its group itself");
        return Err(file.place(node).reject(message));
    }
    Ok(name)
}

// Profiles.

/// Where the fields of a profile stand, for what can be checked when everything is read.
#[derive(Default)]
struct Places(Vec<(ProfileField, SourcePlace)>);

impl Places {
    fn check(&self, all: &QueryProfiles, profile: &QueryProfile, remarks: &mut Remarks) -> Result<(), Rejection> {
        for (field, place) in &self.0 {
            let reason = match &field.value {
                // What is substituted is known with the request.
                FieldValue::Text(text) if text.contains("%{") => None,
                FieldValue::Text(text) => all.refuse(profile, &field.name, text, &|_| true),
                FieldValue::Reference(index) => all.refuse_reference(profile, &field.name, &all.profiles[*index]),
            };
            if let Some(reason) = reason {
                let shown = Rejection::quote(text_of(&field.value).unwrap_or_default());
                let refused = place.reject(format!("could not set '{}' to '{shown}': {reason}", field.name));
                if !matches!(all.field_type(profile, &field.name), Some(FieldType::Tensor(_))) {
                    return Err(refused);
                }
                remarks.object(refused);
            }
        }
        Ok(())
    }
}

struct ProfileReader<'r, 'f> {
    file: &'r XmlFile<'f>,
    /// The ids of all profiles.
    ids: &'r [&'r str],
    remarks: &'r mut Remarks,
}

impl ProfileReader<'_, '_> {
    #[inline(never)]
    fn profile(mut self, places: &mut Places) -> Result<(Vec<String>, Body, Vec<Variant>), Rejection> {
        let root = self.file.root();
        let dimensions = root.children().find(|node| node.has_tag_name("dimensions"));
        let dimensions = dimensions.map_or("", |node| text(node)).split(',').map(str::trim);
        let dimensions: Vec<String> = dimensions.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let body = self.body(root, places)?;
        let mut variants: Vec<Variant> = Vec::new();
        for node in root.children().filter(|node| node.has_tag_name("query-profile")) {
            let values = self.pattern(node, &dimensions)?;
            let body = self.body(node, places)?;
            match variants.iter_mut().find(|variant| variant.values == values) {
                Some(same) => {
                    body.fields.into_iter().for_each(|field| set(&mut same.body.fields, field));
                    same.body.inherits.extend(body.inherits);
                }
                None => variants.push(Variant { values, body }),
            }
        }
        // A value for an earlier dimension makes a variant more specific than any for later ones.
        sort_by_key(&mut variants, |variant| variant.values.iter().map(Option::is_none).collect::<Vec<_>>());
        Ok((dimensions, body, variants))
    }

    /// The values a variant is for.
    fn pattern(&self, node: Node<'_, '_>, dimensions: &[String]) -> Result<Vec<Option<String>>, Rejection> {
        let place = self.file.place(node);
        let pattern = self.file.required_attribute(node, "for")?;
        if dimensions.is_empty() {
            return Err(place.reject("a variant needs the <dimensions> of its query profile"));
        }
        let values = pattern.split(',').map(str::trim);
        let mut values: Vec<Option<String>> = values.map(|value| (value != "*").then(|| value.to_owned())).collect();
        if values.len() > dimensions.len() {
            let count = dimensions.len();
            let pattern = Rejection::quote(pattern);
            return Err(
                place.reject(format!("the variant for '{pattern}' has more values than the {count} dimensions"))
            );
        }
        values.resize(dimensions.len(), None);
        Ok(values)
    }

    fn body(&mut self, node: Node<'_, '_>, places: &mut Places) -> Result<Body, Rejection> {
        let mut body = Body::default();
        for inherited in node.attribute("inherits").unwrap_or("").split_whitespace() {
            body.inherits.push(self.profile_named(node, inherited, "inherited")?);
        }
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "field" => {
                    let field = self.field(child)?;
                    places.0.push((field.clone(), self.file.place(child)));
                    set(&mut body.fields, field);
                }
                "description" | "dimensions" | "query-profile" => {}
                other => {
                    let place = self.file.place(child);
                    self.remarks.warn(format!("{place}: <{other}> is not part of a query profile: it is ignored"));
                }
            }
        }
        Ok(body)
    }

    #[inline(never)]
    fn field(&mut self, node: Node<'_, '_>) -> Result<ProfileField, Rejection> {
        let name = field_name(self.file, node, self.remarks)?.to_owned();
        let overridable = truth(self.file, node, "overridable", self.remarks);
        let reference = node.children().find(|child| child.has_tag_name("ref"));
        if let Some(reference) = reference {
            let target = self.profile_named(reference, reference.text().unwrap_or(""), "referenced")?;
            return Ok(ProfileField { name, value: FieldValue::Reference(target), overridable });
        }
        if let Some(element) = node.children().find(Node::is_element) {
            let other = element.tag_name().name();
            return Err(self.file.place(element).reject(format!("<{other}> is not part of a field: only <ref> is")));
        }
        let value: String = node.children().filter_map(|child| child.text()).collect();
        let unterminated = value.match_indices("%{").any(|(at, _)| !value[at..].contains('}'));
        if unterminated {
            let message =
                format!("could not set '{name}': the substitution in '{}' has no end", Rejection::quote(&value));
            return Err(self.file.place(node).reject(message));
        }
        Ok(ProfileField { name, value: FieldValue::Text(value), overridable })
    }

    fn profile_named(&self, node: Node<'_, '_>, name: &str, how: &str) -> Result<usize, Rejection> {
        self.ids.iter().position(|id| *id == name).ok_or_else(|| {
            let hint = did_you_mean(name, self.ids.iter().copied());
            let name = Rejection::quote(name);
            self.file.place(node).reject(format!("{how} query profile '{name}' does not exist{hint}"))
        })
    }
}

/// Of two fields of one name the later counts.
fn set(fields: &mut Vec<ProfileField>, field: ProfileField) {
    fields.retain(|known| known.name != field.name);
    fields.push(field);
}
