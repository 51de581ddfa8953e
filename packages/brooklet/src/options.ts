/** Options of `open` and `serve`, checked where they are given: what is wrong with one fails no later call. */
import { type AnySchema, invalidArgument, refuseUnknown } from "@brooklet/client";
import { documentNameProblem } from "@brooklet/wire";
import type { ModelOptions } from "./node/models/application-embedders.ts";

/** What an option has to be, as the end of "give …", if this value is not that. */
export type Check = (value: unknown) => string | undefined;

type OptionKind =
  | "text"
  | "path"
  | "flag"
  | "switch"
  | "listener"
  | "textOrListener"
  | "work"
  | "settings"
  | "store"
  | "count"
  | "buckets"
  | "key"
  | "port"
  | "texts"
  | "origins"
  | "schemas"
  | "group";

const PORT_MAX = 65_535;
/** Of a store. */
const BUCKETS_MAX = 1_024;

function unless(isRight: (value: unknown) => boolean, what: string): Check {
  return (value) => (isRight(value) ? undefined : what);
}

function isWhole(most: number): (value: unknown) => boolean {
  return (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= most;
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
const isFunction = (value: unknown): boolean => typeof value === "function";
const isText = (value: unknown): boolean => typeof value === "string" && value !== "";

/** Checks of the kinds of options there are. */
export const CHECKS: Readonly<Record<OptionKind, Check>> = {
  text: unless(isText, "a text that is not empty"),
  path: unless(
    (value) => isText(value) && !/^file:/i.test(value as string),
    "the path of a directory, as fileURLToPath() of node:url makes one of a URL",
  ),
  flag: unless((value) => typeof value === "boolean", "true or false"),
  switch: unless((value) => typeof value === "boolean" || isObject(value), "true, false or an object with settings"),
  listener: unless(isFunction, "a function"),
  textOrListener: unless((value) => isText(value) || isFunction(value), "the name of a file, or a function"),
  work: unless((value) => isFunction(value) || isObject(value), "a function or an object"),
  settings: unless(isObject, "an object with settings"),
  store: unless(
    (value) => isObject(Object(value).log) && isObject(Object(value).files),
    "a store, as s3() or postgres() of brooklet/object-store makes one",
  ),
  key: unless(
    (value) => isText(value) || isFunction(value) || value instanceof Uint8Array,
    "a key of 256 bits, as brooklet key makes one, or a function that gives it",
  ),
  count: unless(isWhole(Number.MAX_SAFE_INTEGER), "a whole number from 0 on"),
  buckets: unless((value) => isWhole(BUCKETS_MAX)(value) && value !== 0, `a whole number from 1 to ${BUCKETS_MAX}`),
  port: unless(isWhole(PORT_MAX), `a port, 0 to ${PORT_MAX}`),
  group: (value) => {
    const problem = isText(value) ? documentNameProblem("group", String(value)) : "";
    return problem === undefined ? undefined : `the name of a group${problem === "" ? "" : ` (${problem})`}`;
  },
  texts: unless((value) => Array.isArray(value) && value.every(isText), "a list of texts"),
  origins: unless(
    (value) => Array.isArray(value) && value.every((one) => URL.canParse(one) && new URL(one).origin === one),
    "a list of origins, such as https://notes.example.com",
  ),
  schemas: unless((value) => Array.isArray(value) && value.every(isSchema), "a list of schemas made with schema()"),
};

/** What something lacks to be an embedder; nothing: it is one. */
type LackOf = (given: unknown) => string | undefined;

/** A check of embedders. Who gives some knows what one is; a page does not, and loads nothing for it. */
export function embeddersCheck(lackOf: LackOf): Check {
  return unless(
    (value) => Array.isArray(value) && value.every((one) => lackOf(one) === undefined),
    "a list of embedders, each with its `id`, its `shape` and the methods `embed` and `close`",
  );
}

/** A check of the models of a process. */
export function modelsCheck(lackOf: LackOf): Check {
  const checks = {
    embedders: embeddersCheck(lackOf),
    modelFolder: CHECKS.text,
    modelCache: CHECKS.text,
    onNotice: CHECKS.listener,
  } satisfies Readonly<Record<keyof ModelOptions, Check>>;
  return (value) => checkOptions("models", value, checks);
}

/** Throws what is wrong with the options of a call. What is required has to be there. */
export function checkOptions(
  call: string,
  options: unknown,
  checks: Readonly<Record<string, Check>>,
  required: Readonly<Record<string, string>> = {},
): undefined {
  if (typeof options !== "object" || options === null) throw invalidArgument(`${call} takes an object of options`);
  refuseUnknown(call, options, Object.keys(checks));
  for (const [name, value] of Object.entries(options)) {
    const wanted = value === undefined ? undefined : checks[name]?.(value);
    if (wanted !== undefined) throw invalidArgument(`${name} is ${excerpt(value)}: give ${wanted}`);
  }
  for (const [name, remedy] of Object.entries(required)) {
    if ((options as Readonly<Record<string, unknown>>)[name] === undefined)
      throw invalidArgument(`${call} needs \`${name}\`: ${remedy}`);
  }
}

function isSchema(value: unknown): value is AnySchema {
  return typeof value === "object" && value !== null && "codec" in value && "fields" in value && "name" in value;
}

function excerpt(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
