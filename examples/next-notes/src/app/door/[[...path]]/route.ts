/**
 * Where the page's SDK asks: what it sends goes to the database with a token of the user who has the session, whatever it says
 * itself. Nothing but that user's group is behind this door.
 */
import { doorOf } from "../../../server.ts";
import { userOfRequest } from "../../../session.ts";

/** The one address that a page needs. */
const SEARCH = "/door/search/";
const BODY_BYTES_MAX = 64 << 10;

/** Passes a search on. */
export async function POST(request: Request): Promise<Response> {
  const user = await userOfRequest();
  if (user === undefined) return refused(401, "Nobody is logged in");
  const { pathname } = new URL(request.url);
  if (pathname !== SEARCH) return refused(404, "There is only a search behind this door");
  const body = await request.text();
  if (body.length > BODY_BYTES_MAX) return refused(413, "The search is too long");
  const { url, token } = await doorOf(user);
  const answer = await fetch(`${url}/search/`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": request.headers.get("content-type") ?? "" },
    body,
    signal: request.signal,
  });
  return new Response(answer.body, {
    status: answer.status,
    headers: { "content-type": answer.headers.get("content-type") ?? "application/json" },
  });
}

/** A refusal in the form that the SDK reads. */
function refused(status: number, message: string): Response {
  return Response.json({ root: { errors: [{ code: status, summary: "Refused", message }] } }, { status });
}
