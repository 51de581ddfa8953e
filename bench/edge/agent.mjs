/** A Worker whose objects have a database of their own each: what `own-object.mjs` measures. */
import { DurableObject } from "cloudflare:workers";
import { openIn } from "brooklet/durable-object";
import { fillGroup, note, recall } from "./notes.mjs";

export class Agent extends DurableObject {
  #memory;

  async #group() {
    this.#memory ??= await openIn(this.ctx.storage, { schemas: [note] });
    return this.#memory.group("me");
  }

  async fill() {
    await fillGroup(await this.#group());
    await this.#memory.rest();
  }

  async recall(...asked) {
    return await recall(await this.#group(), ...asked);
  }
}

const worker = {
  async fetch(request, env) {
    const [verb, ...asked] = await request.json();
    return Response.json((await env.AGENT.getByName("one")[verb](...asked)) ?? null);
  },
};

export default worker;
