/** What every embedder keeps to; strangers' drivers can run it. */
import { deadlineIn, type Embedder, type Embedding } from "./embedder.ts";

/** What the contract needs of a test runner. */
export interface Runner {
  readonly test: (name: string, body: () => Promise<void>) => void;
}

const TEXTS = ["Reset a forgotten password", "", "The invoice is due next month", "naïve café 漢字 😀", "a"];
/** How far values of a text alone and in a batch may be apart: runtimes add in another order. */
const NEAR = 1e-4;

/** Declares the tests of an embedder that gives `dimensions` values. */
export function testEmbedder(runner: Runner, make: () => Promise<Embedder>, dimensions: number): void {
  const embed = async (embedder: Embedder, texts: readonly string[]): Promise<readonly Embedding[]> =>
    await embedder.embed({ texts, purpose: "document", dimensions, deadline: deadlineIn(60_000) });
  const withEmbedder = async (body: (embedder: Embedder) => Promise<void>): Promise<void> => {
    const embedder = await make();
    try {
      await body(embedder);
    } finally {
      await embedder.close();
    }
  };

  runner.test("an embedding for each text, in order, of the shape it says", () =>
    withEmbedder(async (embedder) => {
      const all = await embed(embedder, TEXTS);
      must(all.length === TEXTS.length, `${all.length} embeddings for ${TEXTS.length} texts`);
      for (const one of all) must(one.shape === embedder.shape, `shape ${one.shape}, not ${embedder.shape}`);
      for (const [index, text] of TEXTS.entries()) mustBeNear(all[index], (await embed(embedder, [text]))[0], text);
    }),
  );
  runner.test("nothing for no texts", () =>
    withEmbedder(async (embedder) => must((await embed(embedder, [])).length === 0, "embeddings of no texts")),
  );
  runner.test("the same text is the same numbers", () =>
    withEmbedder(async (embedder) => mustBeNear(...(await pair(embed(embedder, ["twice", "twice"]))), "twice", 0)),
  );
  runner.test("a deadline that has passed is refused, and an abort is its reason", () =>
    withEmbedder(async (embedder) => {
      const reason = new Error("gone");
      const aborted = deadlineIn(60_000, AbortSignal.abort(reason));
      const ask = embedder.embed({ texts: ["a"], purpose: "query", dimensions, deadline: aborted });
      const answer = await ask.catch((error: unknown) => error);
      must(answer === reason || Array.isArray(answer), "an abort with another reason");
    }),
  );
}

async function pair(all: Promise<readonly Embedding[]>): Promise<[Embedding | undefined, Embedding | undefined]> {
  const [first, second] = await all;
  return [first, second];
}

function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

function mustBeNear(a: Embedding | undefined, b: Embedding | undefined, of: string, near: number = NEAR): void {
  must(a !== undefined && b !== undefined, `no embedding of '${of}'`);
  if (a === undefined || b === undefined) return;
  must(a.values.length === b.values.length, `embeddings of '${of}' of different lengths`);
  const apart = a.values.reduce((most, value, index) => Math.max(most, Math.abs(value - (b.values[index] ?? 0))), 0);
  must(apart <= near, `embeddings of '${of}' alone and among others are ${apart} apart`);
}
