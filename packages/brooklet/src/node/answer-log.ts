/** What of a server's answers stands in its log: those that failed, the slow, deployments, and with level `debug` all of them. */
import type { Answered } from "@brooklet/gateway";
import type { Log, LogLevel } from "./log.ts";

/** A search that takes longer is told. */
export const SLOW_MS = 1_000;

/** Tells a log of answers. */
export function answerLog(log: Log, slowMs: number = SLOW_MS): (answered: Answered) => void {
  return ({ kind, method, status, ms }) => {
    const isSlow = kind === "search" && ms >= slowMs;
    const isDeployed = kind === "deploy" && status < 400 && (method === "POST" || method === "PUT");
    const level: LogLevel =
      status >= 500 && status !== 503 && status !== 504 ? "error" : isSlow ? "warn" : isDeployed ? "info" : "debug";
    if (!log.has(level)) return;
    const event = isSlow ? "slow" : isDeployed ? "deployed" : "answered";
    const fields = { kind, method, status, ms: Math.round(ms * 10) / 10 };
    const message = isSlow
      ? `A search took ${Math.round(ms)} ms`
      : isDeployed
        ? "An application was deployed"
        : `${kind} ${status}`;
    log.tell(level, event, message, fields);
  };
}
