/** The rank features that the SDK's types know are those of the core. */
import { expect, test } from "vitest";
import { content } from "./repository.ts";

/** Computed by the core, but asked for by no one: an older name, and what `maxReduceProdJoin` is made of. */
const NOT_OFFERED = ["internalMaxReduceProdJoin", "onnxModel"];
/** No feature of the registry: a function of the profile by its long name. */
const WRITTEN_OTHERWISE = ["rankingExpression"];

test("features of the SDK are those of the core", () => {
  const registry = content("crates/rank/src/features/registry.rs").split("UNSUPPORTED_FEATURES")[0] ?? "";
  const types = content("packages/client/src/schema/ranking.ts");
  const computed = [...registry.matchAll(/^ {4}\(?"(\w+)",/gm)].map(([, name]) => name);
  const typed = [...types.matchAll(/^ {2}\| "(\w+)";?$/gm)].map(([, name]) => name);
  const words = ["words", "words_scaled"];
  expect(computed.length).toBeGreaterThan(60);
  expect(typed.filter((name) => !words.includes(name ?? "")).sort()).toEqual(
    [...computed.filter((name) => !NOT_OFFERED.includes(name ?? "")), ...WRITTEN_OTHERWISE].sort(),
  );
});
