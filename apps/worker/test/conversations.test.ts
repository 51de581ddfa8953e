/**
 * Recorded conversations with the Worker in the runtime of the platform, and with the gateway on Node: every answer has the same
 * status and the same bytes. What differs is listed with its reason (differences.json), and has to differ. That the answers of
 * Node are right is asserted elsewhere: packages/partition/test/conversations.test.ts, packages/brooklet/test/document-http.test.ts.
 */
import { createHmac } from "node:crypto";
import http from "node:http";
import { isDeepStrictEqual } from "node:util";
import { Core, instantiate } from "@brooklet/core";
import { createGateway, type Gateway } from "@brooklet/gateway";
import { GivenEmbedders } from "@brooklet/models";
import { LocalCluster, type PartitionKey } from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { memoryStorage } from "@brooklet/store";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  deploymentOf,
  feedRequest,
  HTTP_FILES,
  readRecording,
  requestOf,
} from "../../../packages/brooklet/test/talks/recorded.ts";
import { type Answer, answerOf, promised, type Request } from "../../../packages/brooklet/test/talks/talk.ts";
import {
  applicationOf,
  conversationFiles,
  feedOf,
  keyOf,
  modelRunner,
  type Recorded,
  readApplication,
  recordedIn,
  runsOf,
  type Step,
} from "../../../packages/partition/test/conversation-rows.ts";
import { openSql } from "../../../packages/partition/test/setting.ts";
import { addressOf } from "../src/node/workerd.ts";
import differences from "./differences.json" with { type: "json" };
import { objectOf, startTested } from "./objects.ts";

const CACHE_BYTES = 16 << 20;
const SEAL_KEY_BYTES = 16;
const OVERRIDDEN = ["schema-removal", "field-type-change", "indexing-change", "content-cluster-removal"];
const DAY_MS = 86_400_000;
/** Who is talked with. */
interface House {
  send(request: Request): Promise<Answer>;
  fold(key: PartitionKey): Promise<unknown>;
}

/** What stands for any answer to a deployment that was taken: they tell numbers of deployments, and the overrides. */
const DEPLOYED: Answer = { status: 200, contentType: "", allow: "", body: "" };

/** What is called of an object by a test alone. */
interface GroupObject {
  rest(): Promise<void>;
  erase(): Promise<unknown>;
}

/** The gateway of Node and the Worker. */
type Houses = readonly [node: House, edge: House];

/** A step, and what both answered. */
interface Asked {
  readonly step: unknown;
  readonly answers: readonly [node: Answer, edge: Answer];
}

const talks = recordedIn(conversationFiles());
const recordings = HTTP_FILES.flatMap((file) =>
  readRecording(file).conversations.map(({ name, steps }) => ({ about: `${file}: ${name}`, file, steps })),
);

let workerd: Miniflare;
let url: string;
let sealKey: Uint8Array;

/** A Worker is talked with over HTTP/1.1, with every target as it stands. */
function worker(): House {
  const agent = new http.Agent({ keepAlive: true });
  const send = async (request: Request): Promise<Answer> => {
    // A connection may have been closed meanwhile: then nobody has read what was sent.
    for (;;) {
      const answer = await sendOn(agent, request);
      if (answer !== undefined) return answer;
    }
  };
  return { send, fold: async (key) => groupObject(key).rest() };
}

/** The answer, or nothing where a kept connection was closed before. */
function sendOn(agent: http.Agent, { method, target, body, headers = {} }: Request): Promise<Answer | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const asked = http.request({ agent, hostname, port, method, path: target, headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const { statusCode = 0 } = response;
      const headers = response.headers as Readonly<Record<string, string>>;
      resolve(answerOf(statusCode, (name) => headers[name] ?? null, Buffer.concat(chunks)));
    });
    asked.on("error", (cause) => {
      if (asked.reusedSocket) resolve(undefined);
      else reject(new Error(`${method} ${target} was not answered`, { cause }));
    });
    asked.end(body);
  });
}

/** The object of a partition, asked itself. */
const groupObject = (key: string): GroupObject => objectOf(workerd, "GROUP", key);

/** A gateway of Node, in this process. */
function gatewayHouse(gateway: Gateway, cluster: LocalCluster): House {
  const send = async ({ method, target, body, headers = {} }: Request): Promise<Answer> => {
    const sent = body === undefined ? { method, headers } : { method, headers, body: body as BodyInit };
    const response = await gateway.fetch(`http://localhost${target}`, sent);
    const bytes = new Uint8Array(await response.arrayBuffer());
    return answerOf(response.status, (name) => response.headers.get(name), bytes);
  };
  return { send, fold: (key) => cluster.maintain(key) };
}

function makeCore(): Core {
  return new Core({ instantiate, cacheBytes: CACHE_BYTES, sealKey });
}

/** A cluster in memory. Those that have the same application may have the same core: each store in it is one of its own. */
function localCluster(core: Core, runs: ReturnType<typeof runsOf> = []): LocalCluster {
  return new LocalCluster({
    storage: memoryStorage(openSql),
    makeEngine: () => core,
    surroundings: nodeSurroundings,
    modelRunner: modelRunner(runs),
    // As the Worker has them: it is configured with none.
    embedder: new GivenEmbedders([], "in a Worker"),
  });
}

async function start(): Promise<void> {
  workerd = startTested();
  url = await addressOf(workerd);
  const registry = objectOf<{ secret(): Promise<Uint8Array> }>(workerd, "REGISTRY", "registry");
  // What comes back of a grouping is sealed: with the same key it is the same.
  sealKey = createHmac("sha256", await registry.secret())
    .update("grouping")
    .digest()
    .subarray(0, SEAL_KEY_BYTES);
}

/** What differs of a conversation or a request: the answer of the Worker to all that is answered otherwise. */
function differenceOf(name: string) {
  const found = differences.filter(({ about }) => about.includes(name));
  expect(found.length).toBeLessThanOrEqual(1);
  return found[0];
}

test("every difference has a reason, and is of a conversation", () => {
  const names = new Set([...talks.map(({ about }) => about), ...recordings.map(({ about }) => about)]);
  expect(names.size).toBe(talks.length + recordings.length);
  for (const { reason, says, about } of differences) {
    expect(reason).not.toBe("");
    expect(says).not.toBe("");
    expect(about.filter((name) => !names.has(name))).toEqual([]);
  }
});

/** Compares the answers to the steps of a conversation. */
function compare(about: string, asked: readonly Asked[]): void {
  const difference = differenceOf(about);
  let differing = 0;
  for (const { step, answers } of asked) {
    const [expected, answer] = answers.map(promised);
    if (difference === undefined || isDeepStrictEqual(answer, expected)) {
      expect([step, answer]).toEqual([step, expected]);
      continue;
    }
    differing += 1;
    expect([step, answers[1]]).toEqual([
      step,
      expect.objectContaining({ status: difference.status, body: expect.stringContaining(difference.says) }),
    ]);
  }
  // One that is listed has to differ.
  expect(differing > 0).toBe(difference !== undefined);
}

describe("search and documents", () => {
  beforeAll(start);
  afterAll(() => workerd.dispose());

  /** What the Worker and the core of Node have: deployed once for all conversations that follow one another with the same. */
  let deployed = "";
  let core: Core;

  async function deploy(to: House, recorded: Recorded): Promise<Answer> {
    const files = new Map(applicationOf(recorded));
    const name = JSON.stringify([...files].map(([path, bytes]) => [path, Buffer.from(bytes).toString("hex")]));
    if (name === deployed) return DEPLOYED;
    [deployed, core] = ["", makeCore()];
    if (!files.has("validation-overrides.xml")) files.set("validation-overrides.xml", overrides());
    const answer = await to.send(deploymentOf(files));
    if (answer.status !== 200) return answer;
    deployed = name;
    return DEPLOYED;
  }

  /** All that is answered in a conversation, after what is fed before, by each of them. */
  async function hold(houses: Houses, { file, conversation }: Recorded, folded: boolean): Promise<Asked[]> {
    const feed = feedOf(file);
    const asked: Asked[] = [];
    const fold = (key: PartitionKey): Promise<unknown> => Promise.all(houses.map((house) => house.fold(key)));
    if (feed.length > 0) {
      const told = await bothTo(houses, feedRequest(feed));
      const sum = JSON.stringify({
        operations: feed.length,
        applied: feed.length,
        failed: 0,
        ignored: 0,
        failures: [],
      });
      expect(told.map(({ body }) => body.trimEnd().split("\n").at(-1))).toEqual([sum, sum]);
    }
    if (folded) for (const key of keysOf(feed)) await fold(key);
    for (const step of conversation.steps) {
      if (step.compact === undefined) asked.push({ step, answers: await both(houses, step) });
      else await fold(step.compact as PartitionKey);
    }
    return asked;
  }

  test.each(talks.map((recorded) => [recorded.about, recorded] as const))("%s", async (about, recorded) => {
    const house = worker();
    for (const folded of feedOf(recorded.file).length === 0 ? [false] : [false, true]) {
      const here = await deploy(house, recorded);
      const cluster = localCluster(core, runsOf(recorded));
      const node = gatewayHouse(createGateway({ cluster }), cluster);
      const there = await node.send(deploymentOf(applicationOf(recorded)));
      if (there.status !== 200) expect(here).toEqual(there);
      else {
        expect(here).toBe(DEPLOYED);
        compare(about, await hold([node, house], recorded, folded));
      }
      await cluster.close();
      for (const key of keysOf([...feedOf(recorded.file), ...(recorded.conversation.steps ?? [])]))
        await groupObject(key).erase();
    }
  });
});

/** What each of them answers to a step; to a search in the same second, as there are some that tell the time. */
async function both(houses: Houses, step: Step): Promise<readonly [Answer, Answer]> {
  const request = requestOf(step);
  for (;;) {
    const second = secondNow();
    const answers = await bothTo(houses, request);
    if (step.search === undefined || secondNow() === second) return answers;
  }
}

async function bothTo([node, edge]: Houses, request: Request): Promise<readonly [Answer, Answer]> {
  return [await node.send(request), await edge.send(request)];
}

describe.each(HTTP_FILES)("over HTTP: %s", (name) => {
  const { application } = readRecording(name);
  let cluster: LocalCluster;
  let houses: Houses;

  beforeAll(async () => {
    await start();
    cluster = localCluster(makeCore());
    houses = [gatewayHouse(createGateway({ cluster }), cluster), worker()];
    const files = readApplication(application);
    expect(await bothTo(houses, deploymentOf(files))).toMatchObject([{ status: 200 }, { status: 200 }]);
  });

  afterAll(async () => {
    await cluster.close();
    await workerd.dispose();
  });

  const ofFile = recordings.filter(({ file }) => file === name);

  test.each(ofFile.map(({ about, steps }) => [about, steps] as const))("%s", async (about, steps) => {
    const asked: Asked[] = [];
    for (const step of steps) asked.push({ step, answers: await bothTo(houses, step) });
    compare(about, asked);
  });
});

function secondNow(): number {
  return Math.floor(Date.now() / 1_000);
}

/** The partitions of what is written. */
function keysOf(steps: readonly Step[]): ReadonlySet<PartitionKey> {
  const ids = steps.flatMap(({ put, update }) => put ?? update ?? []);
  return new Set(ids.map(keyOf));
}

/** Lets one application follow another, whatever it is. */
function overrides(): Uint8Array {
  const until = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
  const allowed = OVERRIDDEN.map((id) => `<allow until="${until}">${id}</allow>`);
  return Buffer.from(`<validation-overrides>${allowed.join("")}</validation-overrides>`);
}
