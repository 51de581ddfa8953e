/**
 * What a server says to its operator: a line for each event, as JSON or to be read. No line has content: no text of a document or a
 * query, no key or token, no id and no name of a group.
 */

/** How much is said: what failed; what an operator should look at; what happened; and every answer. */
export const LOG_LEVELS = ["error", "warn", "info", "debug"] as const;
/** The gravest first. */
export type LogLevel = (typeof LOG_LEVELS)[number];
/** How it is written. */
export type LogFormat = "json" | "pretty";

/** How a log is written. */
export interface LogOptions {
  readonly format: LogFormat;
  /** What is less grave than this is not said; "info" by default. */
  readonly level?: LogLevel;
  /** Takes a line. What it throws is nobody's: a log that cannot be written ends nothing. */
  readonly write: (line: string) => void;
  readonly now?: () => number;
}

/** Members of a line beside its time, level, event and message. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Bytes of a line (L-log); a longer one is cut, with a mark. */
export const LINE_BYTES_MAX: number = 8 * 1024;
const CUT = "… (cut)";

/** Writes events that are grave enough. */
export class Log {
  readonly #options: LogOptions;
  readonly #most: number;

  constructor(options: LogOptions) {
    this.#options = options;
    this.#most = LOG_LEVELS.indexOf(options.level ?? "info");
  }

  /** Whether events of a level are written. */
  has(level: LogLevel): boolean {
    return LOG_LEVELS.indexOf(level) <= this.#most;
  }

  /** Writes one. `event` is a name that stays; `message` is for people. */
  tell(level: LogLevel, event: string, message: string, fields: LogFields = {}): void {
    if (!this.has(level)) return;
    const { format, write, now = Date.now } = this.#options;
    const time = new Date(now()).toISOString();
    const line = (text: string): string =>
      format === "json"
        ? JSON.stringify({ time, level, event, message: text, ...fields })
        : pretty(time, level, text, fields);
    try {
      write(cutLine(line, message));
    } catch {
      // There is nobody else to tell.
    }
  }
}

/** The line of a message, of which as much is left out as it has too much. */
function cutLine(line: (text: string) => string, message: string): string {
  const whole = line(message);
  const excess = Buffer.byteLength(whole) - LINE_BYTES_MAX;
  if (excess <= 0) return whole;
  // What one character takes when it is written is not known: half as much is left, until it fits.
  for (let kept = message.length - excess; ; kept >>= 1) {
    const cut = line(`${message.slice(0, Math.max(kept, 0))}${CUT}`);
    if (Buffer.byteLength(cut) <= LINE_BYTES_MAX || kept <= 0) return cut;
  }
}

function pretty(time: string, level: LogLevel, message: string, fields: LogFields): string {
  const named = Object.entries(fields).filter(([, value]) => value !== undefined);
  const said = named.map(([name, value]) => ` ${name}=${value}`).join("");
  // A line is a line, also of a message that has several.
  return `${time} ${level.padEnd(5)} ${message.replaceAll("\n", "\n    ")}${said}`;
}
