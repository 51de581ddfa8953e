/** The objects of the documentation and of `brooklet init`, whose one alarm is their own: what is left to be done has it ring, whatever failed. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openIn, schema, text, timestamp } from "../src/durable-object.ts";
import { StandInStorage } from "./object-storage.ts";

const HOUR_MS = 3_600_000;
/** A platform rings an alarm that fails so often. */
const RINGS = 7;

/** The storage of an object with its alarm, which takes no statement that begins so while it fails. */
class AlarmedStorage extends StandInStorage {
  failing: RegExp | undefined;
  alarmMs: number | null = null;

  constructor() {
    super();
    const { exec } = this.sql;
    this.sql.exec = (statement, ...bindings) => {
      if (this.failing?.test(statement)) throw new Error("disk I/O error: SQLITE_IOERR");
      return exec(statement, ...bindings);
    };
  }

  async getAlarm(): Promise<number | null> {
    return this.alarmMs;
  }

  async setAlarm(at: number | Date): Promise<void> {
    this.alarmMs = Number(at);
  }
}

interface Alarmed {
  alarm(rung: { readonly isRetry: boolean; readonly retryCount: number }): Promise<void>;
}

interface Shown<Shape extends Alarmed> {
  readonly class: new (ctx: { readonly storage: AlarmedStorage }, env: object) => Shape;
  write(object: Shape): Promise<unknown>;
  read(object: Shape): Promise<unknown>;
}

const resolved: Plugin = {
  name: "resolved",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^cloudflare:workers$/ }, () => ({ path: "platform", namespace: "platform" }));
    onLoad({ filter: /./, namespace: "platform" }, () => ({
      contents: "export class DurableObject { constructor(ctx, env) { Object.assign(this, { ctx, env }); } }",
    }));
    onResolve({ filter: /^brooklet\// }, ({ path }) => ({ path: import.meta.resolve(path), external: true }));
  },
};

/** What a module exports, whose types are the platform's. */
async function exported(contents: string, folder: URL): Promise<Record<string, unknown>> {
  const stdin = { contents, loader: "ts", resolveDir: fileURLToPath(folder) } as const;
  const { outputFiles } = await build({ stdin, bundle: true, format: "esm", write: false, plugins: [resolved] });
  return await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]?.contents ?? "").toString("base64")}`);
}

async function template(): Promise<Shown<Alarmed>> {
  const folder = new URL("../../create-brooklet/templates/worker/src/", import.meta.url);
  const { Notes } = await exported(await readFile(new URL("notes.ts", folder), "utf8"), folder);
  type Notes = Alarmed & { write(id: string, sent: object): Promise<unknown>; find(text: string): Promise<unknown> };
  return {
    class: Notes,
    write: (notes: Notes) => notes.write("1", { title: "Trip", body: "the train" }),
    read: (notes: Notes) => notes.find("train"),
  } as unknown as Shown<Alarmed>;
}

async function documented(): Promise<Shown<Alarmed>> {
  const page = new URL("../../../docs/durable-object.md", import.meta.url);
  const sample = /^```ts.*\n([\s\S]*?)^```$/m.exec(await readFile(page, "utf8"))?.[1] ?? "";
  const { Agent } = await exported(sample, new URL(".", page));
  type Agent = Alarmed & {
    remember(id: string, body: string): Promise<unknown>;
    recall(text: string): Promise<unknown>;
  };
  return {
    class: Agent,
    write: (agent: Agent) => agent.remember("1", "the train"),
    read: (agent: Agent) => agent.recall("train"),
  } as unknown as Shown<Alarmed>;
}

/** Has the time come at which the alarm is set, and rings it as a platform does. Whether it was done. */
async function ring(storage: AlarmedStorage, object: () => Alarmed): Promise<boolean> {
  vi.advanceTimersByTime(Math.max((storage.alarmMs ?? Number.NaN) - Date.now(), 0));
  for (let retryCount = 0; retryCount < RINGS; retryCount += 1) {
    storage.alarmMs = null;
    try {
      await object().alarm({ isRetry: retryCount > 0, retryCount });
      return true;
    } catch {
      // It is rung again, unless this was the last time.
    }
  }
  return false;
}

/** Whether anything of what is stored did not rest. */
async function isRestless(storage: AlarmedStorage): Promise<boolean> {
  const note = schema("note", { body: text(), at: timestamp() });
  const title = schema("note", { title: text(), body: text() });
  const database = await openIn(storage, { schemas: [note] }).catch(() => openIn(storage, { schemas: [title] }));
  const { restsAt } = database;
  await database.close();
  return restsAt !== undefined;
}

describe.each([
  ["the template", template],
  ["the documentation", documented],
])("the object of %s", (_, shownBy) => {
  test.each([
    ["does not rest", /^(INSERT|DELETE|DROP)/, "the same"],
    ["does not rest, and loses its memory", /^(INSERT|DELETE|DROP)/, "another"],
    ["cannot be opened", /./, "another"],
  ])("an object that %s as often as its alarm rings does so later", async (_, failing, instance) => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => void vi.useRealTimers().restoreAllMocks());
    const storage = new AlarmedStorage();
    const shown = await shownBy();
    const first = new shown.class({ storage }, {});
    await shown.write(first);
    expect(storage.alarmMs).not.toBe(null);
    storage.failing = failing;
    const object = () => (instance === "the same" ? first : new shown.class({ storage: anew(storage) }, {}));
    for (let times = 0; times < 2; times += 1) {
      await ring(storage, object);
      // Each alarm is a row: it is not set for at once.
      expect(storage.alarmMs).toBeGreaterThanOrEqual(Date.now() + HOUR_MS / 4);
    }
    storage.failing = undefined;
    expect(await ring(storage, object)).toBe(true);
    expect(await isRestless(storage)).toBe(false);
  });

  test("an object that lost its alarm sets it when it is asked", async () => {
    const storage = new AlarmedStorage();
    const shown = await shownBy();
    await shown.write(new shown.class({ storage }, {}));
    storage.alarmMs = null;
    await shown.read(new shown.class({ storage: anew(storage) }, {}));
    expect(storage.alarmMs).not.toBe(null);
  });
});

/** The same storage for an object that lost its memory. */
function anew(storage: AlarmedStorage): AlarmedStorage {
  return new Proxy(storage, {
    get: (target, name) => {
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
