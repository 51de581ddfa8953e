/**
 * Servers over an object store of which each request in turn that something makes fails, or meets another server, or is the last of a server that is killed: what was
 * acknowledged is there, what was refused is wholly there or not at all, for all servers; it is done when it is asked again, and nothing is left.
 * The usual run takes one request of each; BROOKLET_STORE_FAULTS=1 takes each, any other number every so many of them, from BROOKLET_SEED on.
 */
import process from "node:process";
import { expect, test } from "vitest";
import { FAULTS, type Fault, FaultyServer, WITH_TAG } from "./store-faults-setting.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 16));
const EVERY = Number(process.env["BROOKLET_STORE_FAULTS"] ?? 0);

interface Act {
  readonly name: string;
  readonly before: (server: FaultyServer) => Promise<unknown>;
  readonly act: (server: FaultyServer) => Promise<unknown>;
  /** Nobody else writes meanwhile: it looks at all there is. */
  readonly isAlone?: boolean;
}

const some = (count: number, from = 0): string[] => Array.from({ length: count }, (_, at) => String(from + at));
const nothing = async (): Promise<void> => undefined;
const deployed = (server: FaultyServer): Promise<unknown> => server.deploy();
const withTail = async (server: FaultyServer): Promise<void> => {
  await server.deploy();
  for (const name of some(6)) await server.write("put", name, Number(name));
};
const withSegment = async (server: FaultyServer): Promise<void> => {
  await server.deploy();
  await server.feed(some(40), 3);
  await server.fold();
};

const ACTS: readonly Act[] = [
  { name: "the first opening and deployment", before: nothing, act: deployed },
  {
    name: "an opening and a put",
    before: (server) => withTail(server).then(() => server.reopen()),
    act: (server) => server.write("put", "1", 7),
  },
  { name: "a deployment with a field more", before: withSegment, act: (server) => server.deploy(WITH_TAG) },
  { name: "the first put", before: deployed, act: (server) => server.write("put", "1", 7) },
  { name: "an update", before: withTail, act: (server) => server.write("update", "1", 7) },
  { name: "a remove over a segment", before: withSegment, act: (server) => server.write("remove", "1") },
  { name: "a feed", before: withSegment, act: (server) => server.feed(some(60, 20), 7) },
  {
    name: "several writes at once",
    before: withTail,
    act: (server) =>
      Promise.all([
        ...some(3).map((name) => server.write("put", name, 7)),
        server.write("update", "4", 7),
        server.write("remove", "5"),
      ]),
  },
  { name: "a fold", before: withTail, act: (server) => server.fold() },
  {
    name: "a fold over a segment",
    before: async (server) => {
      await withSegment(server);
      for (const name of some(4)) await server.write("remove", name);
      await server.write("put", "50", 1);
    },
    act: (server) => server.fold(),
  },
  { name: "an erasure", before: withSegment, act: (server) => server.erase() },
  { name: "what is done from time to time", before: withSegment, act: (server) => server.round() },
  { name: "a snapshot", before: withSegment, act: (server) => server.snapshot() },
  {
    name: "the removal of a snapshot",
    before: (server) => withSegment(server).then(() => server.snapshot()),
    act: (server) => server.removeSnapshots(),
  },
  {
    name: "reads after another server wrote",
    before: (server) => withSegment(server).then(() => server.overtake()),
    act: (server) => server.read(),
    isAlone: true,
  },
  {
    name: "a fold after another server wrote",
    before: (server) => withSegment(server).then(() => server.overtake()),
    act: (server) => server.fold(),
  },
  {
    name: "a deployment after another server deployed",
    before: (server) => withSegment(server).then(() => server.overtake(WITH_TAG)),
    act: (server) => server.deploy(WITH_TAG),
  },
  { name: "an end", before: withSegment, act: (server) => server.write("put", "1", 7).then(() => server.close()) },
];

const usesOfActs = new Map<Act, readonly string[]>();

async function usesOf({ before, act }: Act): Promise<readonly string[]> {
  const server = new FaultyServer();
  await before(server);
  const uses = server.note();
  await act(server);
  await server.end();
  return uses;
}

/** Which of so many requests fail, the first being 1. */
function taken(count: number): readonly number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1);
  if (EVERY > 0) return all.filter((at) => at % EVERY === SEED % EVERY);
  return [1 + (SEED % count)];
}

async function failAt({ name, before, act }: Act, fault: Fault, at: number, server: FaultyServer): Promise<void> {
  await before(server);
  if (before !== nothing) await server.meet();
  expect(server.refusals).toEqual([]);
  await server.do(act, fault, at);
  if (before !== nothing) {
    await server.look(await server.cluster());
    await server.look(await server.other());
  }
  const refused = server.refusals.length;
  await act(server);
  await server.look(await server.cluster());
  await server.reopen();
  await server.fold();
  await server.round();
  await server.look(await server.cluster());
  await server.write("put", "77", 78);
  await server.look(await server.other());
  await server.erase();
  await server.removeSnapshots();
  await server.late?.();
  await server.round();
  expect(server.refusals.slice(refused), name).toEqual([]);
  expect(server.left(), name).toEqual([]);
}

const cases = ACTS.flatMap((act) =>
  FAULTS.filter(({ isRival }) => !(isRival && act.isAlone)).map((fault) => ({
    name: act.name,
    how: fault.name,
    act,
    fault,
  })),
);

/** Has one request fail, the last where there are fewer than another time: what is done beside it makes some, too. */
async function failOne(act: Act, fault: Fault, at: number): Promise<string | undefined> {
  const server = new FaultyServer();
  try {
    await failAt(act, fault, at, server);
    return server.failed === undefined ? await failOne(act, fault, server.count) : undefined;
  } catch (error) {
    return `request ${at}, ${server.failed}: ${(error as Error).stack}`;
  } finally {
    await server.end();
  }
}

test.each(cases)(`$name: $how (seed ${SEED})`, async ({ act, fault }) => {
  const uses = usesOfActs.get(act) ?? (await usesOf(act));
  usesOfActs.set(act, uses);
  const failures: (string | undefined)[] = [];
  for (const at of taken(uses.length)) failures.push(await failOne(act, fault, at));
  expect(failures.filter((failure) => failure !== undefined)).toEqual([]);
});
