/** `brooklet serve`: serves until the process is told to end. */
import { readFileSync } from "node:fs";
import process from "node:process";
import { type Reranker, rerankEndpoint } from "@brooklet/client";
import type { TokenAlgorithm, TokenOptions } from "@brooklet/wire";
import { revokedIn } from "../node/revoked-tokens.ts";
import { secret } from "../node/secret.ts";
import { serve } from "../serve.ts";
import { storeAt } from "./store.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";

/** Options of the command. */
export interface ServeCommand {
  readonly app?: string;
  readonly data: string;
  readonly store?: string;
  readonly peerAddress?: string;
  readonly port: number;
  readonly configPort?: number;
  readonly host: string;
  readonly allowHost?: readonly string[];
  readonly searchOfAll: boolean;
  readonly group?: string;
  readonly threads?: number;
  readonly cacheMb?: number;
  readonly keepRemoves?: number;
  readonly models?: string;
  readonly modelCache?: string;
  readonly modelOrigin?: readonly string[];
  readonly secret?: readonly string[];
  readonly reranker?: string;
  readonly rerankerModel?: string;
  readonly insecureAllowAnonymous?: boolean;
  readonly allowOrigin?: readonly string[];
  readonly deploy: boolean;
  readonly wrongCredentials?: number;
  readonly audit?: string;
  readonly mcp?: boolean;
  readonly mcpDescribe?: string;
  readonly revokedTokens?: string;
  readonly tokenAudience: string;
  readonly tokenPublicKey?: string;
  readonly tokenKeys?: string;
  readonly tokenAlgorithm: string;
}

const BYTES_PER_MB = 2 ** 20;

/** Serves. When it says where, it answers. */
export async function runServe(command: ServeCommand, surroundings: Surroundings): Promise<void> {
  const {
    app,
    data,
    port,
    configPort,
    host,
    allowHost,
    searchOfAll,
    group,
    threads,
    cacheMb,
    keepRemoves,
    models,
    modelCache,
    reranker,
    rerankerModel,
    insecureAllowAnonymous,
  } = command;
  const service = await serve({
    ...(command.store === undefined ? { path: data } : { store: await storeAt(command.store, process.env) }),
    ...(command.peerAddress === undefined ? {} : { peerAddress: command.peerAddress }),
    port,
    host,
    searchOfAll,
    onProblem: (problem) =>
      surroundings.warn(problem instanceof Error ? (problem.stack ?? problem.message) : String(problem)),
    ...(group === undefined ? {} : { group }),
    ...(app === undefined ? {} : { application: app }),
    ...(configPort === undefined ? {} : { configPort }),
    ...(allowHost === undefined ? {} : { allowedHosts: allowHost }),
    ...(threads === undefined || command.store !== undefined ? {} : { threads }),
    ...(cacheMb === undefined ? {} : { cacheBytes: cacheMb * BYTES_PER_MB }),
    ...(keepRemoves === undefined ? {} : { keepRemovesSeconds: keepRemoves }),
    ...(reranker === undefined ? {} : { reranker: rerankerAt(reranker, rerankerModel) }),
    models: {
      onNotice: (notice) => surroundings.print(notice),
      ...(models === undefined ? {} : { modelFolder: models }),
      ...(modelCache === undefined ? {} : { modelCache }),
    },
    ...(insecureAllowAnonymous === undefined ? {} : { insecureAllowAnonymous }),
    ...(command.modelOrigin === undefined ? {} : { modelOrigins: command.modelOrigin }),
    secrets: secretsOf(command.secret ?? []),
    ...(command.allowOrigin === undefined ? {} : { allowedOrigins: command.allowOrigin }),
    deploys: command.deploy,
    tokens: tokensOf(command),
    ...(command.wrongCredentials === undefined ? {} : { wrongCredentials: command.wrongCredentials }),
    ...(command.audit === undefined ? {} : { audit: command.audit }),
    mcp: command.mcpDescribe === undefined ? command.mcp === true : { description: command.mcpDescribe },
  });
  for (const warning of service.warnings) surroundings.warn(`Warning: ${warning}`);
  const served = service.schemas.length === 0 ? "nothing is deployed yet" : `serving ${service.schemas.join(", ")}`;
  const door = group === undefined ? "" : `, of the group '${group}' only`;
  surroundings.print(`Listening on ${service.url} (${served}${door})`);
  if (command.mcp === true || command.mcpDescribe !== undefined)
    surroundings.print(`Assistants find MCP at ${service.url}/mcp`);
  if (service.configPort !== undefined) surroundings.print(`Deployments also on port ${service.configPort}`);
  await surroundings.untilEnded();
  surroundings.print("Finishing what is under way");
  await service.close();
}

/** The origins of secrets, as `name=origin` each. */
function secretsOf(words: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const origins = new Map<string, string[]>();
  for (const word of words) {
    const [, name, origin] = /^([^=]+)=(.+)$/.exec(word) ?? [];
    if (name === undefined || origin === undefined)
      throw new UsageError(`--secret takes a name and an origin, as openai=https://api.openai.com, not '${word}'`);
    origins.set(name, [...(origins.get(name) ?? []), origin]);
  }
  return Object.fromEntries(origins);
}

const ALGORITHMS: readonly TokenAlgorithm[] = ["EdDSA", "ES256", "RS256"];

/** Which tokens are taken. */
function tokensOf(command: ServeCommand): TokenOptions {
  const { tokenAudience, tokenPublicKey, tokenKeys, tokenAlgorithm, revokedTokens } = command;
  const algorithm = ALGORITHMS.find((one) => one === tokenAlgorithm);
  if (algorithm === undefined) throw new UsageError(`--token-algorithm is one of ${ALGORITHMS.join(", ")}`);
  return {
    audience: tokenAudience,
    algorithm,
    ...(tokenPublicKey === undefined ? {} : { publicKey: readFileSync(tokenPublicKey, "utf8") }),
    ...(tokenKeys === undefined ? {} : { keysUrl: tokenKeys }),
    ...(revokedTokens === undefined ? {} : { isRevoked: revokedIn(revokedTokens) }),
  };
}

/** The reranker of an endpoint. Its key, where it wants one, is the environment's `VESPA_SECRET_RERANKER`. */
function rerankerAt(url: string, model: string | undefined): Reranker {
  if (!/^https?:/.test(url) || !URL.canParse(url)) throw new UsageError("--reranker takes an address with http(s)://");
  const apiKey = secret("reranker");
  return rerankEndpoint({
    url,
    ...(model === undefined ? {} : { model }),
    ...(apiKey === undefined ? {} : { apiKey }),
  });
}
