/** The Worker with a registry that answers when it is told to: what `gone.test.ts` runs. */
import type { ObjectReply } from "@brooklet/partition/objects";
import type { StoredApplication } from "@brooklet/store";
import { Group as ServedGroup } from "../src/group.ts";
import { Registry as Served } from "../src/registry.ts";

export { Directory } from "../src/directory.ts";
export { default } from "../src/worker.ts";

/** A group; one that is called endless never ends what is done to many of its documents. */
export class Group extends ServedGroup {
  override visit(...asked: Parameters<ServedGroup["visit"]>): ReturnType<ServedGroup["visit"]> {
    const nothing = { documents: 0, body: new Uint8Array(), next: asked[1].from };
    return this.#isEndless ? reply(nothing) : super.visit(...asked);
  }

  override applyWhere(...asked: Parameters<ServedGroup["applyWhere"]>): ReturnType<ServedGroup["applyWhere"]> {
    return this.#isEndless ? reply({ documents: 0, next: asked[1].from }) : super.applyWhere(...asked);
  }

  get #isEndless(): boolean {
    return this.ctx.id.name === "g:endless";
  }
}

async function reply<Result>(ok: Result): Promise<ObjectReply<Result>> {
  await scheduler.wait(1);
  return { ok, application: 0 };
}

/** How often the registry still ends before it tells its secret: as one that the platform moves. What is in memory of the object is lost with it. */
let ends = 0;

/** A registry that can be held, or ends. */
export class Registry extends Served {
  #released: Promise<void> | undefined;
  #release: () => void = () => undefined;
  #waiting = 0;

  async hold(): Promise<void> {
    this.#waiting = 0;
    this.#released = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  /** Whether somebody waits. */
  async held(): Promise<boolean> {
    return this.#waiting > 0;
  }

  async release(): Promise<void> {
    this.#release();
  }

  async endNext(times: number): Promise<void> {
    ends = times;
  }

  override async secret(): Promise<Uint8Array> {
    if (ends > 0) {
      ends -= 1;
      this.ctx.abort("moved by a test");
    }
    await this.#wait();
    return super.secret();
  }

  override async store(after: number, application: StoredApplication, lease?: string): Promise<boolean> {
    await this.#wait();
    return super.store(after, application, lease);
  }

  async #wait(): Promise<void> {
    this.#waiting += 1;
    await this.#released;
  }
}
