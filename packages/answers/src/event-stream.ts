/** Reads a stream of server-sent events, as the HTML standard says, without holding more than one event of limited size. */

/** One event. */
export interface ServerEvent {
  /** `message` unless the stream says another. */
  readonly event: string;
  readonly data: string;
}

/** A stream said something that is no event stream, or too much at once. */
export class EventStreamError extends Error {
  override readonly name = "EventStreamError";
}

/** Bytes of one event at most. */
const EVENT_CHARACTERS_MAX = 1 << 20;

/** The events of a body, as they come. When it is left early, the body is cancelled. */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const lines = new EventLines();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      yield* lines.take(done ? `${decoder.decode()}\n\n` : decoder.decode(value, { stream: true }));
      if (done) return;
    }
  } finally {
    // The reader may be at its end, or its connection gone: both are as good as cancelled.
    await reader.cancel().catch(() => undefined);
  }
}

/** Lines as they come in pieces, joined to events. */
class EventLines {
  #rest = "";
  #event = "";
  #data: string[] = [];
  #characters = 0;
  #endedInReturn = false;

  *take(text: string): Generator<ServerEvent> {
    // A line feed that begins a piece may belong to the carriage return that ended the one before.
    const fresh = this.#endedInReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#endedInReturn = text.endsWith("\r");
    const lines = (this.#rest + fresh).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? "";
    this.#bounded(this.#rest.length);
    for (const line of lines) {
      const event = this.#line(line);
      if (event !== undefined) yield event;
    }
  }

  #line(line: string): ServerEvent | undefined {
    if (line === "") {
      const [event, data] = [this.#event, this.#data];
      [this.#event, this.#data, this.#characters] = ["", [], 0];
      return data.length === 0 ? undefined : { event: event === "" ? "message" : event, data: data.join("\n") };
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#event = value;
    else if (name === "data") {
      this.#characters += value.length;
      this.#bounded(this.#characters);
      this.#data.push(value);
    }
    return undefined;
  }

  #bounded(characters: number): void {
    if (characters > EVENT_CHARACTERS_MAX) {
      throw new EventStreamError(`An event has more than ${EVENT_CHARACTERS_MAX} characters`);
    }
  }
}
