/**
 * What a backup adds to a target. Each object is listed before it is stored: a backup that is ended by a kill leaves objects that no manifest
 * names, with documents in them, and the next one has to find those.
 */
import { type BackupObjects, digest } from "./objects.ts";

/** Names in one list: it is written anew with each of them. */
const PAGE = 256;

/** The objects that one backup adds. */
export class Additions {
  readonly #objects: BackupObjects;
  readonly #names: string[];
  /** Objects whose content may come again, by digests of that: those of this backup, and of one before it. */
  readonly contents: Record<string, string> = {};
  #earlier: Readonly<Record<string, string>> = {};
  #storedBytes = 0;

  private constructor(objects: BackupObjects, names: string[]) {
    this.#objects = objects;
    this.#names = names;
  }

  /** Begins to add, after what others left that were ended. */
  static async begin(objects: BackupObjects): Promise<Additions> {
    const names: string[] = [];
    for (let page = 0; ; page += 1) {
      const listed = await objects.value<readonly string[]>(pageName(page));
      if (listed === undefined) return new Additions(objects, names);
      names.push(...listed);
    }
  }

  /** The names of all objects there are. */
  async there(): Promise<readonly string[]> {
    return await this.#objects.target.names("objects");
  }

  /** Bytes that were added. */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  /** Stores bytes. The name of the object. */
  async add(bytes: Uint8Array): Promise<string> {
    const name = await this.#objects.add(bytes, (fresh) => this.list([fresh]));
    this.#storedBytes += bytes.length;
    return name;
  }

  /** Names the objects of an earlier backup that are there where what is added by `addOnce` is the same again. */
  know(contents: Readonly<Record<string, string>>, there: ReadonlySet<string>): void {
    this.#earlier = Object.fromEntries(Object.entries(contents).filter(([, name]) => there.has(name)));
  }

  /** Stores bytes, unless there is an object that has the same. The name of the object. */
  async addOnce(bytes: Uint8Array): Promise<string> {
    const of = digest(bytes);
    const name = this.contents[of] ?? this.#earlier[of] ?? (await this.add(bytes));
    this.contents[of] = name;
    return name;
  }

  /** Lists names as those of what was added: whatever no backup has of them by the end is removed, by the next one if this is ended. */
  async list(names: readonly string[]): Promise<void> {
    const first = Math.floor(this.#names.length / PAGE);
    this.#names.push(...names);
    for (let page = first; page * PAGE < this.#names.length; page += 1)
      await this.#objects.write(pageName(page), this.#names.slice(page * PAGE, (page + 1) * PAGE));
  }

  /** The names of all that was added and is not among these, what others left included. */
  beside(kept: ReadonlySet<string>): readonly string[] {
    return this.#names.filter((name) => !kept.has(name));
  }

  /** Ends: what is listed has a manifest, or is removed. */
  async end(): Promise<void> {
    for (let page = Math.ceil(this.#names.length / PAGE) - 1; page >= 0; page -= 1)
      await this.#objects.target.remove(pageName(page));
  }
}

function pageName(page: number): string {
  return `unfinished/${page}`;
}
