/** A Worker whose objects are agents with a memory each: what `durable-object.test.ts` runs in workerd. */
import { DurableObject } from "cloudflare:workers";
import { type ObjectDatabase, openIn } from "brooklet/durable-object";
import { NOTE, NOTES, SEARCHES } from "./agent-notes.ts";

/** What the platform gives an object, as far as it is used here. */
interface State {
  readonly storage: Parameters<typeof openIn>[0] & { deleteAll(): Promise<void> };
  readonly id: { readonly name?: string };
}

/** An agent: tables of its own, and a memory beside them. */
export class Agent extends DurableObject {
  declare readonly ctx: State;
  #memory: ObjectDatabase | undefined;

  async #database(): Promise<ObjectDatabase> {
    this.#memory ??= await openIn(this.ctx.storage, { schemas: [NOTE] });
    return this.#memory;
  }

  async remember(): Promise<void> {
    // A table of the owner's that has the name of one that other stores of ours have.
    this.ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS segment (mine TEXT)");
    const group = (await this.#database()).group(this.ctx.id.name ?? "");
    for await (const { ok, id } of group.feed(NOTE, NOTES)) if (!ok) throw new Error(`${id} was not stored`);
  }

  async recall(): Promise<readonly (readonly [id: string, relevance: number])[][]> {
    const group = (await this.#database()).group(this.ctx.id.name ?? "");
    const answers = [];
    for (const search of SEARCHES) {
      const { hits } = await group.search(NOTE, search);
      answers.push(hits.map(({ id, relevance }) => [id, relevance] as const));
    }
    return answers;
  }

  /** How many notes are there of four that two databases of this object wrote in turns. */
  async crowd(): Promise<number> {
    const open = (): Promise<ObjectDatabase> => openIn(this.ctx.storage, { schemas: [NOTE] });
    const both = await Promise.all([open(), open()]);
    for (const [at, { id, fields }] of NOTES.slice(0, 4).entries())
      await both[at % 2]?.group("crowd").put(NOTE, id, fields);
    return await (await open()).group("crowd").count(NOTE);
  }

  /** What comes of a note that is longer than a value may be here, put beside another, and of how many are there then. */
  async overlong(): Promise<readonly unknown[]> {
    const group = (await this.#database()).group("overlong");
    const [short, long] = NOTES.map(({ fields }, at) => ({ ...fields, title: "word ".repeat(at === 0 ? 1 : 600_000) }));
    if (short === undefined || long === undefined) throw new Error("there are no notes");
    const put = (id: string, fields: typeof short): Promise<unknown> =>
      group.put(NOTE, id, fields).then(
        () => "stored",
        ({ code, outcome }: { readonly code: string; readonly outcome: string }) => [code, outcome],
      );
    return [await Promise.all([put("1", short), put("2", long), put("3", short)]), await group.count(NOTE)];
  }

  async rest(): Promise<readonly boolean[]> {
    const database = await this.#database();
    return [database.isRestless, await database.rest(), database.isRestless];
  }

  async forget(): Promise<readonly unknown[]> {
    const database = await this.#database();
    const group = database.group(this.ctx.id.name ?? "");
    await group.clear();
    await database.rest();
    const groups = [];
    for await (const name of database.groups()) groups.push(name);
    return [await group.count(NOTE), groups];
  }

  async backup(): Promise<string> {
    return (await (await this.#database()).backup()).bookmark;
  }

  async tables(): Promise<readonly unknown[]> {
    return this.ctx.storage.sql.exec("SELECT name FROM sqlite_schema ORDER BY name").toArray();
  }
}

interface Call {
  readonly agent: string;
  readonly verb: "remember" | "recall" | "crowd" | "overlong" | "rest" | "forget" | "backup" | "tables";
}

/** Calls an agent. */
const worker = {
  fetch: async (
    request: Request,
    env: { readonly AGENT: { getByName(name: string): Record<Call["verb"], () => Promise<unknown>> } },
  ): Promise<Response> => {
    const { agent, verb } = (await request.json()) as Call;
    return Response.json((await env.AGENT.getByName(agent)[verb]()) ?? null);
  },
};

export default worker;
