/**
 * Files of models: by path as they are, by address through a folder of downloads. Addresses come from the operator and
 * from the deployed application alone; a file is kept under the digest of its address, whole or not at all.
 */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ServiceError } from "@brooklet/wire";

/** How far a download is. */
export interface PullProgress {
  readonly url: string;
  readonly bytes: number;
  /** Nothing where the server does not say. */
  readonly totalBytes?: number;
}

/** Where files are kept and how they are fetched. */
export interface ModelFilesOptions {
  /** The folder of the downloads; it is made if it is not there. */
  readonly folder: string;
  /** The largest file that is taken; 8 GiB unless given. */
  readonly bytesMax?: number;
  readonly onProgress?: (progress: PullProgress) => void;
  /** Follows redirects, as it sees fit. */
  readonly fetch?: typeof fetch;
}

/** A file that was downloaded. */
export interface PulledFile {
  /** Where it came from; nothing for files of an earlier release. */
  readonly url?: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Answers that another try finds again: no right to it, nothing there. */
const LASTING: readonly number[] = [401, 403, 404, 410];

/** A progress report for each so many bytes. */
const PROGRESS_BYTES = 4 << 20;
/** Nothing is waited for so long: who was to write more to a file is gone. */
const ABANDONED_MS = 3_600_000;

/** The folder of downloads. */
export class ModelFiles {
  readonly #options: ModelFilesOptions;
  readonly #pulling: Map<string, Promise<string>> = new Map();

  constructor(options: ModelFilesOptions) {
    this.#options = options;
  }

  /** The path of the download of an address, if it is there. */
  find(url: string): string | undefined {
    const path = this.#path(url);
    return existsSync(path) ? path : undefined;
  }

  /**
   * The path of the file of an address, downloaded now if it was not before.
   *
   * @param sha256 What the digest of the file must be, in hexadecimal digits; it is checked of a file that was there too.
   * @throws ServiceError `UNAVAILABLE` if it cannot be had now, `BAD_REQUEST` if it is not there or not what was asked for.
   */
  pull(url: string, sha256?: string, signal?: AbortSignal): Promise<string> {
    const path = this.#path(url);
    const before = this.#pulling.get(path);
    // What another asked for may have another digest than is asked for here.
    if (before !== undefined) return before.then(() => this.#pull(url, path, sha256, signal));
    const pulling = this.#pull(url, path, sha256, signal);
    this.#pulling.set(path, pulling);
    return pulling.finally(() => this.#pulling.delete(path));
  }

  /** What a file that is here has for a SHA-256 digest, as it was noted when it was downloaded. */
  digest(path: string): Promise<string> {
    return digestOf(path);
  }

  /** Every file that is here. */
  async list(): Promise<readonly PulledFile[]> {
    const { folder } = this.#options;
    const names = existsSync(folder) ? await readdir(folder, { recursive: true }) : [];
    const isFile = (name: string): boolean =>
      /^[0-9a-f]{16}[/\\][^/\\]+$/.test(name) && !/\.(sha256|url|part)$/.test(name);
    return await Promise.all(
      names
        .filter(isFile)
        .sort()
        .map(async (name) => {
          const path = join(folder, name);
          const [{ size }, sha256] = await Promise.all([stat(path), digestOf(path)]);
          const url = existsSync(`${path}.url`) ? { url: await readFile(`${path}.url`, "utf8") } : {};
          return { ...url, path, bytes: size, sha256 };
        }),
    );
  }

  /** Named after the digest of the address; the end of the name is kept, since runtimes look at it. */
  #path(url: string): string {
    const problem = addressProblem(url);
    if (problem !== undefined) throw new ServiceError("BAD_REQUEST", problem);
    const { pathname } = new URL(url);
    const name =
      basename(pathname)
        .replace(/[^\w.-]/g, "_")
        .slice(-80) || "model";
    return join(this.#options.folder, createHash("sha256").update(url).digest("hex").slice(0, 16), name);
  }

  async #pull(url: string, path: string, sha256: string | undefined, signal?: AbortSignal): Promise<string> {
    if (existsSync(path)) {
      if (sha256 !== undefined) expectDigest(url, await digestOf(path), sha256);
      return path;
    }
    const part = partOf(path);
    try {
      await makeFolders(dirname(path));
      await removeAbandoned(dirname(path));
      const digest = await this.#download(url, part, signal);
      if (sha256 !== undefined) expectDigest(url, digest, sha256);
      await replaceFile(`${path}.sha256`, digest);
      await replaceFile(`${path}.url`, url);
      await rename(part, path);
      return path;
    } catch (error) {
      throw ofFolder(error) ? storeError(url, error) : error;
    } finally {
      await rm(part, { force: true }).catch(() => undefined);
    }
  }

  async #download(url: string, part: string, signal?: AbortSignal): Promise<string> {
    const { bytesMax = 8 * 2 ** 30, onProgress, fetch: get = fetch } = this.#options;
    let response: Response;
    try {
      response = await get(url, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      // Of a host that is not there fetch says only that it failed; why stands in the cause.
      const { message = String(error), cause } = error as Error;
      const { code, message: reason } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
      const why = reason === undefined ? message : `${message} (${code ?? reason})`;
      throw new ServiceError("UNAVAILABLE", `${url} cannot be had: ${why}`, { cause: error });
    }
    if (!response.ok || response.body === null) {
      const code = LASTING.includes(response.status) ? "BAD_REQUEST" : "UNAVAILABLE";
      throw new ServiceError(code, `${url} cannot be had: the server answered ${response.status}`);
    }
    const length = Number(response.headers.get("content-length") ?? Number.NaN);
    const known = Number.isFinite(length) && response.headers.get("content-encoding") === null;
    const hash = createHash("sha256");
    let bytes = 0;
    let reported = 0;
    const count = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        bytes += chunk.byteLength;
        if (bytes > bytesMax) return done(new ServiceError("BAD_REQUEST", `${url} has more than ${bytesMax} bytes`));
        hash.update(chunk);
        if (bytes - reported >= PROGRESS_BYTES) {
          reported = bytes;
          onProgress?.({ url, bytes, ...(known ? { totalBytes: length } : {}) });
        }
        return done(undefined, chunk);
      },
    });
    const all = known ? ` of ${length}` : "";
    try {
      await pipeline(Readable.fromWeb(response.body as never), count, createWriteStream(part, { flush: true }), {
        signal,
      });
    } catch (error) {
      signal?.throwIfAborted();
      if (ServiceError.is(error) || ofFolder(error)) throw error;
      throw new ServiceError("UNAVAILABLE", `${url} ended after ${bytes}${all} bytes`, { cause: error });
    }
    if (known && bytes !== length) throw new ServiceError("UNAVAILABLE", `${url} ended after ${bytes}${all} bytes`);
    onProgress?.({ url, bytes, totalBytes: bytes });
    return hash.digest("hex");
  }
}

/** Makes a folder and those above it. Node's own way never ends where a folder takes none, as /proc does. */
async function makeFolders(path: string): Promise<void> {
  if (existsSync(path)) return;
  if (dirname(path) !== path) await makeFolders(dirname(path));
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

/** A file that one download alone writes. Who else has this folder may have this process's number too, as containers do. */
function partOf(path: string): string {
  return `${path}.${randomUUID()}.part`;
}

/** Writes a small file anew: who reads it meanwhile finds the one before, or this one, and never half of it. */
async function replaceFile(path: string, text: string): Promise<void> {
  const part = partOf(path);
  await writeFile(part, text);
  await rename(part, path);
}

/** Whether it is the system that cannot keep a file, and not the network that gives none. */
function ofFolder(error: unknown): error is NodeJS.ErrnoException {
  const { syscall, path } = error as NodeJS.ErrnoException;
  return (
    error instanceof Error && syscall !== undefined && (path !== undefined || /^(write|fsync|close)$/.test(syscall))
  );
}

function storeError(url: string, cause: NodeJS.ErrnoException): ServiceError {
  const isFull = cause.code === "ENOSPC" || cause.code === "EDQUOT";
  const message = `${url} cannot be kept in the folder of downloads: ${cause.code ?? cause.message}`;
  return new ServiceError(isFull ? "INSUFFICIENT_STORAGE" : "UNAVAILABLE", message, { cause });
}

/** Removes what downloads left that were killed. Those of other processes that are under way stay. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.endsWith(".part")) continue;
    const written = await stat(join(folder, name)).catch(() => undefined);
    if (written !== undefined && Date.now() - written.mtimeMs > ABANDONED_MS)
      await rm(join(folder, name), { force: true });
  }
}

/** The digest of a file that is there: as it was noted, or else computed. */
async function digestOf(path: string): Promise<string> {
  if (existsSync(`${path}.sha256`)) return await readFile(`${path}.sha256`, "utf8");
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

function expectDigest(url: string, found: string, wanted: string): void {
  if (found.toLowerCase() === wanted.toLowerCase()) return;
  throw new ServiceError("BAD_REQUEST", `${url} is not what was expected: its SHA-256 is ${found}, not ${wanted}`);
}

/** Why nothing can be downloaded from there, whatever may be there. */
export function addressProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return `'${url}' is not the address of a file`;
  const { protocol } = new URL(url);
  if (protocol === "https:" || protocol === "http:") return undefined;
  return `A model's address begins with https: or http:, not with ${protocol}`;
}
