/**
 * The conversations of test-vectors as data: their applications, what is fed before, and what models yield in them. What a step
 * may be says test-vectors/runner/src/conversation.rs.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ModelOutput } from "@brooklet/core";
import { root, type VectorFile, vectorFiles } from "../../core/test/runners.ts";
import type { PartitionKey } from "../src/cluster.ts";
import type { ModelRunner } from "../src/query/query-models.ts";

/** ONNX's numbers of element types. */
const FLOAT = 1;
const INT64 = 7;
const DEFAULT_KEY = "g:alice";
const TOPICS = ["search", "document-api"];
const vectors = join(root, "test-vectors");

/** One step; which member is there says what it is. */
export interface Step {
  readonly put?: string;
  readonly fields?: unknown;
  readonly update?: string;
  readonly remove?: string;
  readonly condition?: string;
  readonly create?: boolean;
  readonly get?: string;
  readonly fieldSet?: string;
  readonly tensors?: string;
  readonly compact?: string;
  readonly search?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  readonly key?: string;
  readonly scoped?: boolean;
  readonly body?: string;
  readonly accept?: string;
}

/** Texts, and what is no text. */
export type Files = Readonly<Record<string, string | { readonly base64: string }>>;

type Elements = readonly (number | string)[];

/** What the host answers where a model is to be run. */
export interface Run {
  readonly file: string;
  readonly inputs: Readonly<Record<string, Elements>>;
  readonly outputs: Readonly<Record<string, Elements | { readonly element: number; readonly values: Elements }>>;
}

export interface Conversation {
  readonly name: string;
  readonly files?: Files;
  readonly runs?: readonly Run[];
  readonly steps: readonly Step[];
}

export interface ConversationFile {
  readonly application?: string;
  readonly files?: Files;
  readonly runs?: readonly Run[];
  readonly feed?: string | readonly Step[];
  readonly conversations: readonly Conversation[];
}

/** An application that conversations begin with: its files by their paths. */
export function readApplication(name: string): ReadonlyMap<string, Uint8Array> {
  const folder = join(vectors, "applications", name);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.map(({ parentPath, name: file }) => {
      const path = join(parentPath, file);
      return [path.slice(folder.length + 1).replaceAll("\\", "/"), readFileSync(path)];
    }),
  );
}

/** A conversation, and the file it is in. */
export interface Recorded {
  /** Its file and its name. */
  readonly about: string;
  readonly file: ConversationFile;
  readonly conversation: Conversation;
}

/** The files of conversations. */
export function conversationFiles(): readonly VectorFile[] {
  return vectorFiles(TOPICS);
}

/** The conversations of files, in their order. */
export function recordedIn(files: readonly VectorFile[]): readonly Recorded[] {
  return files.flatMap(({ topic, path, rows: [row = ""] }) => {
    const file = JSON.parse(row) as ConversationFile;
    const name = `${topic}/${path.split("/").at(-1)}`;
    return file.conversations.map((conversation) => ({ about: `${name}: ${conversation.name}`, file, conversation }));
  });
}

/** What models yield in a conversation. */
export function runsOf({ file, conversation }: Recorded): readonly Run[] {
  return [...(file.runs ?? []), ...(conversation.runs ?? [])];
}

/** The application of a conversation: its files by their paths. */
export function applicationOf({ file, conversation }: Recorded): ReadonlyMap<string, Uint8Array> {
  const named = file.application === undefined ? new Map() : readApplication(file.application);
  const files = Object.entries({ ...file.files, ...conversation.files }).map(
    ([path, content]) =>
      [path, typeof content === "string" ? Buffer.from(content) : Buffer.from(content.base64, "base64")] as const,
  );
  return new Map([...named, ...files]);
}

/** The body of a step that writes. */
export function bodyOf({ fields, body }: Step): string {
  const text = typeof fields === "string" ? fields : JSON.stringify(fields);
  return body ?? (text === undefined ? "" : `{"fields":${text}}`);
}

/** Where a search is sent, and the parameters of its request with those that say so. */
export function searchOf({ search, key = DEFAULT_KEY, scoped }: Step): {
  readonly key: string;
  readonly parameters: readonly (readonly [string, string])[];
} {
  const parameters: readonly (readonly [string, string])[] = Array.isArray(search)
    ? search
    : Object.entries(search ?? {});
  if (scoped === false || key === "") return { key, parameters };
  const [kind, name = ""] = key.split(/:(.*)/s);
  const scope = kind === "n" ? "streaming.userid" : "streaming.groupname";
  return { key, parameters: [...parameters, [scope, name]] };
}

/** What is fed before a conversation of a file. */
export function feedOf({ feed }: ConversationFile): readonly Step[] {
  if (typeof feed !== "string") return feed ?? [];
  return JSON.parse(readFileSync(join(vectors, "feeds", `${feed}.json`), "utf8")) as readonly Step[];
}

/** The partition of a document; one without a group has none in its id. */
export function keyOf(id: string): PartitionKey {
  const [, , , key = ""] = id.split(":");
  return (key === "" ? "d:" : key.replace("=", ":")) as PartitionKey;
}

/** The partitions of what is written. */
export function keysOf(steps: readonly Step[]): ReadonlySet<PartitionKey> {
  const ids = steps.flatMap(({ put, update, remove }) => put ?? update ?? remove ?? []);
  return new Set(ids.map(keyOf));
}

/** Runs the models of a conversation: its rows say what they yield. */
export function modelRunner(rows: readonly Run[]): ModelRunner {
  return {
    run: (runs) =>
      Promise.resolve(
        runs.map((run) => {
          const inputs = Object.fromEntries(
            run.inputs.map(({ name, element, bytes }) => [name, valuesOf(element, bytes)]),
          );
          const row = rows.find((one) => one.file === run.file && isDeepStrictEqual(one.inputs, inputs));
          if (row === undefined) throw new Error(`no row says what ${run.file} makes of ${JSON.stringify(inputs)}`);
          return { key: run.key, outputs: run.outputs.map((name) => outputOf(name, row)) };
        }),
      ),
    outline: () => Promise.resolve(undefined),
    close: () => Promise.resolve(),
  };
}

function valuesOf(element: number, bytes: Uint8Array): readonly number[] {
  const { buffer } = bytes.slice();
  if (element === FLOAT) return [...new Float32Array(buffer)];
  if (element === INT64) return [...new BigInt64Array(buffer)].map(Number);
  throw new Error(`no conversation has inputs of the type ${element}`);
}

function outputOf(name: string, { outputs }: Run): ModelOutput {
  const given = outputs[name] ?? [];
  const { element, values } = "element" in given ? given : { element: FLOAT, values: given };
  const numbers = values.map(Number);
  const array =
    element === FLOAT
      ? Float32Array.from(numbers)
      : element === INT64
        ? BigInt64Array.from(numbers.map(BigInt))
        : Float64Array.from(numbers);
  return { name, element, bytes: new Uint8Array(array.buffer) };
}
