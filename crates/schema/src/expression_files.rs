//! Ranking expressions that stand in files of their own: `expression: file:NAME`.
use std::sync::Arc;

use brooklet_task::Rejection;
use brooklet_task::limits::EXPRESSION_FILE_BYTES;

use crate::package::Package;
use crate::place::SourceText;
use crate::sd::lex::SourceFile;
use crate::sd::tree::SchemaTree;

/// Puts the content of expression files in the place of their names.
///
/// # Errors
/// If a file is missing or too long.
pub(crate) fn insert(tree: &mut SchemaTree, package: &Package<'_>) -> Result<(), Rejection> {
    for profile in &mut tree.profiles {
        let phases = [&mut profile.first_phase, &mut profile.second_phase, &mut profile.global_phase];
        let of_phases = phases.into_iter().flatten().filter_map(|phase| phase.expression.as_mut());
        for expression in of_phases.chain(profile.functions.iter_mut().map(|function| &mut function.expression)) {
            if let Some(name) = expression.text.strip_prefix("file:") {
                *expression = read(name.trim(), expression, package)?;
            }
        }
    }
    Ok(())
}

fn read(name: &str, reference: &SourceText, package: &Package<'_>) -> Result<SourceText, Rejection> {
    let stem = name.strip_suffix(".expression").unwrap_or(name);
    let refused = |message: String| match &reference.place {
        Some(place) => place.reject(message),
        None => Rejection::new(brooklet_task::Code::InvalidApplication, message),
    };
    let Some((path, content)) = package.expressions.get(stem) else {
        return Err(refused(format!("there is no file schemas/{}.expression", Rejection::quote(stem))));
    };
    if content.len() > EXPRESSION_FILE_BYTES {
        return Err(refused(format!("{path}: an expression is longer than {EXPRESSION_FILE_BYTES} bytes")));
    }
    let file = SourceFile::new(path, (*content).to_owned());
    let source = file.source(0, content.len());
    if source.text.is_empty() {
        return Err(refused(format!("{path}: an expression is empty")));
    }
    Ok(SourceText { text: Arc::clone(&source.text), place: source.place })
}
