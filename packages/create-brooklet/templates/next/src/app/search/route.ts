import { refusalOf } from "../../refusal";
import { note } from "../../schema";
import { mine } from "../../session";

export async function GET(request: Request): Promise<Response> {
  const me = await mine();
  if (me === undefined) return Response.json({ message: "Who are you?" }, { status: 401 });
  const text = new URL(request.url).searchParams.get("q") ?? "";
  try {
    const { hits, totalCount } = await me.group.search(note, { text });
    return Response.json({ totalCount, hits: hits.map(({ id, fields }) => ({ id, ...fields })) });
  } catch (error) {
    return refusalOf(error);
  }
}
