//! Turns the generated JavaScript, which holds one instance per script, into a function that makes as many as asked
//! for: an instance that trapped is thrown away, and nothing of it may be reached by the one that replaces it.
//! What the generator writes is checked, so that another version of it cannot slip through half understood.

const CLASS: &str = "export class ";
const EXPORTS: &str = "export { initSync, __wbg_init as default };";
const FINALIZER: &str = "(typeof FinalizationRegistry === 'undefined')";
const TYPES_END: &str = "export type InitInput";

/// The script with one export, `instantiate(module)`.
pub fn script(generated: &str) -> Result<String, String> {
    expect(generated, EXPORTS, 1)?;
    expect(generated, CLASS, 3)?;
    expect(generated, FINALIZER, 3)?;
    // Queries and tasks are freed by their host; a finalizer would run code of an instance that trapped long ago.
    let body = generated.replace(EXPORTS, "").replace(CLASS, "class ").replace(FINALIZER, "(true)");
    Ok(format!(
        "/** A new instance of the compiled `module`. */\nexport function instantiate(module) {{\n{body}\n\
         const exports = initSync({{ module }});\nreturn {{ Core, memory: exports.memory, exports }};\n}}\n"
    ))
}

/// The declarations of what [`script`] exports.
pub fn declarations(generated: &str) -> Result<String, String> {
    expect(generated, TYPES_END, 1)?;
    let classes = generated.split(TYPES_END).next().unwrap_or_default();
    Ok(format!(
        "{classes}\n/** A new instance of the compiled `module`. */\nexport function instantiate(module: WebAssembly.Module): \
         {{ readonly Core: typeof Core; readonly memory: WebAssembly.Memory; readonly exports: WebAssembly.Exports }};\n"
    ))
}

fn expect(text: &str, part: &str, count: usize) -> Result<(), String> {
    match text.matches(part).count() {
        found if found == count => Ok(()),
        found => Err(format!("the generated code has `{part}` {found} times, not {count}: look at xtask/src/glue.rs")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "export class Core {}\nexport class Query {}\nexport class Task {}\n\
        const c = (typeof FinalizationRegistry === 'undefined') ? 1 : 2;\n\
        const a = (typeof FinalizationRegistry === 'undefined') ? 1 : 2;\n\
        const b = (typeof FinalizationRegistry === 'undefined') ? 1 : 2;\n\
        export { initSync, __wbg_init as default };\n";

    #[test]
    fn the_script_has_one_export_left() {
        let script = script(SCRIPT).unwrap();
        assert_eq!(script.matches("export ").count(), 1);
        assert!(script.contains("class Core {}") && !script.contains("FinalizationRegistry"));
    }

    #[test]
    fn another_shape_of_generated_code_is_refused() {
        assert!(script(&SCRIPT.replace("export class Task {}", "")).is_err());
        assert!(script(&SCRIPT.replace("as default", "")).is_err());
        assert!(declarations("export class Core {}").is_err());
    }
}
