/** What the tidy tests see of Rust. */
import { expect, test } from "vitest";
import { blanked, crateDependencies, rustFunctions, unexplainedDependencies, withoutTests } from "./rust-sources.ts";

const SOURCE = `
/// Not a brace: {
fn first<'a>(text: &'a str) -> char {
    let brace = '{';
    let quote = '\\'';
    let raw = r#"} " {"#;
    if text == "}\\"}" { brace } else { quote }
}

trait Shape {
    fn area(&self) -> f64;
}

fn second() {}

#[cfg(test)]
mod tests {
    fn hidden() { let text = "}"; }
}

fn third() {
}
`;

test("functions with a body are measured, whatever stands in texts and comments", () => {
  expect(rustFunctions(SOURCE)).toEqual([
    { name: "first", lines: 6 },
    { name: "second", lines: 1 },
    { name: "hidden", lines: 1 },
    { name: "third", lines: 2 },
  ]);
});

test("lines stay where they are when texts are blanked", () => {
  const code = blanked(SOURCE);
  expect(code.split("\n")).toHaveLength(SOURCE.split("\n").length);
  expect(code).not.toMatch(/Not a brace|raw = r/);
  expect(code).toContain("fn first<'a>(text: &'a str) -> char {");
});

test("inline tests are left out, what follows them is not", () => {
  const kept = withoutTests(SOURCE);
  expect(kept).not.toContain("hidden");
  expect(kept).toContain("fn third");
});

test("a manifest's crates, and the foreign ones without a reason", () => {
  const manifest = [
    "[dependencies]",
    "brooklet-task.workspace = true",
    "# Because.",
    'libm = "0.2"',
    "",
    'bytes = "1"',
    "",
    "[dev-dependencies]",
    "brooklet-segment.workspace = true",
    'random = "1" # inputs',
  ].join("\n");
  expect(crateDependencies(manifest)).toEqual(["task"]);
  expect(unexplainedDependencies(manifest)).toEqual(['bytes = "1"']);
});
