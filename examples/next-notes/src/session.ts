/** Who asks. Sessions are in memory, and a name is all that is asked for: both are yours to replace. */
import { randomUUID } from "node:crypto";
import { cookies } from "next/headers";

const COOKIE = "session";
const SESSION_SECONDS = 8 * 60 * 60;
const SESSIONS_MAX = 10_000;
const NAME = /^[a-z]{1,20}$/;

interface Session {
  readonly user: string;
  readonly untilMs: number;
}

const kept = globalThis as { noteSessions?: Map<string, Session> };
kept.noteSessions ??= new Map();
const sessions = kept.noteSessions;

/** The user, if there is one. */
export async function userOfRequest(): Promise<string | undefined> {
  const session = sessions.get((await cookies()).get(COOKIE)?.value ?? "");
  return session !== undefined && session.untilMs > Date.now() ? session.user : undefined;
}

/** Begins a session; false for what is no name. */
export async function beginSession(user: string): Promise<boolean> {
  if (!NAME.test(user)) return false;
  const [oldest] = sessions.keys();
  if (sessions.size >= SESSIONS_MAX && oldest !== undefined) sessions.delete(oldest);
  const id = randomUUID();
  sessions.set(id, { user, untilMs: Date.now() + SESSION_SECONDS * 1_000 });
  (await cookies()).set(COOKIE, id, { httpOnly: true, sameSite: "strict", maxAge: SESSION_SECONDS });
  return true;
}

/** Ends it. */
export async function endSession(): Promise<void> {
  const jar = await cookies();
  sessions.delete(jar.get(COOKIE)?.value ?? "");
  jar.delete(COOKIE);
}
