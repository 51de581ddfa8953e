/** What the tidy tests see of the imports among the files of a crate. */
import { expect, test } from "vitest";
import { circles, rustImports, strayModules } from "./rust-modules.ts";

/** A crate of three floors: `scene` above `shape` and its circle, those above `unit`. */
const CRATE: Readonly<Record<string, string>> = {
  "lib.rs": "mod scene;\nmod shape;\nmod unit;\npub use shape::{Area, circle::Circle as Round};",
  "scene.rs": "use crate::{Round, shape::{self, square}};\nfn draw() { square::side(shape::Area(1)) }",
  "shape/mod.rs": "pub mod circle;\npub mod square;\npub use crate::unit::Area;\nuse circle::{\n    Circle,\n};",
  "shape/circle.rs": "use super::Area;\npub struct Circle(Area);",
  "shape/square.rs": "pub fn side(area: crate::unit::Area) {}\n#[cfg(test)]\nmod tests { use crate::scene::draw; }",
  "unit.rs": "// use crate::scene::draw;\npub struct Area(pub u32);\n#[cfg(test)]\nuse crate::scene;",
};

function importsOf(texts: Readonly<Record<string, string>>): Readonly<Record<string, readonly string[]>> {
  const imports = rustImports(filesOf(texts));
  const short = (path: string): string => path.replace("crates/plane/src/", "");
  return Object.fromEntries([...imports].map(([path, named]) => [short(path), [...named].map(short).sort()]));
}

function filesOf(texts: Readonly<Record<string, string>>): readonly { readonly path: string; readonly text: string }[] {
  return Object.entries(texts).map(([path, text]) => ({ path: `crates/plane/src/${path}`, text }));
}

test("a name is an import of the file that defines it, whichever way it is re-exported", () => {
  expect(importsOf(CRATE)).toEqual({
    "lib.rs": ["shape/circle.rs", "unit.rs"],
    "scene.rs": ["shape/circle.rs", "shape/square.rs", "unit.rs"],
    "shape/mod.rs": ["shape/circle.rs", "unit.rs"],
    "shape/circle.rs": ["unit.rs"],
    "shape/square.rs": ["unit.rs"],
    "unit.rs": [],
  });
});

test("floors have no circle", () => {
  expect(circles(rustImports(filesOf(CRATE)))).toEqual([]);
});

test.each([
  ["by an import", "use crate::scene::draw;"],
  ["by one of several names", "use crate::{shape::Area as Plane, scene::draw};"],
  ["by a path in the code", "fn act() { super::scene::draw() }"],
  ["by a module that is imported", "use super::scene;\nfn act() { scene::draw() }"],
  ["by the root, which re-exports", "use crate::draw;"],
])("one added import makes a circle: %s", (_, added) => {
  const texts: Readonly<Record<string, string>> = { ...CRATE, "lib.rs": `${CRATE["lib.rs"]}\npub use scene::draw;` };
  const changed = { ...texts, "unit.rs": `${texts["unit.rs"]}\n${added}` };
  expect(circles(rustImports(filesOf(texts)))).toEqual([]);
  const [circle] = circles(rustImports(filesOf(changed)));
  expect(circle?.map((path) => path.replace("crates/plane/src/", ""))).toEqual([
    "scene.rs",
    "shape/circle.rs",
    "shape/square.rs",
    "unit.rs",
  ]);
});

test("a file that no other declares as its module is never compiled", () => {
  const files = [
    ["crates/plane/src/lib.rs", "mod shape;"],
    ["crates/plane/src/shape/mod.rs", "mod circle;"],
    ["crates/plane/src/shape/circle.rs", "mod round;"],
    ["crates/plane/src/shape/circle/round.rs", ""],
    ["crates/plane/src/shape/square.rs", "// mod circle;"],
    ["crates/plane/tests/areas.rs", "mod host;"],
    ["crates/plane/tests/host/mod.rs", ""],
    ["crates/plane/tests/drawing/main.rs", "mod lines;\n"],
    ["crates/plane/tests/drawing/lines.rs", "mod dotted;"],
    ["crates/plane/tests/drawing/dotted.rs", ""],
  ] as const;
  expect(strayModules(files.map(([path, text]) => ({ path, text })))).toEqual([
    "crates/plane/src/shape/square.rs",
    "crates/plane/tests/drawing/dotted.rs",
  ]);
});
