/** A database in a page of a browser. Every call goes the way it would go over HTTP, to a worker in place of a server. */
/// <reference lib="esnext.disposable" preserve="true" />
import {
  type AnySchema,
  BrookletError,
  type Client,
  connect,
  type DeployOptions,
  type LanguageModel,
} from "@brooklet/client";
import { CHECKS, type Check, checkOptions } from "../options.ts";
import { type BrowserAssets, NoStorage } from "./own-worker.ts";
import { memoryPlace, type Place, type PlaceOptions, storedPlace } from "./place.ts";
import { browser, lackOfStorage } from "./platform.ts";

/** What to open. */
export interface BrowserOpenOptions {
  /** Name of the database in the browser's storage, which each site has for itself; made if there is none. */
  readonly name?: string;
  /** What is stored. A schema may get more fields from one time to the next; what would lose data is refused. */
  readonly schemas: readonly AnySchema[];
  /** Whether all is in memory, of this page alone, and ends with it. Only then it needs no name. */
  readonly memory?: boolean;
  /** Whether schemas of the database that are not among these are removed, with all their documents. They stay unless it is said. */
  readonly remove?: boolean;
  /** Memory for what was read before; 48 MiB by default. */
  readonly cacheBytes?: number;
  /** Files beside the schemas, by their path: constants of rank profiles. */
  readonly files?: DeployOptions["files"];
  /** The language model that `ask` asks. */
  readonly languageModel?: LanguageModel;
  /** Where the worker's script and its WebAssembly are, for bundlers that do not see to it. */
  readonly assets?: BrowserAssets;
  /** Told of failures that no call sees. */
  readonly onProblem?: (problem: unknown) => void;
}

/** An open database of a page. */
export interface BrowserDatabase extends Client, AsyncDisposable {
  /** What the core thinks of the schemas, and serves nevertheless; why nothing is kept, where the browser cannot, and that its storage is full. */
  readonly warnings: readonly string[];
  /** Whether it outlives the page: not in memory. */
  readonly isStored: boolean;
  /**
   * Finishes what is under way, and lets another page have the database, if this one had it. Every call after it fails with
   * `CLOSED`. A page that is closed without it loses nothing that was acknowledged.
   */
  close(): Promise<void>;
}

/** Nothing is sent there: requests are answered by a worker. */
const NOWHERE = "http://brooklet.invalid";
const CACHE_BYTES = 48 << 20;
const NAME_CHARACTERS = 60;
const FULL = "The browser's storage is full: documents are found and removed, and what needs more room is refused";

const OPTIONS = {
  name: (value) =>
    typeof value === "string" && value !== "" && value.length <= NAME_CHARACTERS && !/\p{Surrogate}/u.test(value)
      ? undefined
      : `a text of 1 to ${NAME_CHARACTERS} characters`,
  schemas: CHECKS.schemas,
  memory: CHECKS.flag,
  remove: CHECKS.flag,
  cacheBytes: CHECKS.count,
  files: CHECKS.settings,
  languageModel: CHECKS.settings,
  assets: CHECKS.settings,
  onProblem: CHECKS.listener,
} satisfies Readonly<Record<keyof BrowserOpenOptions, Check>>;
const REQUIRED = { schemas: "what is stored, as in open({ name: 'notes', schemas: [note] })" };

/**
 * Opens a database in this page, and deploys the schemas. It is kept in the browser's storage; several pages of a site may open
 * the same one. Where the browser cannot keep it, it is in memory, and `warnings` says why.
 *
 * @example
 * ```ts
 * import { open } from "brooklet/browser";
 *
 * const notes = await open({ name: "notes", schemas: [mail] });
 * const { hits } = await notes.group("me").search(mail, { text: "invoice" });
 * ```
 */
export async function open(options: BrowserOpenOptions): Promise<BrowserDatabase> {
  checkOptions("open", options, OPTIONS, REQUIRED);
  const { schemas, remove, files, languageModel } = options;
  const { place, lack } = await placeOf(options);
  const closed = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      closed.abort(new BrookletError("CLOSED", "The database was closed: open() it again to use it"));
      await place.close(underWay);
    })();
    return closing;
  };
  try {
    const client = connect({
      url: NOWHERE,
      fetch: (url, init) => {
        const answered = place.link.fetch(url, init);
        underWay.add(answered);
        const done = (): unknown => underWay.delete(answered);
        answered.then(done, done);
        return answered;
      },
      keepsDotSegments: true,
      closed: closed.signal,
      ...(languageModel === undefined ? {} : { languageModel }),
    });
    const deployed = await client.deploy(schemas, {
      ...(files === undefined ? {} : { files }),
      ...(remove === true ? { remove } : {}),
    });
    place.deployed();
    const isStored = options.memory !== true && lack === undefined;
    const warnings = [...deployed.warnings, ...(lack === undefined ? [] : [lack]), ...(place.isFull ? [FULL] : [])];
    return { ...client, warnings, isStored, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Where the database is, and what the browser lacks if it is in memory for that. */
async function placeOf(options: BrowserOpenOptions): Promise<{ readonly place: Place; readonly lack?: string }> {
  const { name, memory = false, cacheBytes = CACHE_BYTES, assets = {}, onProblem = () => undefined } = options;
  if (!memory && name === undefined)
    throw new BrookletError("INVALID_ARGUMENT", "open needs `name`, such as 'notes', or memory: true");
  demandBrowser();
  const given: PlaceOptions = { cacheBytes, assets, onProblem };
  if (memory || name === undefined) return { place: await memoryPlace(given) };
  const lack = lackOfStorage(browser);
  try {
    if (lack === undefined) return { place: await storedPlace(name, given) };
  } catch (error) {
    if (!(error instanceof NoStorage)) throw error;
    return { place: await memoryPlace(given), lack: notKept(error.message) };
  }
  return { place: await memoryPlace(given), lack: notKept(lack) };
}

function notKept(lack: string): string {
  return `The database is in memory, and ends with this page: ${lack}`;
}

function demandBrowser(): void {
  const missing = ["Worker", "WebAssembly"].find((name) => !(name in browser));
  if (missing === undefined) return;
  const isShared = "ServiceWorkerGlobalScope" in browser || "SharedWorkerGlobalScope" in browser;
  const remedy = isShared
    ? "a service worker or shared worker can start none: have a page open the database, and ask that page"
    : "on Node, Bun and Deno `open` is in 'brooklet'";
  throw new BrookletError("CANNOT_START", `brooklet/browser runs in a page: there is no ${missing} here (${remedy})`);
}
