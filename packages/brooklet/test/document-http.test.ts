/**
 * Conversations with `/document/v1` that were recorded from the reference implementation's own handler, held with the
 * gateway over the shipped core. Statuses, ids, fields and paths are compared; of a message only that there is one,
 * since clients rely on no more. What differs on purpose stands below, with its reason. Conversations that are documented
 * and not recorded say themselves how a message begins.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createGateway, encodePackage } from "@brooklet/gateway";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openCluster } from "../src/node/threads.ts";

interface Answer {
  readonly status: number;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Step {
  readonly method: string;
  readonly target: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expect: Answer;
}

/** What differs on purpose: conversations by name, with the statuses that are answered to their steps. */
interface Differing {
  readonly reason: string;
  readonly conversations: Readonly<Record<string, readonly number[]>>;
}

interface Recorded {
  readonly application: string;
  /** They are of the documentation, and none of them differs. */
  readonly documented?: boolean;
  readonly conversations: readonly { readonly name: string; readonly steps: readonly Step[] }[];
}

/** A difference on purpose: requests it is about, and the status that is answered instead. */
interface Difference {
  readonly reason: string;
  readonly about: (step: Step) => boolean;
  readonly status: number;
}

const isOfMissing = ({ method, expect: { body } }: Step): boolean =>
  method === "PUT" && body?.["message"] === "Document not found.";
const isOfUnknownType = ({ target }: Step): boolean => target.startsWith("/document/v1/ns/nosuch/");

const DIFFERENCES: readonly Difference[] = [
  {
    reason: "document-ids-and-feed §2: the content layer takes an update of a missing document for done",
    about: isOfMissing,
    status: 200,
  },
  {
    reason:
      "document-ids-and-feed §3.2: a dense tensor has as many values as its type says, a document with fewer is refused",
    about: ({ body }) => body === '{"fields": {"emb": [1, 2]}}',
    status: 400,
  },
  {
    reason: "reliability U8: a type that does not exist is refused whatever is asked of it",
    about: (step) => isOfUnknownType(step) && step.method !== "POST" && !step.target.includes("dryRun"),
    status: 400,
  },
];

const vectors = fileURLToPath(new URL("../../../test-vectors", import.meta.url));
const FILES = [
  "document-v1.json",
  "document-v1-more.json",
  "document-v1-types.json",
  "document-v1-documented.json",
  "document-v1-clusters.json",
];
const conversations = FILES.flatMap((name) => {
  const read = JSON.parse(readFileSync(join(vectors, "http", name), "utf8")) as Recorded;
  const { application, documented = false } = read;
  return read.conversations.map((conversation) => ({ ...conversation, application, documented }));
});
const differing = JSON.parse(readFileSync(join(vectors, "http/differences.json"), "utf8")) as readonly Differing[];
const applications = [...new Set(conversations.map(({ application }) => application))].map((name) => {
  const cluster = openCluster({ threads: 0 });
  return { name, cluster, gateway: createGateway({ cluster }) };
});
type Gateway = (typeof applications)[number]["gateway"];

/** The files of an application. */
function packageOf(application: string): Uint8Array {
  const folder = join(vectors, "applications", application);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const content = files.map(({ parentPath, name }) => {
    const path = join(parentPath, name);
    return { path: path.slice(folder.length + 1).replaceAll("\\", "/"), content: readFileSync(path) };
  });
  return encodePackage(content);
}

beforeAll(async () => {
  for (const { name, cluster } of applications) await cluster.deploy(packageOf(name));
});

afterAll(async () => {
  for (const { cluster } of applications) await cluster.close();
});

/** What is promised of a body: our own members, the words of a message, a token and the order of a visit are not. */
function promised(body: Readonly<Record<string, unknown>> | undefined): unknown {
  if (body === undefined) return undefined;
  const { code: _code, outcome: _outcome, message, documents, continuation, trace: _trace, ...rest } = body;
  const visited = documents as readonly { readonly id: string }[] | undefined;
  const sorted = visited && { documents: [...visited].sort((left, right) => (left.id < right.id ? -1 : 1)) };
  return { ...rest, ...sorted, message: typeof message, continuation: typeof continuation };
}

/** The in-memory documents end a visit without a code of completion, which the handler takes for a failure. */
function statusOf({ status, body }: Answer): number {
  return status === 500 && body?.["documents"] !== undefined && body["message"] === undefined ? 200 : status;
}

async function send(gateway: Gateway, { method, target, body, headers }: Step): Promise<Answer> {
  const request = { method, headers: headers ?? {}, ...(body === undefined ? {} : { body }) };
  const response = await gateway.fetch(`http://localhost${target}`, request);
  const text = await response.text();
  const kept = ["allow"].flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const answer = { status: response.status, headers: Object.fromEntries(kept) };
  return text === "" ? answer : { ...answer, body: JSON.parse(text) as Record<string, unknown> };
}

test("there are enough of them", () => {
  const steps = conversations.flatMap((conversation) => conversation.steps);
  expect(steps.length).toBeGreaterThanOrEqual(4_900);
  const names = new Set(conversations.map(({ name }) => name));
  expect(differing.flatMap((of) => Object.keys(of.conversations)).filter((name) => !names.has(name))).toEqual([]);
  for (const { reason, about } of DIFFERENCES) expect([reason, steps.some(about)]).toEqual([reason, true]);
});

test.each(conversations)("$name", async ({ name, application, documented, steps }) => {
  const gateway = applications.find((of) => of.name === application)?.gateway;
  if (gateway === undefined) throw new Error(`nobody serves ${application}`);
  const statuses = differing.find((of) => Object.hasOwn(of.conversations, name))?.conversations[name];
  if (statuses !== undefined) {
    const seen: number[] = [];
    for (const step of steps) seen.push((await send(gateway, step)).status);
    expect(seen).toEqual(statuses);
    return;
  }
  for (const step of steps) {
    const told = `${step.method} ${step.target} ${step.body ?? ""}`;
    const answer = await send(gateway, step);
    const different = documented ? undefined : DIFFERENCES.find(({ about }) => about(step));
    if (different !== undefined) {
      expect([told, answer.status]).toEqual([told, different.status]);
      continue;
    }
    expect([told, answer.status, promised(answer.body)]).toEqual([
      told,
      statusOf(step.expect),
      promised(step.expect.body),
    ]);
    const message = documented ? step.expect.body?.["message"] : undefined;
    if (message !== undefined) {
      expect([told, `${answer.body?.["message"]}`.slice(0, `${message}`.length)]).toEqual([told, message]);
    }
    if (step.expect.headers?.["allow"] !== undefined && step.method === "OPTIONS") {
      expect([told, answer.headers?.["allow"]]).toEqual([told, step.expect.headers["allow"]]);
    }
  }
});
