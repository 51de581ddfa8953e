//! The schemas of a package as they are written, with what stands in files of their own.
use brooklet_task::{Code, Rejection};

use crate::package::Package;
use crate::sd::lex::SourceFile;
use crate::sd::parse::{profile_file, schema_file};
use crate::sd::tree::SchemaTree;
use crate::{constant_files, expression_files};

/// The schemas of a package, with the rank profiles and expressions that stand in files of their own.
pub(crate) fn schema_trees(package: &Package<'_>) -> Result<Vec<SchemaTree>, Rejection> {
    let mut trees = Vec::new();
    for (path, content) in &package.schemas {
        let tree = schema_file(&SourceFile::new(path, (*content).to_owned()))?;
        let stem = path.rsplit('/').next().and_then(|file| file.strip_suffix(".sd")).unwrap_or_default();
        if stem != tree.name.text {
            let name = &tree.name.text;
            let message = format!("the file of schema '{name}' must be named '{name}.sd', not '{stem}.sd'");
            return Err(tree.name.place.reject(message));
        }
        trees.push(tree);
    }
    for (schema, path, content) in &package.profiles {
        let (profiles, remarks) = profile_file(&SourceFile::new(path, (*content).to_owned()))?;
        let Some(tree) = trees.iter_mut().find(|tree| tree.name.text == *schema) else {
            let message = format!("{path}: there is no schema '{schema}' for these rank profiles");
            return Err(Rejection::new(Code::InvalidApplication, message));
        };
        tree.profiles.extend(profiles);
        tree.remarks.add(remarks);
    }
    for tree in &mut trees {
        expression_files::insert(tree, package)?;
        constant_files::insert(tree, package)?;
    }
    Ok(trees)
}
