/** What the tidy tests see of names that are exported. */
import { expect, test } from "vitest";
import { uncalled, unimported } from "./exported-names.ts";

const texts = (files: Readonly<Record<string, string>>) => new Map(Object.entries(files));

test("a value that is exported and stands in no other file is seen, whatever a comment says of it", () => {
  const own = texts({
    "a.ts":
      "export const used = 1;\nexport async function own() {}\nown();\nexport class Made {}\nexport interface Shape {}",
  });
  const others = texts({ "b.ts": "/** As `own`. */\nimport { used } from './a.ts'; // Made" });
  expect(unimported(own, new Map([...own, ...others]))).toEqual(["a.ts: own", "a.ts: Made"]);
  expect(unimported(own, new Map([...own, ...others, ["c.mjs", "const { own, Made } = await a();"]]))).toEqual([]);
});

test("a public item of a crate that stands where it is defined alone is seen", () => {
  const crates = texts({
    "a.rs":
      "pub fn called() {}\n    pub(crate) fn alone() {}\npub const fn twice() {}\npub const MOST: u32 = 1;\n// alone()",
    "b.rs": "fn b() { called() }\n    pub fn twice(&self) {}",
  });
  expect(uncalled(crates)).toEqual(["a.rs: alone", "a.rs: twice", "b.rs: twice", "a.rs: MOST"]);
});
