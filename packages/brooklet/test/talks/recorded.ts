/** The conversations of test-vectors as requests over HTTP: searches, documents, and what was recorded of `/document/v1`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { zip } from "../../../client/src/deployment/zip.ts";
import { root } from "../../../core/test/runners.ts";
import {
  applicationOf,
  bodyOf,
  conversationFiles,
  feedOf,
  type Recorded,
  readApplication,
  recordedIn,
  runsOf,
  type Step,
  searchOf,
} from "../../../partition/test/conversation-rows.ts";
import type { Request, Talk } from "./talk.ts";

const DEPLOY = "/application/v2/tenant/default/prepareandactivate";

/** Conversations with `/document/v1`. */
export interface Recording {
  readonly application: string;
  readonly conversations: readonly { readonly name: string; readonly steps: readonly Request[] }[];
}

/** The files that they are in. */
export const HTTP_FILES: readonly string[] = [
  "document-v1.json",
  "document-v1-more.json",
  "document-v1-types.json",
  "document-v1-documented.json",
  "document-v1-clusters.json",
];

/** Reads one of them. */
export function readRecording(file: string): Recording {
  return JSON.parse(readFileSync(join(root, "test-vectors/http", file), "utf8")) as Recording;
}

/** Sends an application. */
export function deploymentOf(files: ReadonlyMap<string, string | Uint8Array>): Request {
  return { method: "POST", target: DEPLOY, headers: { "content-type": "application/zip" }, body: zip(files) };
}

/** Puts all documents that are there when a conversation begins. */
export function feedRequest(feed: readonly Step[]): Request {
  const lines = feed.map((step) =>
    step.remove === undefined
      ? `{"put":${JSON.stringify(step.put)},${bodyOf(step).slice(1)}`
      : JSON.stringify({ remove: step.remove }),
  );
  return { method: "POST", target: "/brooklet/v1/feed", body: lines.join("\n") };
}

/** A step as it is sent. Folding is no request. */
export function requestOf(step: Step): Request {
  const { put, update, remove, get } = step;
  const id = put ?? update ?? remove ?? get;
  if (id === undefined) return searchRequest(step);
  const asked = new URLSearchParams();
  if (step.condition !== undefined) asked.set("condition", step.condition);
  if (step.create !== undefined) asked.set("create", String(step.create));
  if (step.fieldSet !== undefined) asked.set("fieldSet", step.fieldSet);
  if (step.tensors !== undefined) asked.set("format.tensors", step.tensors);
  const method = put !== undefined ? "POST" : update !== undefined ? "PUT" : remove !== undefined ? "DELETE" : "GET";
  const target = `${pathOf(id)}?${asked}`;
  return put === undefined && update === undefined ? { method, target } : { method, target, body: bodyOf(step) };
}

/** The path of a document; an id that is none has one, too. */
function pathOf(id: string): string {
  const [, namespace = "", type = "", group = "", ...local] = id.split(":");
  const [kind, name = ""] = group.split(/=(.*)/s);
  const names = { "": "docid", n: "number", g: "group" } as Readonly<Record<string, string>>;
  const place = group === "" ? ["docid"] : [names[kind ?? ""] ?? "group", name];
  return ["", "document", "v1", ...[namespace, type, ...place, local.join(":")].map(encodeURIComponent)].join("/");
}

function searchRequest(step: Step): Request {
  const { parameters } = searchOf(step);
  const asked = new URLSearchParams(parameters.map(([name, value]) => [name, value]));
  // Half a second is too short where all cores of the machine are busy. A trace tells another time then than the row, and everywhere the same.
  if (!/timeout/i.test(JSON.stringify([parameters, step.body]))) asked.set("timeout", "60s");
  const target = `/search/?${asked}`;
  const accept = step.accept === undefined ? {} : { accept: step.accept };
  if (step.body === undefined) return { method: "GET", target, headers: accept };
  return { method: "POST", target, headers: { ...accept, "content-type": "application/json" }, body: step.body };
}

/** All of them, but for those in which models are run: what those yield stands in the rows, for a host of its own. */
export function recordedTalks(): readonly Talk[] {
  const searched = recordedIn(conversationFiles()).filter((recorded) => runsOf(recorded).length === 0);
  return [...searched.map(talkOf), ...HTTP_FILES.map(talkOfFile)];
}

function talkOf(recorded: Recorded): Talk {
  const feed = feedOf(recorded.file);
  const asked = (recorded.conversation.steps ?? []).filter(({ compact }) => compact === undefined).map(requestOf);
  const steps = feed.length === 0 ? asked : [feedRequest(feed), ...asked];
  return { about: recorded.about, deployment: deploymentOf(applicationOf(recorded)), steps };
}

/** The conversations of a file follow one another in one database. */
function talkOfFile(file: string): Talk {
  const { application, conversations } = readRecording(file);
  const steps = conversations.flatMap((conversation) => conversation.steps);
  return { about: file, deployment: deploymentOf(readApplication(application)), steps };
}
