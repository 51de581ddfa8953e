import { BrookletError } from "brooklet";

/** What a caller got wrong, as an answer to them. Anything else is a failure of this server, and is thrown. */
export function refusalOf(error: unknown): Response {
  if (!BrookletError.is(error)) throw error;
  const { code, status, message } = error;
  if (status === 413) return Response.json({ message }, { status });
  if (code === "INVALID_ARGUMENT" || status === 400) return Response.json({ message }, { status: 400 });
  throw error;
}
