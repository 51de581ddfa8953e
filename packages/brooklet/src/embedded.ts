/**
 * What opens a database in this process: cluster, gateway and client, one after the other. `open` loads it when it is called, so
 * that who only imports brooklet, or connects to a server, waits for none of it.
 */
import { BrookletError, connect, type Fetch } from "@brooklet/client";
import { createGateway, type LocalRequest } from "@brooklet/gateway";
import { migrating } from "./migration/migrating.ts";
import { sqliteNotice } from "./node/database.ts";
import { secret } from "./node/secret.ts";
import { openCluster } from "./node/threads.ts";
import type { Database, OpenOptions } from "./open.ts";
import { starting } from "./starting.ts";

/** Nothing is sent there: requests are answered in this process. */
const NOWHERE = "http://brooklet.invalid";

/** Opens a database with options that were checked. */
export async function openHere(options: OpenOptions): Promise<Database> {
  const { path, schemas, threads, cacheBytes, models, languageModel, embedders, files, onProblem } = options;
  const cluster = starting(() =>
    openCluster({
      threads: threads === undefined || threads === false ? 0 : threads,
      ...(path === undefined ? {} : { path }),
      ...(cacheBytes === undefined ? {} : { cacheBytes }),
      ...(models === undefined ? {} : { models }),
      ...(onProblem === undefined ? {} : { onProblem }),
    }),
  );
  try {
    const gateway = createGateway({ cluster, secret, ...(onProblem === undefined ? {} : { onDefect: onProblem }) });
    const closed = new AbortController();
    const underWay = new Set<Promise<unknown>>();
    const client = connect({
      url: NOWHERE,
      fetch: noting(underWay, (url, init) => gateway.answer(url, init as LocalRequest)),
      keepsDotSegments: true,
      closed: closed.signal,
      ...(languageModel === undefined ? {} : { languageModel }),
    });
    let closing: Promise<void> | undefined;
    const close = (): Promise<void> => {
      closing ??= (async () => {
        closed.abort(new BrookletError("CLOSED", "The database was closed: open() it again to use it"));
        await Promise.allSettled(underWay);
        await cluster.close();
      })();
      return closing;
    };
    const deployed = await client.deploy(schemas, {
      ...(embedders === undefined ? {} : { embedders }),
      ...(files === undefined ? {} : { files }),
      ...(options.remove === true ? { remove: true } : {}),
    });
    const notice = sqliteNotice();
    const warnings = notice === undefined ? deployed.warnings : [...deployed.warnings, notice];
    return { ...migrating(client), warnings, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/** Keeps what is being answered in a set, until it is. */
function noting(underWay: Set<Promise<unknown>>, answer: Fetch): Fetch {
  return (url, init) => {
    const answered = answer(url, init);
    underWay.add(answered);
    const done = (): unknown => underWay.delete(answered);
    answered.then(done, done);
    return answered;
  };
}
