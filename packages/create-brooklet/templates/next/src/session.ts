import { cookies } from "next/headers";
import { database } from "./database";

/** Who asks, by the session. A real application looks it up where its sessions are. */
const SESSIONS: ReadonlyMap<string, string> = new Map([
  ["alice-token", "alice"],
  ["bob-token", "bob"],
]);

/** Who there is to be. */
export const USERS = [...SESSIONS.values()];

/** The session of a user who says so. A real application asks for a password. */
export function sessionOf(user: string): string | undefined {
  const [session] = [...SESSIONS].find(([, of]) => of === user) ?? [];
  return session;
}

/** The user and their group, and nobody else's; nothing if nobody is known. */
export async function mine() {
  const user = SESSIONS.get((await cookies()).get("session")?.value ?? "");
  return user === undefined ? undefined : { user, group: (await database()).group(user) };
}
