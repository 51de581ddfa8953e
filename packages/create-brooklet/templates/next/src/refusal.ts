import { BrookletError } from "brooklet";

/** What a caller got wrong, to be told to them. Anything else is a failure of this server, and is thrown. */
export function refused(error: unknown): { message: string; status: number } {
  if (!BrookletError.is(error)) throw error;
  const { code, status, message } = error;
  if (status === 413) return { message, status };
  if (code === "INVALID_ARGUMENT" || status === 400) return { message, status: 400 };
  throw error;
}

/** The same as the answer of a route. */
export function refusalOf(error: unknown): Response {
  const { message, status } = refused(error);
  return Response.json({ message }, { status });
}
