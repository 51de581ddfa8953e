//! The kinds of tasks as a JavaScript module, so that their numbers are written once, in crate `task`.

use std::fmt::Write;

use brooklet_task::TaskKind;

const SUMMARY: &str = "/** The number of each kind of task (docs/abi.md). */";

/// The module.
pub fn script() -> String {
    printed("export const TASK_KIND = Object.freeze({", "", ",", "});")
}

/// What it declares.
pub fn declarations() -> String {
    printed("export declare const TASK_KIND: {", "readonly ", ";", "};")
}

fn printed(begin: &str, before: &str, after: &str, end: &str) -> String {
    let mut text = format!("{SUMMARY}\n{begin}\n");
    for kind in TaskKind::ALL {
        let _ = writeln!(text, "  {before}{}: {}{after}", kind.name(), kind.number());
    }
    text + end + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_printed_once() {
        let (script, declarations) = (script(), declarations());
        for kind in TaskKind::ALL {
            let (name, number) = (kind.name(), kind.number());
            assert_eq!(script.matches(&format!("\n  {name}: {number},\n")).count(), 1, "{name}");
            assert_eq!(declarations.matches(&format!("\n  readonly {name}: {number};\n")).count(), 1, "{name}");
        }
        assert_eq!(script.matches(": ").count(), TaskKind::ALL.len());
    }
}
