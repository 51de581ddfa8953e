/** The command line of the sample before a Worker. */
import { parseArgs } from "node:util";

/** What the command line says. */
export interface StartOptions {
  readonly port: number;
  /** Where to keep the objects. */
  readonly data: string;
  /** Whether to end after the searches. */
  readonly once: boolean;
  readonly help: boolean;
}

const PORT_DEFAULT = "8787";
const PORT_MAX = 65_535;
const DATA_DEFAULT = ".brooklet-worker";

/** What `--help` prints. */
export const START_USAGE: string = `Usage: npm run worker -- [options]

Starts the Worker with its Durable Objects on this machine (workerd), fills it with sample mail, searches it, and keeps serving.

  --port PORT   port to serve at                          [${PORT_DEFAULT}]
  --data DIR    folder to keep the objects in             [${DATA_DEFAULT}]
  --once        end after the searches
  --help        this text`;

/** Reads the command line. Throws what to tell the caller. */
export function parseStartOptions(words: readonly string[]): StartOptions {
  const { values } = parseArgs({
    args: [...words],
    options: {
      port: { type: "string", default: PORT_DEFAULT },
      data: { type: "string", default: DATA_DEFAULT },
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
