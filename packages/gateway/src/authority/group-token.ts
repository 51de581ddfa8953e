/**
 * Group tokens: JSON Web Tokens whose claims are read exactly. Which algorithm a token has is decided by the key that it is held
 * against, never by the token; a claim that is not known refuses it, as it could narrow what it grants. With the library for
 * them, this is loaded with the first token.
 */
import {
  documentNameProblem,
  type Grant,
  ServiceError,
  TOKEN_AUDIENCE,
  TOKEN_GROUPS_MAX,
  TOKEN_SCHEMAS_MAX,
  TOKEN_SECONDS_MAX,
  type TokenAlgorithm,
  type TokenOptions,
  tokenSecret,
  VERBS,
} from "@brooklet/wire";
import {
  createRemoteJWKSet,
  decodeProtectedHeader,
  errors,
  importJWK,
  importSPKI,
  type JWTPayload,
  jwtVerify,
} from "jose";
import * as z from "zod";
import { StartError } from "../start-error.ts";

/** What a token says. */
export interface GroupToken {
  readonly id: string;
  readonly grant: Grant;
  /** When it is not valid any more, milliseconds since the epoch. */
  readonly endMs: number;
}

const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** How far clocks may be apart. */
const SKEW_SECONDS = 60;
const TEXT_MAX = 512;
const KEYS_TIMEOUT_MS = 5_000;

const text = z.string().min(1).max(TEXT_MAX);
const seconds = z.int().min(0);
// A star is a letter like any other in the name of a group; in a token somebody could think that it means more.
const group = text.refine((name) => documentNameProblem("group", name) === undefined && !name.includes("*"));
const schema = text.regex(/^[A-Za-z_]\w*$/);
const unlike = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

const CLAIMS = z.strictObject({
  groups: z.array(group).min(1).max(TOKEN_GROUPS_MAX).refine(unlike),
  verbs: z.array(z.enum(VERBS)).min(1).refine(unlike),
  schemas: z.array(schema).min(1).max(TOKEN_SCHEMAS_MAX).refine(unlike).exactOptional(),
  iat: seconds,
  exp: seconds,
  nbf: seconds.exactOptional(),
  aud: z.union([text, z.array(text).min(1).max(TOKEN_GROUPS_MAX)]),
  jti: text,
  // Who minted it and for whom: they say nothing of what is granted.
  iss: text.exactOptional(),
  sub: text.exactOptional(),
});

const HEADER = z.strictObject({
  alg: z.string(),
  typ: z.literal(["JWT", "at+jwt"]).exactOptional(),
  kid: text.exactOptional(),
});

/** Checks a signature; gives what is signed, or throws. */
type Verify = (token: string) => Promise<JWTPayload>;

/** Reads tokens. */
export class GroupTokens {
  readonly #byAlgorithm: ReadonlyMap<string, readonly Verify[]>;

  private constructor(byAlgorithm: ReadonlyMap<string, readonly Verify[]>) {
    this.#byAlgorithm = byAlgorithm;
  }

  /** Throws what is wrong with a key. */
  static async open(adminKeys: readonly string[], options: TokenOptions): Promise<GroupTokens> {
    const { audience = TOKEN_AUDIENCE, publicKey, keysUrl, algorithm = "EdDSA" } = options;
    const expected = { audience, clockTolerance: SKEW_SECONDS };
    const own = await Promise.all(
      adminKeys.map(async (key): Promise<Verify> => {
        const secret = await tokenSecret(key);
        return async (token) => (await jwtVerify(token, secret, { ...expected, algorithms: ["HS256"] })).payload;
      }),
    );
    const elsewhere: Verify[] = [];
    if (publicKey !== undefined) {
      const key = await publicKeyOf(publicKey, algorithm);
      elsewhere.push(async (token) => (await jwtVerify(token, key, { ...expected, algorithms: [algorithm] })).payload);
    }
    if (keysUrl !== undefined) {
      if (!/^https?:/i.test(keysUrl) || !URL.canParse(keysUrl))
        throw new StartError(`'${keysUrl}' is no address of keys of tokens`);
      const keys = createRemoteJWKSet(new URL(keysUrl), { timeoutDuration: KEYS_TIMEOUT_MS });
      elsewhere.push(async (token) => (await jwtVerify(token, keys, { ...expected, algorithms: [algorithm] })).payload);
    }
    return new GroupTokens(
      new Map([
        ["HS256", own],
        [algorithm, elsewhere],
      ]),
    );
  }

  /** What a token says; nothing if it is none, or not valid here and now. */
  async read(token: string): Promise<GroupToken | undefined> {
    // The library passes over blanks in what is encoded.
    if (!FORM.test(token)) return undefined;
    let header: unknown;
    try {
      header = decodeProtectedHeader(token);
    } catch {
      return undefined;
    }
    const { data } = HEADER.safeParse(header);
    for (const verify of this.#byAlgorithm.get(data?.alg ?? "") ?? []) {
      const payload = await verify(token).catch(notValid);
      if (payload !== undefined) return tokenOf(payload);
    }
    return undefined;
  }
}

/** Nothing: the token is not valid. Throws where that could not be found out. */
function notValid(error: unknown): undefined {
  const { JOSEError, JWKSTimeout } = errors;
  // A list of keys that answers something else is the library's error without a kind.
  if (error instanceof JOSEError && !(error instanceof JWKSTimeout) && error.code !== JOSEError.code) return undefined;
  throw new ServiceError("UNAVAILABLE", "The keys that tokens are held against cannot be had now", { cause: error });
}

function tokenOf(payload: JWTPayload): GroupToken | undefined {
  const { data } = CLAIMS.safeParse(payload);
  if (data === undefined) return undefined;
  const { groups, verbs, schemas, iat, exp, jti } = data;
  if (exp <= iat || exp - iat > TOKEN_SECONDS_MAX || iat > Date.now() / 1_000 + SKEW_SECONDS) return undefined;
  const grant: Grant = { groups, verbs, ...(schemas === undefined ? {} : { schemas }) };
  return { id: jti, grant, endMs: (exp + SKEW_SECONDS) * 1_000 };
}

async function publicKeyOf(given: string, algorithm: TokenAlgorithm): ReturnType<typeof importSPKI> {
  try {
    if (!given.trimStart().startsWith("{")) return await importSPKI(given, algorithm);
    const key = await importJWK(JSON.parse(given) as Record<string, unknown>, algorithm);
    if (!(key instanceof Uint8Array) && key.type === "public") return key;
  } catch (cause) {
    throw new StartError(`The public key of tokens cannot be read as one of ${algorithm}: PEM (SPKI) or a JWK`, {
      cause,
    });
  }
  throw new StartError("The public key of tokens is no public key: a secret or private one is not taken");
}
