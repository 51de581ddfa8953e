import { cookies } from "next/headers";
import { database } from "./database";

/** Who asks, by the session. A real application looks it up where its sessions are. */
const SESSIONS: Readonly<Record<string, string>> = { "alice-token": "alice", "bob-token": "bob" };

/** Who there is to be. */
export const USERS = Object.values(SESSIONS);

/** The session of a user who says so. A real application asks for a password. */
export function sessionOf(user: string): string | undefined {
  return Object.keys(SESSIONS).find((token) => SESSIONS[token] === user);
}

/** The user and their group, and nobody else's; nothing if nobody is known. */
export async function mine() {
  const user = SESSIONS[(await cookies()).get("session")?.value ?? ""];
  return user === undefined ? undefined : { user, group: (await database()).group(user) };
}
