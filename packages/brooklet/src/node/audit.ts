/** Where a server tells who did what: a function, or a file. */
import type { AuditListener } from "@brooklet/gateway";
import { AuditLog } from "@brooklet/store/node";

/** What is told, and how that ends. */
export interface AuditSink {
  readonly listener: AuditListener;
  close(): Promise<void>;
}

/** What nobody waits for: as often as it is told again within a second, it is counted. */
const COUNTED: ReadonlySet<string> = new Set(["refused", "throttled"]);

/** What an operator names. Rejects where a file cannot be written. */
export async function auditOf(
  audit: string | AuditListener | undefined,
  onProblem: ((problem: unknown) => void) | undefined,
): Promise<AuditSink | undefined> {
  if (audit === undefined) return undefined;
  if (typeof audit !== "string") return { listener: audit, close: async () => {} };
  const log = await AuditLog.open(audit, onProblem === undefined ? {} : { onProblem });
  return {
    listener: (event) => {
      if (!COUNTED.has(event.action)) return log.note({ ...event });
      log.count({ ...event }, ["request"]);
      return undefined;
    },
    close: () => log.close(),
  };
}
