/**
 * The database: a server in this process, on a port of this machine that the system chooses, behind a key that nobody else has.
 * Whoever asks it does so with a token of one user's group.
 */
import { randomBytes } from "node:crypto";
import { connect, type RunningService, serve } from "brooklet";
import { groupToken } from "brooklet/token";
import { note } from "./note.ts";

/** A server that has the schema of notes. */
interface Notes {
  readonly service: RunningService;
  readonly key: string;
}

const KEY_BYTES = 32;
const VERBS = ["search", "get", "put", "remove"] as const;
/** Where a module that is loaded anew, as `next dev` does with each change, finds it: a directory is opened once. */
const kept = globalThis as { brookletNotes?: Promise<Notes> };

/** Started by the first request: a build loads this module, too. What cannot be started is tried again by the next request. */
function notes(): Promise<Notes> {
  kept.brookletNotes ??= start().catch((error: unknown) => {
    delete kept.brookletNotes;
    throw error;
  });
  return kept.brookletNotes;
}

async function start(): Promise<Notes> {
  const key = randomBytes(KEY_BYTES).toString("base64url");
  const service = await serve({ path: process.env["NOTES_DATA"] ?? "./data", port: 0, adminKeys: [key] });
  await connect({ url: service.url, key, schemas: [note] });
  return { service, key };
}

/** Where the server is, and a token that reaches the group of this user and nothing else. */
export async function doorOf(user: string): Promise<{ readonly url: string; readonly token: string }> {
  const { service, key } = await notes();
  return { url: service.url, token: await groupToken(key, { group: user, verbs: VERBS, ttl: "1m" }) };
}

/** The notes of a user. */
export async function notesOf(user: string) {
  const { url, token } = await doorOf(user);
  return connect({ url, token: () => token }).group(user);
}
