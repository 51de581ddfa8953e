/** Moves the example in, asks its queries, and moves it out: `node dist/main.js NEW-DIRECTORY`. */
import { readFileSync } from "node:fs";
import process from "node:process";
import { ask, moveIn, moveOut, VESPA } from "./move.ts";

interface Asked {
  readonly why: string;
  readonly query: Readonly<Record<string, string>>;
}

const [, , directory = "back"] = process.argv;
const queries = JSON.parse(readFileSync(new URL("../queries.json", import.meta.url), "utf8")) as readonly Asked[];
const service = await moveIn(VESPA);
for (const { why, query } of queries) {
  console.log(`\n${why}\n  ${query["yql"]}`);
  const { root } = await ask(service, query);
  for (const { id, relevance, children } of root.children ?? []) {
    const [list] = children ?? [];
    if (list === undefined) console.log(`  ${id}  ${relevance}`);
    else for (const { value, fields } of list.children) console.log(`  ${value}: ${fields["count()"]}`);
  }
}
console.log(`\n${await moveOut(service, directory)}`);
await service.close();
