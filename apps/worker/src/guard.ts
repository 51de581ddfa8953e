/** Whom the Worker answers and what its models may ask, as the operator set it: variables, and secrets of the platform. */
import { type GatewayOptions, Origins } from "@brooklet/gateway";

/** What an operator may set (docs/edge.md). */
export interface GuardVariables {
  /** Admin keys, one a line: a secret (`wrangler secret put BROOKLET_ADMIN_KEY`). Without one everybody is answered who reaches the Worker. */
  readonly BROOKLET_ADMIN_KEY?: string;
  /** What tokens are meant for; `brooklet` unless it is set. */
  readonly BROOKLET_TOKEN_AUDIENCE?: string;
  /** The public key, or the address of the list of keys, of who mints tokens elsewhere, and what they sign with. */
  readonly BROOKLET_TOKEN_PUBLIC_KEY?: string;
  readonly BROOKLET_TOKEN_KEYS?: string;
  readonly BROOKLET_TOKEN_ALGORITHM?: string;
  /** Ids (`jti`) of tokens that are not taken any more, with blanks: setting it starts the Worker anew everywhere. */
  readonly BROOKLET_REVOKED_TOKENS?: string;
  /** Origins of web pages that may ask, with blanks: give them tokens. */
  readonly BROOKLET_ALLOWED_ORIGINS?: string;
  /** `off`: nothing is deployed over HTTP. */
  readonly BROOKLET_DEPLOY?: string;
  /** Origins, with blanks, that language models may be at although they are no public names behind TLS. */
  readonly BROOKLET_MODEL_ORIGINS?: string;
}

const ALGORITHMS = ["EdDSA", "ES256", "RS256"] as const;

/** What the gateway is told of it. Throws what is wrong with a variable. */
export function guardOf(variables: GuardVariables): Pick<
  GatewayOptions,
  "adminKeys" | "allowedOrigins" | "tokens" | "deploys" | "fetch"
> & {
  readonly origins: Origins;
} {
  const {
    BROOKLET_ADMIN_KEY: keys,
    BROOKLET_TOKEN_AUDIENCE: audience,
    BROOKLET_TOKEN_PUBLIC_KEY: publicKey,
  } = variables;
  const {
    BROOKLET_TOKEN_KEYS: keysUrl,
    BROOKLET_TOKEN_ALGORITHM: named,
    BROOKLET_MODEL_ORIGINS: models,
    BROOKLET_ALLOWED_ORIGINS: pages,
    BROOKLET_REVOKED_TOKENS: revoked,
  } = variables;
  const adminKeys = (keys ?? "").split("\n").flatMap((key) => (key.trim() === "" ? [] : [key.trim()]));
  if (keys !== undefined && adminKeys.length === 0) throw new Error("BROOKLET_ADMIN_KEY is empty");
  const algorithm = ALGORITHMS.find((one) => one === (named ?? "EdDSA"));
  if (algorithm === undefined) throw new Error(`BROOKLET_TOKEN_ALGORITHM is none of ${ALGORITHMS.join(", ")}`);
  const origins = new Origins({ origins: listed(models), setting: "BROOKLET_MODEL_ORIGINS" });
  const revokedIds = new Set(listed(revoked));
  return {
    adminKeys,
    allowedOrigins: listed(pages),
    tokens: {
      algorithm,
      isRevoked: (id) => revokedIds.has(id),
      ...(audience === undefined ? {} : { audience }),
      ...(publicKey === undefined ? {} : { publicKey }),
      ...(keysUrl === undefined ? {} : { keysUrl }),
    },
    deploys: deploysOf(variables),
    origins,
    // Names are resolved by the platform, which has no private network by itself.
    fetch: (url, init) => {
      origins.demand(url);
      return fetch(url, init);
    },
  };
}

/** What stands in a variable, with blanks between. */
function listed(variable = ""): readonly string[] {
  return variable.split(/\s+/).filter((word) => word !== "");
}

function deploysOf({ BROOKLET_DEPLOY: deploy = "on" }: GuardVariables): boolean {
  if (deploy === "on" || deploy === "off") return deploy === "on";
  throw new Error(`BROOKLET_DEPLOY is '${deploy}': set on or off`);
}
