/** A group of a database of its own in this process, and one of a server, for tests of what has to be the same by both. */
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { type AnySchema, type Client, connect, type Group, open } from "../src/index.ts";

/** What it is called, and a group that nothing was put into. */
export type Door = readonly [name: string, group: () => Promise<Group>];

/** Both of them, with these schemas; one server for the whole file. */
export function doorsOf(...schemas: readonly AnySchema[]): readonly Door[] {
  let served: Client;
  const stopping = new AbortController();
  beforeAll(async () => {
    // What was built, for its threads.
    const { serve } = (await import(
      new URL("../dist/index.js", import.meta.url).href
    )) as typeof import("../src/index.ts");
    const service = await serve({ port: 0 });
    stopping.signal.addEventListener("abort", () => void service.close());
    served = connect({ url: service.url });
    await served.deploy([...schemas]);
  });
  afterAll(() => stopping.abort());
  const names = Array.from({ length: 100 }, (_, index) => `alice-${index}`).values();
  const inProcess = async (): Promise<Group> => {
    const db = await open({ schemas: [...schemas] });
    onTestFinished(() => db.close());
    return db.group("alice");
  };
  return [
    ["in process", inProcess],
    ["over HTTP", async () => served.group(names.next().value ?? "")],
  ];
}
