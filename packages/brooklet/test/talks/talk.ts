/**
 * Recorded conversations as requests over HTTP, held with anything that answers such: a gateway in this process, a page's worker, a
 * Worker. It runs wherever JavaScript does, and knows no platform.
 */

/** A request as it is sent: the target is not normalised. */
export interface Request {
  readonly method: string;
  readonly target: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A body is text, or hexadecimal digits where it is none. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly allow: string;
  readonly body: string;
}

/** A conversation: what is deployed, then what is asked. Names are said once. */
export interface Talk {
  readonly about: string;
  readonly deployment: Request;
  readonly steps: readonly Request[];
}

/** Answers requests: a database of its own for each talk. */
export interface Listener {
  readonly ask: (request: Request) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

/** The times of a trace: a number after its name, as text or as hexadecimal digits of CBOR, or a sentence. */
const MILLISECONDS = /("timestamp":)\d+|(6974696d657374616d70)(?:18..|19.{4}|[01].)|( after )\d+\.\d ms/g;
/** What continues a grouping is sealed with a key of its database. */
const SEALED = /("(?:next|prev|this)":")[^"]+(?=")/g;

/** What an answer is made of, as text where it is any. */
export function answerOf(status: number, header: (name: string) => string | null, bytes: Uint8Array): Answer {
  const contentType = header("content-type") ?? "";
  const isText = !contentType.startsWith("application/cbor");
  const hexadecimal = (): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return {
    status,
    contentType,
    allow: header("allow") ?? "",
    body: isText ? new TextDecoder().decode(bytes) : hexadecimal(),
  };
}

/**
 * What is promised of an answer. The order in which a visit meets documents and what its tokens look like is not, nor how long
 * something took.
 */
export function promised({ body: told, ...rest }: Answer): Readonly<Record<string, unknown>> {
  const body = told.replaceAll(MILLISECONDS, "$1$2$3");
  const isVisit = /^\{"pathId":.*"(?:documents|continuation)":/s.test(body);
  if (!isVisit) return { ...rest, body };
  const {
    documents = [],
    continuation,
    ...others
  } = JSON.parse(body) as {
    readonly documents?: readonly { readonly id: string }[];
    readonly continuation?: string;
  };
  const sorted = [...documents].sort((left, right) => (left.id < right.id ? -1 : 1));
  return { ...rest, body: { ...others, documents: sorted, continuation: typeof continuation } };
}

/** What is answered to all of a conversation, as one text: equal texts are equal bits. A refused application is all of it. */
export async function held(talk: Talk, listener: Listener): Promise<string> {
  const deployed = await listener.ask(talk.deployment);
  // One that was taken tells numbers of deployments.
  if (deployed.status !== 200) return JSON.stringify([promised(deployed)]);
  const told: unknown[] = [];
  for (const step of talk.steps) {
    const answer = await listener.ask(step);
    told.push(promised({ ...answer, body: answer.body.replaceAll(SEALED, "$1") }));
  }
  return JSON.stringify(told);
}

/** Conversations as a text, from which they are read again. */
export function textOf(talks: readonly Talk[]): string {
  return JSON.stringify(talks, (_, value) => (value instanceof Uint8Array ? { bytes: [...value] } : value));
}

/** The conversations in such a text. */
export function talksIn(text: string): readonly Talk[] {
  const isBytes = (value: unknown): value is { readonly bytes: readonly number[] } =>
    typeof value === "object" && value !== null && "bytes" in value;
  return JSON.parse(text, (_, value) => (isBytes(value) ? Uint8Array.from(value.bytes) : value)) as readonly Talk[];
}
