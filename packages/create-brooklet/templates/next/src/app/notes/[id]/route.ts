import { refusalOf } from "../../../refusal";
import { note } from "../../../schema";
import { mine } from "../../../session";

/** A note as it is sent. */
interface SentNote {
  title: string;
  body: string;
  tags?: string[];
}

export async function PUT(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  const me = await mine();
  if (me === undefined) return Response.json({ message: "Who are you?" }, { status: 401 });
  const { id } = await params;
  const sent = (await request.json().catch(() => undefined)) as SentNote | undefined;
  if (sent === undefined) return Response.json({ message: "The body is no JSON" }, { status: 400 });
  const { title, body, tags = [] } = { ...sent };
  try {
    await me.group.put(note, id, { title, body, tags, writtenAt: new Date() });
  } catch (error) {
    return refusalOf(error);
  }
  return Response.json({ id });
}
