/**
 * A database in somebody's own object beside one in a process of Node: `openIn` and `open`, the same searches. Each request has many of
 * them, so that what is measured is searches and not requests.
 */
import { workerModules } from "../../tools/worker.mjs";
import { startProcess, startScript } from "./places.mjs";

const AGENT = new URL("agent.mjs", import.meta.url).pathname;

/** A process with a database in memory, which does what a request says. */
export function startOwnProcess() {
  const [brooklet, notes] = ["../../packages/brooklet/dist/index.js", "notes.mjs"].map((place) =>
    JSON.stringify(new URL(place, import.meta.url).href),
  );
  return startProcess(`import { createServer } from "node:http";
    import { text } from "node:stream/consumers";
    const [{ open }, { fillGroup, note, recall }] = [await import(${brooklet}), await import(${notes})];
    const database = await open({ schemas: [note] });
    const group = database.group("me");
    const verbs = { fill: () => fillGroup(group), recall: (...asked) => recall(group, ...asked) };
    const server = createServer(async (request, response) => {
      const [verb, ...asked] = JSON.parse(await text(request));
      response.end(JSON.stringify((await verbs[verb](...asked)) ?? null));
    });
    server.listen(0, "127.0.0.1", () => console.log("http://127.0.0.1:" + server.address().port));`);
}

/** A Worker with such an object. */
export async function startOwnObject() {
  return await startScript({
    ...(await workerModules(AGENT)),
    durableObjects: { AGENT: { className: "Agent", useSQLite: true } },
  });
}
