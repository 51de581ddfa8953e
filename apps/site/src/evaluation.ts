/** What was typed, as schema, documents and search; and a trial of it in a worker, which can be ended where the page could not. */
import * as brooklet from "brooklet/browser";

/** What the scripts of the editors make. */
export interface Scripts {
  readonly schema: string;
  readonly documents: string;
  readonly search: string;
}

type Search = brooklet.SearchOptions<brooklet.AnySchema>;

/** How long a program may take. */
const LONGEST_MS = 5_000;

declare const Worker: new (
  script: URL,
  options: { readonly type: "module" },
) => Record<"onmessage" | "onerror", () => void> & { postMessage(message: Scripts): void; terminate(): void };

/** Programs are tried before the page runs them: one that does not end would take the page with it. */
export class Trial {
  #worker: InstanceType<typeof Worker> | undefined;

  /** Kept when the program ends, whatever comes of it; there is one at a time. */
  run(scripts: Scripts): Promise<void> {
    this.#worker ??= new Worker(new URL("./trial.js", import.meta.url), { type: "module" });
    const worker = this.#worker;
    return new Promise((ended, reject) => {
      const timer = setTimeout(() => {
        worker.terminate();
        this.#worker = undefined;
        reject(new Error(`The program does not end: it was stopped after ${LONGEST_MS / 1_000} seconds`));
      }, LONGEST_MS);
      worker.onmessage = worker.onerror = () => {
        clearTimeout(timer);
        ended();
      };
      worker.postMessage(scripts);
    });
  }
}

/** The last schema that a script makes. */
export function schemaOf(script: string): brooklet.AnySchema {
  let last: brooklet.AnySchema | undefined;
  const recorded = ((...all: Parameters<typeof brooklet.schema>) => {
    last = brooklet.schema(...all);
    return last;
  }) as typeof brooklet.schema;
  evaluateScript(script, { schema: recorded });
  if (last === undefined) throw new Error('The schema is missing: schema("mail", { subject: text() })');
  return last;
}

/** The search that a script gives, and its query as a server is given it. */
export function searchOf(script: string, schema: brooklet.AnySchema) {
  const options = { ...(evaluateScript(script) as Search), timing: true, explain: true } as const;
  return { options, yql: String(brooklet.query(schema, options)) };
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
export function readDocuments(
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
