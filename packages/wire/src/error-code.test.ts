import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERROR_KINDS, ERROR_SUMMARIES, failureOutcome, ServiceError } from "./index.ts";

interface Row {
  readonly name: string;
  readonly number: number;
  readonly summary: string;
  readonly status: number;
  readonly by: "core" | "host";
}

const vector = JSON.parse(
  readFileSync(new URL("../../../test-vectors/errors.json", import.meta.url), "utf8"),
) as readonly Row[];

test("the table is the vector, row for row", () => {
  const rows = Object.entries(ERROR_KINDS).map(([name, kind]) => ({
    name,
    summary: ERROR_SUMMARIES.get(kind.number),
    ...kind,
  }));
  expect(rows).toEqual(vector);
});

test("every code the core can name is in the table, with the core's number and status", () => {
  const source = readFileSync(new URL("../../../crates/task/src/code.rs", import.meta.url), "utf8");
  const named = new Map([...source.matchAll(/Code::(\w+) => "([A-Z_]+)",/g)].map((match) => [match[1], match[2]]));
  expect(named.size).toBeGreaterThan(10);
  const core = vector.filter((row) => row.by === "core").map((row) => row.name);
  expect(core).toEqual([...named.values()]);
});

test("a service error has the number and status of its code, and is recognised by its marker", () => {
  const error = new ServiceError("CONDITION_NOT_MET", "no", { cause: new Error("inner") });
  expect(error).toMatchObject({ code: "CONDITION_NOT_MET", status: 412, number: 17, message: "no" });
  expect(ServiceError.is(error)).toBe(true);
  expect(ServiceError.is(new Error("no"))).toBe(false);
  expect(ServiceError.from({ code: "NO_SUCH_CODE", message: "?" }).status).toBe(500);
});

test("a failure after execution began is unknown; a refusal is not applied", () => {
  expect([400, 412, 429, 503, 507].map(failureOutcome)).toEqual(Array(5).fill("not_applied"));
  expect([500, 502, 504].map(failureOutcome)).toEqual(Array(3).fill("unknown"));
});

test("every code has its row in docs/errors.md, with its status and number, and no row is left over", () => {
  const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (\d+) \| \S/gm)];
  const told = rows.map(([, name, status, number]) => ({ name, status: Number(status), number: Number(number) }));
  const known = vector.map(({ name, status, number }) => ({ name, status, number }));
  const byName = (left: { name: string | undefined }, right: { name: string | undefined }): number =>
    String(left.name).localeCompare(String(right.name));
  expect(told.sort(byName)).toEqual(known.sort(byName));
});
