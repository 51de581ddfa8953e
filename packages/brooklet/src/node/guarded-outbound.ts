/** How models are reached from a server: only where its operator would have it. */
import { type OriginOptions, Origins } from "@brooklet/answers/application-models";
import { guardedFetch } from "@brooklet/models/guarded-fetch";
import type { Outbound } from "./outbound.ts";
import { secret } from "./secret.ts";

/** Of a server, to which others deploy. */
export function guardedOutbound(options: OriginOptions): Outbound {
  const origins = new Origins(options);
  return {
    secret: (name, address) => {
      origins.demandSecret(name, address);
      return secret(name);
    },
    fetch: guardedFetch(origins),
    objections: (report) => origins.objections(report),
  };
}
