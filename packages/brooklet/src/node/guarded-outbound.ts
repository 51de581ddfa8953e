/** How models are reached from a server: only where its operator would have it. */
import { type OriginOptions, Origins } from "@brooklet/answers/application-models";
import { StartError } from "@brooklet/gateway/node";
import { guardedFetch } from "@brooklet/models/guarded-fetch";
import type { Outbound } from "./outbound.ts";
import { secret } from "./secret.ts";

/** Of a server, to which others deploy. */
export function guardedOutbound(options: OriginOptions): Outbound {
  const origins = originsOf(options);
  return {
    secret: (name, address) => {
      origins.demandSecret(name, address);
      return secret(name);
    },
    fetch: guardedFetch(origins),
    objections: (report) => origins.objections(report),
  };
}

function originsOf(options: OriginOptions): Origins {
  try {
    return new Origins(options);
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}
