/** The command line of the sample. */
import { parseArgs } from "node:util";

/** What the command line says. */
export interface StartOptions {
  readonly port: number;
  /** Where to keep the data; without it, in a temporary directory that is removed at the end. */
  readonly data: string | undefined;
  /** Whether to end after the queries. */
  readonly once: boolean;
  readonly help: boolean;
}

/** What `--help` prints. */
export const START_USAGE = `Usage: npm start -- [options]

Starts a gateway, fills it with sample mail, searches it, and keeps serving.

  --port PORT   port to serve at                                        [8080]
  --data DIR    directory to keep the data in; a temporary one without
  --once        end after the searches
  --help        this text`;

const PORT_DEFAULT = "8080";
const PORT_MAX = 65_535;

/** Reads the command line. Throws what to tell the caller. */
export function parseStartOptions(words: readonly string[]): StartOptions {
  const { values } = parseArgs({
    args: [...words],
    options: {
      port: { type: "string", default: PORT_DEFAULT },
      data: { type: "string" },
      once: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > PORT_MAX) {
    throw new Error(`--port takes a port from 0 to ${PORT_MAX}, not '${values.port}'`);
  }
  return { port, data: values.data, once: values.once, help: values.help };
}
