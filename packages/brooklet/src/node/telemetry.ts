/** What is known of the stages of queries: how long they take, for `/metrics`, and spans where the program around has a tracer. */
import type { Reply, RequestKind } from "@brooklet/gateway";
import type { StageName, Stages } from "@brooklet/partition";
import { Histogram } from "@brooklet/wire";

/** What is used of a span of OpenTelemetry. */
export interface Span {
  setAttribute(name: string, value: string | number): unknown;
  setStatus(status: { readonly code: number }): unknown;
  end(): void;
}

/** What is used of a tracer of OpenTelemetry: what `trace.getTracer("brooklet")` of `@opentelemetry/api` gives. */
export interface Tracer {
  startActiveSpan<Result>(name: string, work: (span: Span) => Result): Result;
}

const STAGES: readonly StageName[] = ["embed", "search", "models"];
/** `SpanStatusCode.ERROR`. */
const ERROR = 2;
const SERVER_ERROR = 500;

/** Times stages, and traces them and the requests they are of. Nothing of a document, a query or a group is in a span. */
export class Telemetry {
  readonly times: ReadonlyMap<StageName, Histogram> = new Map(STAGES.map((name) => [name, new Histogram()]));
  readonly #tracer: Tracer | undefined;

  constructor(tracer: Tracer | undefined) {
    this.#tracer = tracer;
  }

  /** A stage of a query, as a span below that of its request. */
  readonly stages: Stages = async (name, work) => {
    const startMs = performance.now();
    try {
      return await this.#traced(`brooklet.${name}`, work);
    } finally {
      this.times.get(name)?.add((performance.now() - startMs) / 1_000);
    }
  };

  /** A request, as a span. Nothing: nobody traces. */
  get requests(): ((kind: RequestKind, method: string, work: () => Promise<Reply>) => Promise<Reply>) | undefined {
    if (this.#tracer === undefined) return undefined;
    return (kind, method, work) =>
      this.#traced(`brooklet.${kind}`, async (span) => {
        const reply = await work();
        span?.setAttribute("http.request.method", method);
        span?.setAttribute("http.response.status_code", reply.status);
        if (reply.status >= SERVER_ERROR) span?.setStatus({ code: ERROR });
        return reply;
      });
  }

  #traced<Result>(name: string, work: (span?: Span) => Promise<Result>): Promise<Result> {
    if (this.#tracer === undefined) return work();
    return this.#tracer.startActiveSpan(name, async (span) => {
      try {
        return await work(span);
      } catch (error) {
        // What went wrong may name documents: only that it did is told.
        span.setStatus({ code: ERROR });
        throw error;
      } finally {
        span.end();
      }
    });
  }
}
