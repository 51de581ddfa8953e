/** The database of the playground: what was typed becomes a schema, documents, and a search. */
import * as brooklet from "brooklet/browser";
import { readDocuments, type Scripts, schemaOf, searchOf, Trial } from "./evaluation.ts";

/** What a search of the playground found. */
export interface Found {
  readonly result: brooklet.SearchResult<Readonly<Record<string, unknown>>> & {
    readonly facets?: Readonly<Record<string, readonly object[]>>;
  };
  readonly explanations: readonly brooklet.Explanation[];
  /** The schema file and the query as a server is given them. */
  readonly schema: string;
  readonly yql: string;
  readonly documents: number;
  readonly totalMs: number;
}

const GROUP = "me";

/** A database in memory with the documents that were typed; made anew when they or the schema change. */
export class Playground {
  #made:
    | {
        readonly of: string;
        readonly database: brooklet.BrowserDatabase;
        readonly schema: brooklet.AnySchema;
        readonly documents: number;
      }
    | undefined;
  readonly #trial: Pick<Trial, "run">;
  #before: Promise<unknown> = Promise.resolve();
  #latest = 0;

  /** `trial`: what programs have to pass before they are run here. */
  constructor(trial: Pick<Trial, "run"> = new Trial()) {
    this.#trial = trial;
  }

  /** Runs what was typed, when what was begun before is done: that has the database. Nothing, if more was typed by then. */
  run(scripts: Scripts): Promise<Found | undefined> {
    this.#latest += 1;
    const number = this.#latest;
    const found = this.#before.then(() => (number === this.#latest ? this.#find(scripts) : undefined));
    this.#before = found.catch(() => undefined);
    return found;
  }

  async #find(scripts: Scripts): Promise<Found> {
    await this.#trial.run(scripts);
    const { schema: schemaScript, documents, search } = scripts;
    const of = JSON.stringify([schemaScript, documents]);
    if (this.#made?.of !== of) await this.#make(of, schemaScript, documents);
    if (this.#made === undefined) throw new Error("There is no database");
    const { database, schema, documents: count } = this.#made;
    const { options, yql } = searchOf(search, schema);
    const before = performance.now();
    const result = (await database.group(GROUP).search(schema, options)) as unknown as Found["result"];
    const totalMs = performance.now() - before;
    const explanations = result.hits.map((hit) => (hit as unknown as { explain(): brooklet.Explanation }).explain());
    return { result, explanations, schema: String(schema), yql, documents: count, totalMs };
  }

  async #make(of: string, schemaScript: string, documents: string): Promise<void> {
    await this.#made?.database.close();
    this.#made = undefined;
    const schema = schemaOf(schemaScript);
    const given = readDocuments(documents, schema);
    const database = await brooklet.open({ memory: true, schemas: [schema] });
    try {
      await database.group(GROUP).feed(schema, given as never);
    } catch (error) {
      await database.close();
      throw error;
    }
    this.#made = { of, database, schema, documents: given.length };
  }
}
