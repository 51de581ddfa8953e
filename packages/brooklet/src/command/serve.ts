/** `brooklet serve`: serves until the process is told to end. */
import { statSync } from "node:fs";
import process from "node:process";
import { type Reranker, rerankEndpoint } from "@brooklet/client";
import type { Answered } from "@brooklet/gateway";
import type { OperatorLimits } from "@brooklet/gateway/node";
import { describeProblem } from "@brooklet/partition";
import { membersThere, type TokenAlgorithm, type TokenOptions } from "@brooklet/wire";
import { answerLog } from "../node/answer-log.ts";
import { encryptionKeyOfEnvironment } from "../node/encryption-key.ts";
import { Log, type LogFormat, type LogLevel } from "../node/log.ts";
import { revokedIn } from "../node/revoked-tokens.ts";
import { secret } from "../node/secret.ts";
import { type RunningService, serve } from "../serve.ts";
import { fileText } from "./given-file.ts";
import { limitsIn } from "./limits-file.ts";
import { storeAt } from "./store.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";

/** Options of the command. */
export interface ServeCommand {
  readonly app?: string;
  readonly data: string;
  readonly store?: string;
  readonly buckets?: number;
  readonly peerAddress?: string;
  readonly port: number;
  readonly configPort?: number;
  readonly host: string;
  readonly allowHost?: readonly string[];
  readonly searchOfAll: boolean;
  readonly group?: string;
  readonly threads?: number;
  readonly cacheMb?: number;
  readonly shardMb?: number;
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
  readonly console?: boolean;
  readonly mcpDescribe?: string;
  readonly revokedTokens?: string;
  readonly tokenAudience: string;
  readonly tokenPublicKey?: string;
  readonly tokenKeys?: string;
  readonly tokenAlgorithm: string;
  readonly groupRate?: number;
  readonly groupDocuments?: number;
  readonly groupBytes?: number;
  readonly limits?: string;
  readonly connectionsPerAddress?: number;
  readonly trustedProxy?: readonly string[];
  readonly log?: LogFormat;
  readonly logLevel?: LogLevel;
  readonly slowMs?: number;
}

const BYTES_PER_MB = 2 ** 20;

/** What is said while a server runs, and to whom: lines as they are, or a log. */
interface Voice {
  readonly say: (event: string, message: string) => void;
  readonly warn: (message: string) => void;
  readonly fail: (problem: unknown) => void;
  readonly onAnswered?: (answered: Answered) => void;
}

function voiceOf({ log: format, logLevel: level, slowMs }: ServeCommand, { print, warn }: Surroundings): Voice {
  if (format === undefined) {
    if (level !== undefined) throw new UsageError("--log-level needs --log");
    const say = (_: string, message: string): void => print(message);
    return { say, warn: (message) => warn(`Warning: ${message}`), fail: (problem) => warn(describeProblem(problem)) };
  }
  const log = new Log({ format, write: print, ...(level === undefined ? {} : { level }) });
  return {
    say: (event, message) => log.tell("info", event, message),
    warn: (message) => log.tell("warn", "warning", message),
    fail: (problem) => log.tell("error", "problem", describeProblem(problem)),
    onAnswered: answerLog(log, slowMs),
  };
}

/** The limits of a file, and when a search is slow. */
function limitsOf({ limits, slowMs }: ServeCommand): OperatorLimits {
  return { ...(limits !== undefined && limitsIn(limits)), ...membersThere({ slowSearchMs: slowMs }) };
}

/** Serves. When it says where, it answers. */
export async function runServe(command: ServeCommand, surroundings: Surroundings): Promise<void> {
  const voice = voiceOf(command, surroundings);
  demandSense(command);
  const { store, cacheMb, shardMb, reranker, mcpDescribe } = command;
  const service = await serve({
    ...membersThere({
      encryptionKey: encryptionKeyOfEnvironment(),
      store: store === undefined ? undefined : await storeAt(store, process.env),
      path: store === undefined ? command.data : undefined,
      buckets: command.buckets,
      peerAddress: command.peerAddress,
      onAnswered: voice.onAnswered,
      requestsPerGroup: command.groupRate,
      documentsPerGroup: command.groupDocuments,
      bytesPerGroup: command.groupBytes,
      connectionsPerAddress: command.connectionsPerAddress,
      trustedProxies: command.trustedProxy,
      group: command.group,
      application: command.app,
      configPort: command.configPort,
      allowedHosts: command.allowHost,
      threads: command.threads,
      cacheBytes: cacheMb === undefined ? undefined : cacheMb * BYTES_PER_MB,
      shardBytes: shardMb === undefined ? undefined : shardMb * BYTES_PER_MB,
      keepRemovesSeconds: command.keepRemoves,
      reranker: reranker === undefined ? undefined : rerankerAt(reranker, command.rerankerModel),
      insecureAllowAnonymous: command.insecureAllowAnonymous,
      modelOrigins: command.modelOrigin,
      allowedOrigins: command.allowOrigin,
      wrongCredentials: command.wrongCredentials,
      audit: command.audit,
      console: command.console,
    }),
    port: command.port,
    host: command.host,
    searchOfAll: command.searchOfAll,
    deploys: command.deploy,
    onProblem: voice.fail,
    limits: limitsOf(command),
    secrets: secretsOf(command.secret ?? []),
    tokens: tokensOf(command),
    models: {
      onNotice: (notice) => voice.say("notice", notice),
      ...membersThere({ modelFolder: command.models, modelCache: command.modelCache }),
    },
    mcp: mcpDescribe === undefined ? command.mcp === true : { description: mcpDescribe },
  });
  announce(service, command, voice);
  await surroundings.untilEnded();
  voice.say("stopping", "Finishing what is under way");
  await service.close();
}

/** Refuses options that would be left out: each without another that it is about, and a folder that is none. */
function demandSense({ store, buckets, peerAddress, threads, port, configPort, ...command }: ServeCommand): void {
  if (peerAddress !== undefined && store === undefined) throw new UsageError("--peer-address needs --store");
  if (buckets !== undefined && store === undefined) throw new UsageError("--buckets needs --store");
  if (threads !== undefined && store !== undefined) throw new UsageError("--threads needs --data, not --store");
  const { reranker, rerankerModel, models } = command;
  if (rerankerModel !== undefined && reranker === undefined) throw new UsageError("--reranker-model needs --reranker");
  if (configPort === port && port !== 0) throw new UsageError(`--config-port and --port are both ${port}: give two`);
  if (models === undefined) return;
  const told = statSync(models, { throwIfNoEntry: false });
  if (told?.isDirectory() !== true)
    throw new UsageError(`${models}, the folder of models, is ${told === undefined ? "not there" : "no directory"}`);
}

/** Says what is served, and where. */
function announce(service: RunningService, { group, mcp, mcpDescribe, ...command }: ServeCommand, voice: Voice): void {
  for (const warning of service.warnings) voice.warn(warning);
  const served = service.schemas.length === 0 ? "nothing is deployed yet" : `serving ${service.schemas.join(", ")}`;
  const door = group === undefined ? "" : `, of the group '${group}' only`;
  voice.say("listening", `Listening on ${service.url} (${served}${door})`);
  if (mcp === true || mcpDescribe !== undefined) voice.say("listening", `Assistants find MCP at ${service.url}/mcp`);
  if (command.console === true) voice.say("listening", `The console is at ${service.url}/console/`);
  if (service.configPort !== undefined) voice.say("listening", `Deployments also on port ${service.configPort}`);
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
  if (algorithm === undefined)
    throw new UsageError(`--token-algorithm is ${tokenAlgorithm}: give ${ALGORITHMS.join(", ")}`);
  return {
    audience: tokenAudience,
    algorithm,
    ...(tokenPublicKey === undefined ? {} : { publicKey: fileText(tokenPublicKey) }),
    ...(tokenKeys === undefined ? {} : { keysUrl: tokenKeys }),
    ...(revokedTokens === undefined ? {} : { isRevoked: revokedIn(revokedTokens) }),
  };
}

/** The reranker of an endpoint. Its key, where it wants one, is the environment's `VESPA_SECRET_RERANKER`. */
function rerankerAt(url: string, model: string | undefined): Reranker {
  if (!/^https?:/.test(url) || !URL.canParse(url)) throw new UsageError(`--reranker: ${url} is no http(s) address`);
  const apiKey = secret("reranker");
  return rerankEndpoint({
    url,
    ...(model === undefined ? {} : { model }),
    ...(apiKey === undefined ? {} : { apiKey }),
  });
}
