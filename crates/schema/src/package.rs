//! The files of an application package: which of them are read, ignored, warned about or refused.
use std::collections::BTreeMap;

use brooklet_task::limits::SCHEMA_BYTES;
use brooklet_task::{Code, Rejection};

use crate::remarks::Remarks;

/// Files of one package.
const FILES_MAX: usize = 5_000;

/// The files of a package that are read, by path.
#[derive(Debug, Default)]
pub(crate) struct Package<'f> {
    pub(crate) services: Option<(&'f str, &'f str)>,
    pub(crate) overrides: Option<(&'f str, &'f str)>,
    /// `.sd` files.
    pub(crate) schemas: BTreeMap<&'f str, &'f str>,
    /// `.profile` files: path and content, under the name of their schema.
    pub(crate) profiles: Vec<(&'f str, &'f str, &'f str)>,
    /// `.expression` files: path and content, by their name without folder and ending.
    pub(crate) expressions: BTreeMap<&'f str, (&'f str, &'f str)>,
    /// All other files, which constants and models name by their paths.
    pub(crate) files: BTreeMap<&'f str, &'f [u8]>,
    /// Query profiles, and their types.
    pub(crate) query_profiles: BTreeMap<&'f str, &'f str>,
    pub(crate) query_profile_types: BTreeMap<&'f str, &'f str>,
    pub(crate) remarks: Remarks,
}

impl<'f> Package<'f> {
    /// Sorts the files of a package.
    ///
    /// # Errors
    /// If a path is not one inside the package, a file to be read is not text, or one of them is not supported.
    pub(crate) fn sort(files: &'f [(String, Vec<u8>)]) -> Result<Package<'f>, Rejection> {
        if files.len() > FILES_MAX {
            return Err(refusal(format!("an application package has at most {FILES_MAX} files")));
        }
        let mut package = Package::default();
        let mut seen = BTreeMap::new();
        for (path, content) in files {
            check_path(path)?;
            if let Some(first) = seen.insert(path.to_lowercase(), path) {
                return Err(refusal(format!("{path}: the package has this file twice (as {first})")));
            }
            package.add(path, content)?;
        }
        Ok(package)
    }

    fn add(&mut self, path: &'f str, content: &'f [u8]) -> Result<(), Rejection> {
        let (folder, file) = path.split_once('/').unwrap_or(("", path));
        let hidden = path.split('/').any(|part| part.starts_with('.'));
        match (folder, file) {
            _ if hidden => {}
            _ if !is_known_kind(folder, file) => self.remarks.object(refusal(format!(
                "File in application package with unknown extension: {path}, please delete or move file to another directory."
            ))),
            ("", "services.xml") => self.services = Some((path, text(path, content)?)),
            ("", "validation-overrides.xml") => self.overrides = Some((path, text(path, content)?)),
            ("schemas" | "searchdefinitions", file) => self.add_schema_file(path, file, content)?,
            ("", "hosts.xml" | "deployment.xml") | ("ext" | "security", _) => {}
            ("search", file) if file.starts_with("query-profiles/") && file.ends_with(".xml") => {
                let file = file.strip_prefix("query-profiles/").unwrap_or(file);
                let files = match file.split_once('/') {
                    None => &mut self.query_profiles,
                    Some(("types", name)) if !name.contains('/') => &mut self.query_profile_types,
                    Some(_) => {
                        let message = "query profiles must be directly in search/query-profiles/, types in its types/";
                        return Err(refusal(format!("{path}: {message}")));
                    }
                };
                files.insert(path, text(path, content)?);
            }
            ("components", _) if file.ends_with(".jar") => {
                self.remarks.warn(format!("{path}: the file is ignored: Java code cannot be run"));
            }
            ("search" | "rules" | "page-templates" | "processing", file)
                if file.ends_with(".sr") || file.ends_with(".xml") =>
            {
                return Err(unsupported_file(path, "this file is"));
            }
            _ => {
                self.files.insert(path, content);
            }
        }
        Ok(())
    }

    /// A file below `schemas/`; `file` is the path there.
    fn add_schema_file(&mut self, path: &'f str, file: &'f str, content: &'f [u8]) -> Result<(), Rejection> {
        let name = file.rsplit('/').next().unwrap_or(file);
        if let Some(schema) = file.strip_suffix(".sd") {
            if schema.contains('/') {
                return Err(refusal(format!("{path}: schema files must be directly in schemas/")));
            }
            self.schemas.insert(path, text(path, content)?);
        } else if name.ends_with(".profile") {
            let Some((schema, _)) = file.split_once('/') else {
                return Err(refusal(format!("{path}: a rank profile file must be in the folder of its schema")));
            };
            self.profiles.push((schema, path, text(path, content)?));
        } else if let Some(stem) = name.strip_suffix(".expression") {
            self.expressions.insert(stem, (path, text(path, content)?));
        } else {
            self.remarks.warn(format!("{path}: the file is ignored"));
        }
        Ok(())
    }
}

/// Whether a file is of a kind that its folder may hold; all may be in folders that are not known.
fn is_known_kind(folder: &str, file: &str) -> bool {
    let kinds: &[&str] = match folder {
        "schemas" | "searchdefinitions" => &[".sd", ".expression", ".profile"],
        "search" if file.starts_with("query-profiles/") => &[".xml"],
        "components" => &[".jar"],
        "constants" => &[".json", ".json.lz4"],
        "rules" => &[".sr"],
        "security" => &[".pem"],
        _ => return true,
    };
    kinds.iter().any(|kind| file.ends_with(kind))
}

/// Refuses paths that could mean something outside the package, or the same file as another.
fn check_path(path: &str) -> Result<(), Rejection> {
    let part_is_legal = |part: &str| !part.is_empty() && part != "." && part != "..";
    if path.split('/').all(part_is_legal) && !path.contains(['\\', '\0', ':']) {
        return Ok(());
    }
    Err(refusal(format!("'{}' is not a path inside an application package", Rejection::quote(path))))
}

pub(crate) fn text<'f>(path: &str, content: &'f [u8]) -> Result<&'f str, Rejection> {
    if content.len() > SCHEMA_BYTES {
        return Err(refusal(format!("{path}: the file is longer than {SCHEMA_BYTES} bytes")));
    }
    let text = std::str::from_utf8(content)
        .map_err(|error| refusal(format!("{path}: the file is not UTF-8 (byte {})", error.valid_up_to())))?;
    match text.find('\0') {
        Some(at) => Err(refusal(format!("{path}: the file is not a text (byte {at} is 0)"))),
        None => Ok(text),
    }
}

fn refusal(message: String) -> Rejection {
    Rejection::new(Code::InvalidApplication, message)
}

fn unsupported_file(path: &str, what: &str) -> Rejection {
    Rejection::new(Code::Unsupported, format!("{path}: {what} not supported yet"))
}
