/**
 * Feeds in bulk: the bytes of a file go as they are to a data directory opened here, or on one stream of HTTP/2 to a
 * server that has `/brooklet/v1/feed`. What comes of the operations comes back while they are sent.
 */
import { once } from "node:events";
import { type ClientHttp2Stream, connect, constants } from "node:http2";
import { BrookletError } from "@brooklet/client";
import type { FedOperation, Outcome } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { openCluster } from "../node/threads.ts";
import { deployDirectory } from "../serve.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";

type Told = AsyncGenerator<readonly FedOperation[], void, undefined>;

const PATH = "/brooklet/v1/feed";
const TIMEOUT_MS = 180_000;
/** Much is held at a time, so that segments become large: nobody else is served meanwhile. */
const HELD_BYTES = 96 << 20;
const WINDOW_BYTES = 1 << 20;

/** Feeds a data directory, which nobody else may have open. */
export async function* feedDirectory(
  command: { readonly data: string; readonly app?: string; readonly threads?: number },
  input: AsyncIterable<Uint8Array>,
  surroundings: Surroundings,
): Told {
  const onProblem = (problem: unknown): void =>
    surroundings.warn(problem instanceof Error ? (problem.stack ?? problem.message) : String(problem));
  const { data, threads } = command;
  const cluster = openCluster({ path: data, onProblem, ...(threads === undefined ? {} : { threads }) });
  try {
    if (command.app !== undefined) await deployDirectory(cluster, command.app);
    if (cluster.application() === undefined) {
      throw new UsageError(`nothing is deployed in ${command.data}: give the application package with --app`);
    }
    yield* cluster.feed(input, { timeoutMs: TIMEOUT_MS, heldBytes: HELD_BYTES });
  } catch (error) {
    if (ServiceError.is(error) && error.status === 400) throw new UsageError(error.message, { cause: error });
    throw error;
  } finally {
    await cluster.close();
  }
}

/** Whether the server takes feeds in bulk. Throws where there is none: a whole feed would fail operation by operation. */
export async function takesFeeds(url: string): Promise<boolean> {
  try {
    const { status, headers, body } = await fetch(url + PATH);
    await body?.cancel();
    return status === 405 && headers.get("allow") === "POST";
  } catch (cause) {
    const inner = (cause as { readonly cause?: { readonly code?: string; readonly message?: string } }).cause;
    const reason = inner?.code ?? inner?.message ?? (cause as Error).message;
    const message = `${url} cannot be reached (${reason}): is the server running? Nothing was sent`;
    throw new BrookletError("UNREACHABLE", message, { cause });
  }
}

/** Feeds a server. */
export async function* feedServer(url: string, input: AsyncIterable<Uint8Array>): Told {
  const session = connect(url, { settings: { initialWindowSize: WINDOW_BYTES } });
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= error;
  };
  session.once("error", fail);
  const stream = session.request({
    ":method": "POST",
    ":path": new URL(url).pathname.replace(/\/$/, "") + PATH,
    accept: "application/jsonl",
    "content-type": "application/jsonl",
  });
  stream.once("error", fail);
  const sent = send(stream, input).catch((error: unknown) => {
    fail(error);
    stream.close(constants.NGHTTP2_CANCEL);
  });
  let isWhole = false;
  try {
    for await (const answers of linesOf(stream)) {
      const operations = answers.filter((answer) => "operation" in answer);
      const summary = answers.find((answer) => "operations" in answer);
      if (operations.length > 0) yield operations.map(fedOperation);
      if (summary === undefined) continue;
      isWhole = true;
      if (summary.message !== undefined) throw brokenOff(summary);
    }
    await sent;
  } catch (error) {
    fail(error);
  } finally {
    stream.close();
    session.close();
  }
  if (failure !== undefined && !isWhole && !(failure instanceof UsageError)) throw disconnected(url, failure);
  if (failure !== undefined) throw failure;
  if (!isWhole) throw disconnected(url, undefined);
}

/** A line of the answer: what came of an operation, or of all of them. */
interface Line {
  readonly operation?: number;
  readonly id?: string;
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly outcome?: NonNullable<Outcome["outcome"]>;
  readonly operations?: number;
}

function fedOperation({ operation = 0, id = "", status = 500, code, message, outcome }: Line): FedOperation {
  const failure = { ...(code && { code }), ...(message && { message }), ...(outcome && { outcome }) };
  return { number: operation, id, outcome: { status, ...failure } };
}

async function send(stream: ClientHttp2Stream, input: AsyncIterable<Uint8Array>): Promise<void> {
  const closed = once(stream, "close").catch(() => undefined);
  for await (const part of input) {
    if (stream.destroyed || stream.closed) return;
    if (!stream.write(part)) await Promise.race([once(stream, "drain"), closed]);
  }
  stream.end();
}

async function* linesOf(stream: ClientHttp2Stream): AsyncGenerator<Line[]> {
  let status = 200;
  stream.once("response", (headers) => {
    status = Number(headers[":status"]);
  });
  let rest = "";
  for await (const part of stream.setEncoding("utf8") as AsyncIterable<string>) {
    const texts = (rest + part).split("\n");
    rest = texts.pop() ?? "";
    if (status === 200) yield texts.map((text) => JSON.parse(text) as Line);
  }
  if (status === 200) return;
  const { code = "UNEXPECTED_ANSWER", message = rest.slice(0, 200) } = JSON.parse(rest) as Line;
  throw new BrookletError(code as BrookletError["code"], message, { status });
}

/** A feed that is no list of operations, or was given up by the server. */
function brokenOff({ status = 500, code = "INTERNAL", message = "" }: Line): Error {
  return status === 400
    ? new UsageError(message)
    : new BrookletError(code as BrookletError["code"], message, { status });
}

function disconnected(url: string, cause: unknown): Error {
  if (BrookletError.is(cause)) return cause;
  const reason = cause instanceof Error ? ` (${cause.message})` : "";
  const message = `${url} did not answer to the end${reason}: what was not told may be done; feed it again`;
  return new BrookletError("UNREACHABLE", message, { outcome: "unknown", cause });
}
