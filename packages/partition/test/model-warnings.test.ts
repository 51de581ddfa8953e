/** What a deployment says of models that nobody runs where it is deployed, as at the edge and in a page. */
import { Writer } from "@brooklet/core";
import { expect, test } from "vitest";
import { withMissingModels } from "../src/model-surroundings.ts";

const REPORT = { schemas: [], warnings: ["another"], clusters: [] } as never;

const packageOf = (...names: readonly string[]): Uint8Array =>
  names.reduce((writer, name) => writer.text(name).text(""), new Writer().varint(names.length)).finish();

test("models of a package are a warning where none are run, and nothing where there are none", async () => {
  const told = await withMissingModels(REPORT, packageOf("services.xml", "models/a.onnx"), {});
  expect(told.warnings).toEqual([
    "another",
    "models/a.onnx: ONNX models are not run here, rank profiles with them are refused",
  ]);
  expect(await withMissingModels(REPORT, packageOf("services.xml"), {})).toBe(REPORT);
  const modelRunner = { missing: async () => [] } as never;
  expect(await withMissingModels(REPORT, packageOf("models/a.onnx"), { modelRunner })).toBe(REPORT);
});
