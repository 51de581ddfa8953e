/** What an operator bounds: groups over HTTP, and every limit by its name, in an option or a file. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { connect, open, type RunningService, schema, serve, text } from "../src/index.ts";
import { folder } from "./served.ts";

const note = schema("note", { body: text() });

async function served(options: Parameters<typeof serve>[0]): Promise<RunningService> {
  const path = join(folder(), "data");
  await (await open({ path, schemas: [note] })).close();
  const service = await serve({ path, port: 0, adminKeys: [], ...options });
  onTestFinished(() => service.close());
  return service;
}

describe("a group", () => {
  test.each([0, 2])("of as many documents as it may have takes no more, with %i threads", async (threads) => {
    const service = await served({ threads, documentsPerGroup: 3 });
    const connection = await connect({ url: service.url, schemas: [note], retry: { attempts: 1 } });
    const alice = connection.group("alice");
    for (const id of ["1", "2", "3"]) await alice.put(note, id, { body: "b" });
    const refusal = await alice.put(note, "4", { body: "b" }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "INSUFFICIENT_STORAGE", status: 507, outcome: "not_applied" });
    expect((refusal as Error).message).toContain("may have 3 documents and has 3 (limit L-group)");
    await alice.put(note, "3", { body: "anew" });
    await connection.group("bob").put(note, "1", { body: "b" });
    await alice.remove(note, "1");
    await alice.put(note, "4", { body: "b" });
    const fed = Array.from({ length: 5 }, (_, id) => ({ id: `f${id}`, fields: { body: "b" } }));
    await expect(connection.group("carol").feed(note, fed)).rejects.toThrow(/2 of 5 operations failed.*limit L-group/);
  });
});

describe("limits by their names", () => {
  test("hold, and are told at /limits", async () => {
    const service = await served({
      threads: 0,
      limits: { bodyBytes: 2_000, searches: { queued: 7 }, connectionsOfAddress: 5, documentsPerGroup: 9 },
      bytesPerGroup: 1_000_000,
    });
    const { limits } = (await (await fetch(`${service.url}/limits`)).json()) as {
      limits: Record<string, { limit: string; value: unknown; default?: unknown }>;
    };
    expect(limits["bodyBytes"]).toEqual({ limit: "L-body", value: 2_000, default: 8 << 20 });
    expect(limits["searches"]?.value).toEqual({ running: 256, queued: 7, waitMs: 200 });
    expect(limits["connectionsOfAddress"]).toEqual({ limit: "L-conn", value: 5, default: 128 });
    expect(limits["documentsPerGroup"]?.value).toBe(9);
    expect(limits["bytesPerGroup"]?.value).toBe(1_000_000);
    expect(limits["headerCount"]).toEqual({ limit: "L-head", value: 100 });
    const body = JSON.stringify({ fields: { body: "b".repeat(3_000) } });
    const headers = { "content-type": "application/json" };
    const put = await fetch(`${service.url}/document/v1/note/note/group/a/1`, { method: "POST", headers, body });
    expect(put.status).toBe(413);
  });

  test.each([
    [{ bodyByte: 1 }, "there is no 'bodyByte'; did you mean 'bodyBytes'?"],
    [{ nonsense: 1 }, "there is no 'nonsense'; there are bodyBytes, "],
    [{ bodyBytes: "8 MiB" }, 'bodyBytes is "8 MiB": give a whole number from 1 to 104857600'],
    [{ bodyBytes: 1e12 }, "bodyBytes is 1000000000000: give a whole number from 1 to 104857600"],
    [{ searches: 8 }, "searches has parts: running, queued, waitMs"],
    [{ searches: { que: 8 } }, "there is no 'searches.que'; did you mean 'searches.queued'?"],
    [{ visits: { running: 0 } }, "visits.running is 0: give a whole number from 1 to"],
  ])("that are none are refused before anything is opened: %j", async (limits, told) => {
    const data = join(folder(), "data");
    await expect(serve({ path: data, port: 0, limits: limits as never })).rejects.toThrow(told);
    const file = join(folder(), "limits.json");
    writeFileSync(file, JSON.stringify(limits));
    const warned: string[] = [];
    const surroundings = {
      print: () => undefined,
      warn: (line: string) => void warned.push(line),
      progress: () => undefined,
      input: (async function* () {})(),
      untilEnded: async () => undefined,
    };
    const code = await runCommandLine(["serve", "--data", data, "--port", "0", "--limits", file], surroundings);
    expect([code, warned.join()]).toEqual([2, expect.stringContaining(told)]);
    expect(warned.join()).toContain(file);
  });
});
