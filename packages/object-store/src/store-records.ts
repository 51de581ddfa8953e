/** What a store says of itself and of the applications that were deployed to it: logs, too, of which each place is written once. */
import { asPackage, type UnsharedBytes } from "@brooklet/core";
import { type StoredApplication, StoreError } from "@brooklet/store";
import { damagedError, decodeFrame, encodeFrame } from "./log-object.ts";
import { sameBytes } from "./log-reader.ts";
import { type ObjectFiles, type ObjectStore, refusalIn } from "./object-store.ts";
import { integer } from "./record.ts";

const FORMAT = 1;
const BUCKETS_MAX = 1_024;
const SECRET_BYTES = 32;
/** The log whose first place says that there is a store. */
export const ABOUT = "about";
/** A file that is there while a fork is written, which is no store before its end. */
export const FORK = "fork-begun";
/** The log of applications. */
export const APPLICATION = "application";
const PAUSE_MS = 20;
const PAUSE_MAX_MS = 2_000;
/** Some minute of asking, where the store says no at once; and where it says nothing. */
const GIVEN_UP_AFTER = 40;
const GIVEN_UP_MS = 60_000;

/** Makes a request until it is answered. */
export type Again = <Result>(ask: () => Promise<Result>) => Promise<Result>;

/** What a store says of itself. */
export interface About {
  readonly buckets: number;
  readonly secret: Uint8Array;
}

/** What a store says of itself; an empty one is made one of so many buckets. */
export async function readAbout(store: ObjectStore, buckets: number, again: Again): Promise<About> {
  if (!(Number.isSafeInteger(buckets) && buckets >= 1 && buckets <= BUCKETS_MAX))
    throw new RangeError(`${buckets} buckets; there may be 1 to ${BUCKETS_MAX}`);
  const found = await foundAbout(store, again);
  if (found !== undefined) return found;
  if ((await again(() => store.files.read(FORK))) !== undefined)
    throw new StoreError(
      "refused",
      "a fork into this store did not come to its end: fork again, or take another place",
    );
  const bytes = await newAbout(buckets);
  await again(() => store.log.append(ABOUT, 0, bytes));
  const there = await foundAbout(store, again);
  if (there === undefined) throw damagedError("what it says of itself is gone");
  return there;
}

/** What a new store says of itself: how many buckets it has, and a secret of its own. */
export async function newAbout(buckets: number): Promise<UnsharedBytes> {
  const secret = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return await encodeFrame({ value: { format: FORMAT, buckets }, blobs: [secret] });
}

/** What a store says of itself. Throws a `StoreError` of the kind "refused" where there is none. */
export async function demandAbout(store: ObjectStore, again: Again): Promise<About> {
  const found = await foundAbout(store, again);
  if (found === undefined) throw new StoreError("refused", "there is no store here");
  return found;
}

/** What a store says of itself; nothing: there is none. */
export async function foundAbout(store: ObjectStore, again: Again): Promise<About | undefined> {
  const there = await again(() => store.log.read(ABOUT, 0));
  if (there === undefined) return undefined;
  const { value, blobs } = await decodeFrame(there);
  const said = value as Readonly<Record<string, unknown>>;
  const format = integer(said, "format");
  if (format !== FORMAT)
    throw new StoreError("refused", `the store has format ${format}; this release reads ${FORMAT}`);
  const [secret] = blobs;
  if (secret?.length !== SECRET_BYTES) throw damagedError("it has no secret");
  return { buckets: integer(said, "buckets"), secret: secret.slice() };
}

/** The newest application, if it is newer than `known`. */
export async function readNewest(
  store: ObjectStore,
  known: number,
  again: Again,
): Promise<StoredApplication | undefined> {
  for (let newest: StoredApplication | undefined, from = known + 1; ; ) {
    const places = await again(() => store.log.after(APPLICATION, from));
    const last = places.at(-1);
    if (last === undefined) return newest;
    const read = await readApplication(store, last, again);
    if (read === undefined) throw damagedError("an application is gone");
    newest = read;
    from = last + 1;
  }
}

/** Puts an application behind those there are. Whether it is there now; not if another was put in its place. */
export async function putApplication(
  store: ObjectStore,
  stored: StoredApplication,
  writer: string,
  again: Again,
): Promise<boolean> {
  const { number, bytes } = stored;
  const frame = await encodeFrame({ value: { number, writer }, blobs: [bytes] });
  if ((await again(() => store.log.append(APPLICATION, number, frame))) === "won") return true;
  const there = await readApplication(store, number, again);
  // Servers that begin together deploy the same: one of them does it for all. Who asked before for another finds that one.
  return there !== undefined && sameBytes(there.bytes, bytes);
}

async function readApplication(
  store: ObjectStore,
  number: number,
  again: Again,
): Promise<StoredApplication | undefined> {
  const bytes = await again(() => store.log.read(APPLICATION, number));
  if (bytes === undefined) return undefined;
  const [stored] = (await decodeFrame(bytes)).blobs;
  if (stored === undefined) throw damagedError("an application without a package");
  return { number, bytes: asPackage(stored.slice()) };
}

/** A store that says no to whatever it is asked. Of what was asked before it is not known whether it was done. */
export class RefusedError extends StoreError {
  constructor(refusal: string, cause: unknown) {
    super("io", refusal, cause);
    this.name = "RefusedError";
  }
}

/** Throws where what failed would fail again however often it is asked, or nothing is asked any more. */
export function demandPassing(error: unknown, isClosed = false): void {
  const refusal = refusalIn(error);
  if (refusal !== undefined) throw new RefusedError(refusal, error);
  if (isClosed) throw error;
}

/** Asks until there is an answer, as long as that is worth it. */
export function againWith(wait: (milliseconds: number) => Promise<void>): Again {
  return async (ask) => {
    const endMs = performance.now() + GIVEN_UP_MS;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await ask();
      } catch (error) {
        demandPassing(error);
        if (attempt === GIVEN_UP_AFTER || performance.now() > endMs)
          throw new StoreError("io", "the object store does not answer", error);
        await wait(pauseMs(attempt));
      }
    }
  };
}

/** All names of files that begin with a prefix. */
export async function namesBelow(files: ObjectFiles, prefix: string, again: Again): Promise<readonly string[]> {
  const all: string[] = [];
  for (let after = ""; ; ) {
    const names = await again(() => files.names(prefix, after));
    const last = names.at(-1);
    if (last === undefined) return all;
    all.push(...names);
    after = last;
  }
}

/** A name that no other has. */
export function randomName(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
}

/** How long is waited before a request is made again. */
export function pauseMs(attempt: number): number {
  return Math.min(PAUSE_MS * 2 ** attempt, PAUSE_MAX_MS) * (0.5 + Math.random() / 2);
}

/** Waits. */
export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
