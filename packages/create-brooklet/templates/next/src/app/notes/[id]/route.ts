import { note } from "../../../schema";
import { mine } from "../../../session";

export async function PUT(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  const me = await mine();
  if (me === undefined) return Response.json({ message: "Who are you?" }, { status: 401 });
  const { id } = await params;
  const { title, body, tags = [] } = (await request.json()) as { title: string; body: string; tags?: string[] };
  await me.group.put(note, id, { title, body, tags, writtenAt: new Date() });
  return Response.json({ id });
}
