/** That the law of sizes is seen to be broken where it is. */
import { expect, test } from "vitest";
import { fullFolders, largeRooms, type SizedFile, type Sizes } from "./sizes.ts";

const LAW: Sizes = {
  folderFiles: 2,
  packageLines: 100,
  crateLines: 200,
  larger: [{ room: "packages/large", lines: 150, reason: "it is" }],
};

const file = (path: string, lines = 50): SizedFile => ({ path, lines });
const large = [file("packages/large/src/a.ts", 75), file("packages/large/src/b/c.ts", 75)];

test("rooms within the law pass", () => {
  const files = [...large, file("packages/a/src/a.ts", 100), file("crates/a/src/a.rs", 200)];
  expect(largeRooms(files, LAW)).toEqual([]);
});

test("a line more does not", () => {
  const more = file("packages/large/src/d.ts", 1);
  const files = [...large, more, file("packages/a/src/a.ts", 101), file("crates/a/src/a.rs", 201)];
  expect(largeRooms(files, LAW)).toEqual([
    "packages/large has 151 lines, of 150 at most",
    "packages/a has 101 lines, of 100 at most",
    "crates/a has 201 lines, of 200 at most",
  ]);
});

test("a room that has become small is no exception", () => {
  expect(largeRooms([file("packages/large/src/a.ts", 100)], LAW)).toEqual([
    "tools/sizes.json: packages/large need not be larger any more",
  ]);
});

test("folders are counted by themselves", () => {
  const names = ["a/x.ts", "a/y.ts", "a/b/x.ts", "a/b/y.ts", "a/b/z.ts"];
  expect(
    fullFolders(
      names.map((name) => file(name)),
      LAW,
    ),
  ).toEqual(["a/b has 3 files, of 2 at most"]);
});
