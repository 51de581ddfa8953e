/** The way in and out again, with the commands that one would type; and queries as clients of the Vespa send them. */
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type RunningService, serve } from "brooklet";

const run = promisify(execFile);
const COMMAND = createRequire(import.meta.url)
  .resolve("brooklet/package.json")
  .replace("package.json", "bin/brooklet.js");

/** What is there of a Vespa. */
export const VESPA = {
  application: fileURLToPath(new URL("../application", import.meta.url)),
  dump: fileURLToPath(new URL("../dump.jsonl", import.meta.url)),
};

/** An answer in Vespa's form, as far as it is looked at. */
export interface Answer {
  readonly root: {
    readonly fields?: { readonly totalCount?: number };
    readonly children?: readonly {
      readonly id: string;
      readonly relevance: number;
      readonly children?: readonly {
        readonly children: readonly { readonly value: string; readonly fields: Readonly<Record<string, number>> }[];
      }[];
    }[];
  };
}

/** A package and a dump that are served: deployed as they are, in memory unless there is a `path`. */
export async function moveIn({ application, dump }: typeof VESPA, path?: string): Promise<RunningService> {
  const service = await serve({ application, port: 0, ...(path === undefined ? {} : { path }) });
  await brooklet("feed", dump, "--url", service.url);
  return service;
}

/** Asks as a client of the Vespa does. */
export async function ask({ url }: RunningService, query: Readonly<Record<string, string>>): Promise<Answer> {
  const answer = await fetch(`${url}/search/?${new URLSearchParams(query)}`);
  return (await answer.json()) as Answer;
}

/** Writes package and documents as files that a Vespa takes. */
export async function moveOut({ url }: RunningService, directory: string): Promise<string> {
  return await brooklet("export", directory, "--to", "vespa", "--url", url);
}

async function brooklet(...words: readonly string[]): Promise<string> {
  return (await run(process.execPath, [COMMAND, ...words])).stdout.trim();
}
