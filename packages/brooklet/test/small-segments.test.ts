/** The nearest of a group that came in many pieces: each is a small segment, whose documents are told apart by their codes as in a large one. */
import { expect, test } from "vitest";
import { int, open, schema, vector } from "../src/index.ts";

const [PIECES, DOCUMENTS, DIMENSIONS] = [12, 60, 64];
/** Bytes of a document's exact cells. */
const CELLS = DIMENSIONS * Float32Array.BYTES_PER_ELEMENT;

/** Cells that have nothing to do with each other. */
function vectorOf(number: number): Float32Array {
  return Float32Array.from({ length: DIMENSIONS }, (_, at) => {
    const far = Math.sin(number * 12.9898 + at * 78.233) * 43_758.5453;
    return far - Math.floor(far) - 0.5;
  });
}

test("the nearest in many small segments are looked for by codes, and few documents are measured exactly", async () => {
  const note = schema("note", { number: int(), vec: vector(DIMENSIONS) });
  const database = await open({ schemas: [note] });
  const alice = database.group("alice");
  for (let piece = 0; piece < PIECES; piece += 1) {
    const documents = Array.from({ length: DOCUMENTS }, (_, at) => piece * DOCUMENTS + at);
    await alice.feed(
      note,
      documents.map((number) => ({ id: `n${number}`, fields: { number, vec: vectorOf(number) } })),
    );
  }
  const near = { field: "vec", vector: vectorOf(333) } as const;
  const { hits, timing } = await alice.search(note, { near, limit: 10, timing: true });
  expect(hits[0]?.id).toBe("n333");
  const { scan, exact } = timing?.stages ?? {};
  expect(scan?.bytesScanned).toBeGreaterThan(PIECES * DOCUMENTS * DIMENSIONS);
  expect(exact?.bytesScanned).toBeLessThan((PIECES * DOCUMENTS * CELLS) / 2);
  await database.close();
});
