/** A client whose server is in the same process: a gateway before a cluster, without a port. It runs on any platform. */
import { BrookletError, type Client, connect, type Fetch, type LanguageModel } from "@brooklet/client";
import { createLocalGateway, type GatewayOptions, type LocalRequest } from "@brooklet/gateway/local";
import type { Cluster } from "@brooklet/partition";
import type { UnsharedBytes } from "@brooklet/wire";
import { JsonBytes } from "@brooklet/wire/json-bytes";

/** Nothing is sent there: requests are answered in this process. */
const NOWHERE = "http://brooklet.invalid";

/** What such a client needs. */
export interface LocalClientOptions extends Pick<GatewayOptions, "limits" | "secret"> {
  readonly cluster: Cluster;
  /** Aborted when it is closed, by whoever made it or by `close`. */
  readonly closed?: AbortController;
  readonly languageModel?: LanguageModel | undefined;
  /** Told of what made failures that are no caller's fault. */
  readonly onProblem?: ((problem: unknown) => void) | undefined;
}

/** A client, and how it is closed: what is under way is finished, every call after it fails with `CLOSED`, or as it is said. */
export interface LocalClient {
  readonly client: Client;
  readonly close: (why?: BrookletError) => Promise<void>;
  /** That it was closed, and why. */
  readonly closed: AbortSignal;
}

/** Makes a client before a cluster, which is closed with it. */
export function localClient(options: LocalClientOptions): LocalClient {
  const { cluster, closed = new AbortController(), limits, secret, languageModel, onProblem } = options;
  const gateway = createLocalGateway({
    cluster,
    ...(limits === undefined ? {} : { limits }),
    ...(secret === undefined ? {} : { secret }),
    ...(onProblem === undefined ? {} : { onDefect: onProblem }),
  });
  const underWay = new Set<Promise<unknown>>();
  const client = connect({
    url: NOWHERE,
    fetch: noting(underWay, (url, init) => gateway.answer(url, init as LocalRequest)),
    keepsDotSegments: true,
    bytesOf: jsonWriter(),
    closed: closed.signal,
    ...(languageModel === undefined ? {} : { languageModel }),
  });
  let closing: Promise<void> | undefined;
  const close = (why?: BrookletError): Promise<void> => {
    closing ??= (async () => {
      closed.abort(why ?? new BrookletError("CLOSED", "The database was closed: open() it again to use it"));
      await Promise.allSettled(underWay);
      await cluster.close();
    })();
    return closing;
  };
  return { client, close, closed: closed.signal };
}

/** What writes JSON as bytes, each time into the same room. */
function jsonWriter(): (value: object) => UnsharedBytes {
  const json = new JsonBytes();
  return (value) => {
    json.cut();
    json.value(value);
    return json.bytes.slice();
  };
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
