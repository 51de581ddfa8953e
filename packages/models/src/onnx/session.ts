/** Opens sessions of onnxruntime-node: one place knows how, and which releases of the runtime will do. */
import { env, InferenceSession } from "onnxruntime-node";
import type { SessionThreads } from "./recipe.ts";

/** The first release whose sessions tell the types and sizes of what they take and give. */
const RUNTIME_LEAST = "1.22";

/**
 * A session of a model's file.
 *
 * @throws Error where the runtime is an earlier one. Installers let it stand where a project has it for itself.
 */
export async function openSession(path: string, threads: SessionThreads): Promise<InferenceSession> {
  const session = await InferenceSession.create(path, {
    intraOpNumThreads: threads.intraOp,
    interOpNumThreads: threads.interOp,
    executionMode: threads.executionMode,
    logSeverityLevel: 3,
  });
  if ((session as Partial<InferenceSession>).inputMetadata !== undefined) return session;
  await session.release();
  const found = env.versions.node ?? env.versions.common;
  throw new Error(`onnxruntime-node ${found} is too old: ${RUNTIME_LEAST} or later is needed`);
}
