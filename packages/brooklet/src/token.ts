/**
 * Tokens for the groups of a server, minted offline: by whoever has an admin key of the server, in Node, at the edge or in a
 * browser's worker; the server has to be asked nothing.
 */
import { invalidArgument, refuseUnknown } from "@brooklet/client";
import {
  adminKeyProblem,
  documentNameProblem,
  TOKEN_AUDIENCE,
  TOKEN_GROUPS_MAX,
  TOKEN_SCHEMAS_MAX,
  TOKEN_SECONDS_MAX,
  tokenSecret,
  VERBS,
  type Verb,
} from "@brooklet/wire";
import { SignJWT } from "jose";

export type { Verb };

/** What a token grants, and for how long. */
export interface GroupTokenOptions {
  /** The group; or `groups`. */
  readonly group?: string;
  /** Several groups, 16 at most. */
  readonly groups?: readonly string[];
  /** What may be done with their documents. */
  readonly verbs: readonly Verb[];
  /** Of which schemas; of all of them unless it is said. */
  readonly schemas?: readonly string[];
  /** How long: seconds, or a text such as `15m` or `8h`; a day at most. */
  readonly ttl: number | string;
  /** Which server it is meant for, where servers have names (`serve({ tokens: { audience } })`). */
  readonly audience?: string;
  /** Its name, by which the server can be told not to take it any more; random unless it is said. */
  readonly id?: string;
}

const OPTIONS: Readonly<Record<keyof GroupTokenOptions, true>> = {
  group: true,
  groups: true,
  verbs: true,
  schemas: true,
  ttl: true,
  audience: true,
  id: true,
};
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

/**
 * Mints a token: whoever sends it reaches these groups and no others, by these verbs and no others, until it ends. Give it to a page
 * or an agent in place of the key.
 *
 * @example
 * ```ts
 * import { groupToken } from "brooklet/token";
 *
 * async function tokenOfUser(adminKey: string, user: string): Promise<string> {
 *   return await groupToken(adminKey, { group: user, verbs: ["search", "get"], ttl: "15m" });
 * }
 * ```
 */
export async function groupToken(adminKey: string, options: GroupTokenOptions): Promise<string> {
  refuseUnknown("groupToken", options, Object.keys(OPTIONS));
  const problem = typeof adminKey === "string" ? adminKeyProblem(adminKey) : "it is no text";
  if (problem !== undefined) throw invalidArgument(`The admin key cannot be used: ${problem}`);
  const { group, verbs, schemas, audience = TOKEN_AUDIENCE, id = crypto.randomUUID() } = options;
  const groups = groupsOf(group, options.groups);
  const known: readonly string[] = VERBS;
  const all = distinctTexts("verbs", verbs, VERBS.length, (verb) =>
    known.includes(verb) ? undefined : `there are ${VERBS.join(", ")}`,
  );
  const ofSchemas =
    schemas &&
    distinctTexts("schemas", schemas, TOKEN_SCHEMAS_MAX, (name) =>
      /^[A-Za-z_]\w*$/.test(name) ? undefined : "it is no name of a schema",
    );
  const now = Math.floor(Date.now() / 1_000);
  const claims = { groups, verbs: all, ...(ofSchemas && { schemas: ofSchemas }) };
  return await new SignJWT({ ...claims })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuedAt(now)
    .setExpirationTime(now + secondsOf(options.ttl))
    .setAudience(audience)
    .setJti(id)
    .sign(await tokenSecret(adminKey));
}

function groupsOf(group: string | undefined, groups: readonly string[] | undefined): readonly string[] {
  if ((group === undefined) === (groups === undefined))
    throw invalidArgument("groupToken needs `group`, or `groups`, not both");
  return distinctTexts("groups", groups ?? [group as string], TOKEN_GROUPS_MAX, (name) => {
    if (name.includes("*")) return "a token names groups one by one, and none with a star";
    return documentNameProblem("group", name);
  });
}

/** A list of texts, each of them once. */
function distinctTexts(
  what: string,
  texts: readonly string[],
  most: number,
  problemOf: (text: string) => string | undefined,
): readonly string[] {
  if (!Array.isArray(texts) || texts.length === 0 || texts.length > most)
    throw invalidArgument(`groupToken needs \`${what}\`: a list of 1 to ${most} texts`);
  const unlike = [...new Set(texts as readonly string[])];
  for (const text of unlike) {
    const problem = typeof text === "string" ? problemOf(text) : "it is no text";
    if (problem !== undefined) throw invalidArgument(`'${String(text)}' cannot be one of ${what}: ${problem}`);
  }
  return unlike;
}

function secondsOf(ttl: number | string): number {
  const [, count = "", unit = ""] = typeof ttl === "string" ? (/^(\d{1,6})([smh])$/.exec(ttl) ?? []) : [];
  const seconds = typeof ttl === "number" ? ttl : Number(count || Number.NaN) * (UNIT_SECONDS[unit] ?? Number.NaN);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= TOKEN_SECONDS_MAX) return seconds;
  throw invalidArgument(
    `ttl is ${JSON.stringify(ttl)}: give whole seconds, or a text such as 90s, 15m or 8h; 24h at most`,
  );
}
