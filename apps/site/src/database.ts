/** The database of the playground: what was typed becomes a schema, documents, and a search. */
import * as brooklet from "brooklet/browser";

/** What the scripts of the editors make. */
export interface Scripts {
  readonly schema: string;
  readonly documents: string;
  readonly search: string;
}

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

type Search = brooklet.SearchOptions<brooklet.AnySchema>;

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
  #before: Promise<unknown> = Promise.resolve();
  #latest = 0;

  /** Runs what was typed, when what was begun before is done: that has the database. Nothing, if more was typed by then. */
  run(scripts: Scripts): Promise<Found | undefined> {
    this.#latest += 1;
    const number = this.#latest;
    const found = this.#before.then(() => (number === this.#latest ? this.#find(scripts) : undefined));
    this.#before = found.catch(() => undefined);
    return found;
  }

  async #find({ schema: schemaScript, documents, search }: Scripts): Promise<Found> {
    const of = JSON.stringify([schemaScript, documents]);
    if (this.#made?.of !== of) await this.#make(of, schemaScript, documents);
    if (this.#made === undefined) throw new Error("There is no database");
    const { database, schema, documents: count } = this.#made;
    const options = { ...(evaluateScript(search) as Search), timing: true, explain: true } as const;
    const yql = String(brooklet.query(schema, options));
    const before = performance.now();
    const result = (await database.group(GROUP).search(schema, options)) as unknown as Found["result"];
    const totalMs = performance.now() - before;
    const explanations = result.hits.map((hit) => (hit as unknown as { explain(): brooklet.Explanation }).explain());
    return { result, explanations, schema: String(schema), yql, documents: count, totalMs };
  }

  async #make(of: string, schemaScript: string, documents: string): Promise<void> {
    await this.#made?.database.close();
    this.#made = undefined;
    let last: brooklet.AnySchema | undefined;
    const recorded = ((...all: Parameters<typeof brooklet.schema>) => {
      last = brooklet.schema(...all);
      return last;
    }) as typeof brooklet.schema;
    evaluateScript(schemaScript, { schema: recorded });
    if (last === undefined) throw new Error('The schema is missing: schema("mail", { subject: text() })');
    const schema = last;
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

/** Runs a script with all names of brooklet; gives what it gives. */
function evaluateScript(script: string, instead: Partial<typeof brooklet> = {}): unknown {
  let given: unknown;
  const names: Readonly<Record<string, unknown>> = { ...brooklet, ...instead };
  const give = (value: unknown): void => {
    given = value;
  };
  new Function(...Object.keys(names), "give", `"use strict";\n${script}`)(...Object.values(names), give);
  return given;
}

/** Documents as a list, one a line, or an expression that makes them; texts where a point in time is wanted are read as one. */
function readDocuments(
  script: string,
  schema: brooklet.AnySchema,
): readonly { readonly id: string; readonly fields: object }[] {
  const text = script.trim();
  const list = !text.startsWith("{")
    ? text.replace(/;$/, "")
    : `[${text
        .split(/\n(?=\{)/)
        .map((line) => line.replace(/[,;]\s*$/, ""))
        .join(",")}]`;
  const documents = evaluateScript(`give(${list});`);
  if (!Array.isArray(documents)) throw new Error("Documents are a list: [{ id: 'm1', … }]");
  const times = Object.keys(schema.fields).filter(
    (name) => schema.fields[name]?.codec.zod.safeParse(new Date(0)).success,
  );
  return documents.map((document: Readonly<Record<string, unknown>>, index) => {
    const { id = `d${index + 1}`, ...given } = document;
    const read = Object.entries(given).map(([name, value]) => {
      const isTime = times.includes(name) && typeof value === "string";
      return [name, isTime ? new Date(value) : value];
    });
    return { id: String(id), fields: Object.fromEntries(read) as object };
  });
}
