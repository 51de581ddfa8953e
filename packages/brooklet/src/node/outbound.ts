/** How models are reached from a program that opens a database: it may send what it likes to where it likes. */
import type { ModelFetch } from "@brooklet/models/guarded-fetch";
import type { DeployReport } from "@brooklet/partition";
import { secret } from "./secret.ts";

/** The way out. */
export interface Outbound {
  /** A secret for what is sent to an address. Throws where it may not go there. */
  readonly secret: (name: string, address: string) => string | undefined;
  readonly fetch: ModelFetch;
  /** What is to be said against an application. */
  readonly objections: (report: DeployReport) => readonly string[];
}

/** Of a database in this process: who deploys to it is the program itself, which may send what it likes. */
export const OWN_OUTBOUND: Outbound = {
  secret: (name) => secret(name),
  fetch: (url, init) => fetch(url, init),
  objections: () => [],
};
