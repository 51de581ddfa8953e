/**
 * Nobody reaches another's documents with a token of their own (T9): attempts over every surface, none of which shows or changes anything; and
 * the same attempts with the check taken out, which find it on every surface, so that they would.
 */
import type { GatewayOptions } from "@brooklet/gateway";
import { type RunningServer, startServer } from "@brooklet/gateway/node";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Connection, connect, int, schema, string, text } from "../src/index.ts";
import { openCluster } from "../src/node/threads.ts";
import { mcpOf } from "../src/service-mcp.ts";
import { groupToken } from "../src/token.ts";
import {
  ALL,
  type Attacker,
  attack,
  DOCUMENTS,
  fieldsOf,
  GROUPS,
  type Outcome,
  SURFACES,
  type Surface,
  VICTIMS,
} from "./cross-group.ts";
import { asking } from "./served.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
/** 100,000 by hand. */
const ATTEMPTS = Number(process.env["BROOKLET_CROSS_GROUP_ATTEMPTS"] ?? 2_600);
const SEED = Number(process.env["BROOKLET_CROSS_GROUP_SEED"] ?? 1);
const CALLS_OF_CLIENT = 500;
/** A machine that does much else takes a tenth of a second for one. */
const TIMEOUT_MS = 600_000 + ATTEMPTS * 100;
const note = schema("note", { title: text(), mark: string(), secret: string(), size: int() });

const cluster = openCluster({ threads: 0 });
let admin: Connection;

async function served(sabotage?: GatewayOptions["authorise"]): Promise<RunningServer> {
  const mcp = await mcpOf(cluster, true);
  const options = { port: 0, adminKeys: [KEY], ...(mcp && { mcp }), ...(sabotage && { authorise: sabotage }) };
  return await startServer(cluster, options);
}

/** Every victim's documents as they are meant to be. */
async function restored(): Promise<void> {
  for (const group of GROUPS)
    await Promise.all(
      Array.from({ length: DOCUMENTS }, (_, at) => admin.group(group).put(note, `n${at}`, fieldsOf(group, at))),
    );
}

/** What is stored of the victims, by id. */
async function stored(): Promise<Readonly<Record<string, unknown>>> {
  const found: [string, unknown][] = [];
  for (const group of VICTIMS) {
    const target = `/document/v1/note/note/group/${group}/?cluster=documents&wantedDocumentCount=100`;
    const { json } = await admin.request({ method: "GET", target });
    const { documents } = json as { readonly documents: readonly { readonly id: string; readonly fields: unknown }[] };
    for (const { id, fields } of documents) found.push([id, fields]);
  }
  return Object.fromEntries(found);
}

async function attackerOf({ port }: RunningServer): Promise<Attacker> {
  const options = { group: GROUPS[0], ttl: "2h" } as const;
  const tokens = [
    await groupToken(KEY, { ...options, verbs: ALL }),
    await groupToken(KEY, { ...options, verbs: ALL, schemas: ["note"] }),
    await groupToken(KEY, { ...options, verbs: ["get", "search"] }),
  ];
  const [all = ""] = tokens;
  const url = `http://127.0.0.1:${port}`;
  const requestInit = { headers: { authorization: `Bearer ${all}` } };
  const assistant = async (): Promise<McpClient> => {
    const client = new McpClient({ name: "attacker", version: "0" });
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    onTestFinished(() => client.close());
    return client;
  };
  const ask = asking(port);
  const stolen = new Map<string, string>();
  for (const group of VICTIMS) {
    const target = `/document/v1/note/note/group/${group}/?cluster=documents&wantedDocumentCount=1`;
    const { json } = await admin.request({ method: "GET", target });
    stolen.set(group, (json as { readonly continuation: string }).continuation);
  }
  let [asked, called] = [0, 0];
  let connected: Promise<McpClient> | undefined;
  return {
    ask,
    mcp: () => {
      // The protocol's client follows all of its requests by one signal, so that it is not asked without end.
      if (called % CALLS_OF_CLIENT === 0) connected = undefined;
      called += 1;
      connected ??= assistant();
      return connected;
    },
    note,
    stolen,
    client: connect({ url, key: all, retry: { attempts: 1 } }),
    authorization: () => {
      asked += 1;
      return `Bearer ${tokens[asked % tokens.length]}`;
    },
  };
}

let honest: RunningServer;

beforeAll(async () => {
  honest = await served();
  admin = await connect({ url: `http://127.0.0.1:${honest.port}`, key: KEY, schemas: [note] });
  await restored();
});
afterAll(async () => {
  await honest.close(100);
  await cluster.close();
});

const of = (counts: ReadonlyMap<Surface, number>): Readonly<Record<string, number>> => Object.fromEntries(counts);

test(`${ATTEMPTS} attempts show and change nothing of another's`, { timeout: TIMEOUT_MS }, async () => {
  const before = await stored();
  const meant = VICTIMS.flatMap((group) =>
    Array.from({ length: DOCUMENTS }, (_, at) => [`id:note:note:g=${group}:n${at}`, fieldsOf(group, at)] as const),
  );
  expect(before).toEqual(Object.fromEntries(meant));
  const startedAtMs = performance.now();
  const { leaks, attempts, answered, examples } = await attack(await attackerOf(honest), ATTEMPTS, SEED);
  expect(examples).toEqual([]);
  expect(of(leaks)).toEqual({});
  expect(await stored()).toEqual(before);
  // No surface was left out, and what is the attacker's own was answered: refusing everything is no way to pass.
  for (const surface of SURFACES)
    expect(attempts.get(surface)).toBeGreaterThanOrEqual(Math.floor(ATTEMPTS / SURFACES.length));
  expect(answered).toBeGreaterThan(ATTEMPTS / 20);
  const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
  process.stdout.write(`${ATTEMPTS} attempts, ${answered} answered with what is their own, 0 leaks, in ${seconds} s\n`);
});

describe("with the check taken out", () => {
  async function sabotaged(authorise: GatewayOptions["authorise"], surface: Surface): Promise<Outcome> {
    const server = await served(authorise);
    onTestFinished(() => server.close(100));
    return await attack(await attackerOf(server), 60, SEED, [surface]);
  }

  const readers = SURFACES.filter((surface) => !["write", "mass", "feed", "erase", "mcp"].includes(surface));
  test.each(readers)("%s shows what is another's", async (surface) => {
    await restored();
    const { leaks } = await sabotaged(() => "admin", surface);
    expect(leaks.get(surface) ?? 0).toBeGreaterThan(0);
  });

  test("mcp shows what is another's, where a token is taken for another", async () => {
    await restored();
    const { leaks } = await sabotaged(() => ({ groups: ["g1"], verbs: ALL }), "mcp");
    expect(leaks.get("mcp") ?? 0).toBeGreaterThan(0);
  });

  test.each(["write", "mass", "feed", "erase"] as const)("%s changes what is another's", async (surface) => {
    await restored();
    const before = await stored();
    await sabotaged(() => "admin", surface);
    expect(await stored()).not.toEqual(before);
  });
});
