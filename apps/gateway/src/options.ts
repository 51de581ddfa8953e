/** Reads the command line. What it does not know it refuses, with the nearest thing it does. */

import { suggestion } from "@brooklet/wire";

/** What the command line says. */
export interface GatewayCommand {
  readonly application: string | undefined;
  readonly data: string;
  readonly host: string;
  readonly port: number;
  readonly configPort: number | undefined;
  readonly allowedHosts: readonly string[];
  readonly insecureAllowAnonymous: boolean;
}

/** The command line cannot be followed. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What `--help` prints. */
export const USAGE: string = `Usage: brooklet-gateway [options]

  --app DIR           application package to deploy at the start (services.xml, schemas/)
  --data DIR          data directory, made if there is none                    [./data]
  --host HOST         address to listen on                                     [127.0.0.1]
  --port PORT         port of documents, queries and everything else           [8080]
  --config-port PORT  port where clients look for deployments; 'none' for none [19071]
  --allow-host NAME   another host name requests may be addressed to (repeatable)
                      BROOKLET_ADMIN_KEY or BROOKLET_ADMIN_KEY_FILE asks everybody for a key
  --insecure-allow-anonymous
                      listen where others can reach it, although nobody is asked for a key
  --help              this text
`;

const WITH_VALUE = ["--app", "--data", "--host", "--port", "--config-port", "--allow-host"];
const FLAGS = ["--insecure-allow-anonymous", "--help"];

/** The options of a command line; nothing if it asks for help. */
export function parseCommand(words: readonly string[]): GatewayCommand | undefined {
  const given = new Map<string, string[]>();
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [name = "", ...inline] = word.split("=");
    if (FLAGS.includes(word)) given.set(word, []);
    else if (!WITH_VALUE.includes(name))
      throw new UsageError(`unknown option '${word}'${suggestion(name, [...WITH_VALUE, ...FLAGS])}`);
    else {
      const value = inline.length > 0 ? inline.join("=") : rest.shift();
      if (value === undefined || value === "") throw new UsageError(`${name} needs a value`);
      given.set(name, [...(given.get(name) ?? []), value]);
    }
  }
  if (given.has("--help")) return undefined;
  const last = (name: string): string | undefined => given.get(name)?.at(-1);
  return {
    application: last("--app"),
    data: last("--data") ?? "./data",
    host: last("--host") ?? "127.0.0.1",
    port: portOf("--port", last("--port") ?? "8080"),
    configPort:
      last("--config-port") === "none" ? undefined : portOf("--config-port", last("--config-port") ?? "19071"),
    allowedHosts: given.get("--allow-host") ?? [],
    insecureAllowAnonymous: given.has("--insecure-allow-anonymous"),
  };
}

function portOf(name: string, value: string): number {
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
  throw new UsageError(`${name} takes a port from 0 to 65535, not '${value}'`);
}
