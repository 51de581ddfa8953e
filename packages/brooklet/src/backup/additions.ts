/**
 * What a backup adds to a target. Each object is listed before it is stored: a backup that is ended by a kill leaves objects that no manifest
 * names, with documents in them, and the next one has to find those.
 */
import { randomUUID } from "node:crypto";
import { type BackupObjects, digest } from "./objects.ts";

/** Names in one list: it is written anew with each of them. */
const PAGE = 256;

/** What is listed as added, by backups that were ended too, and where. */
interface Listed {
  readonly names: readonly string[];
  readonly pages: readonly string[];
}

/** The objects that one backup adds. */
export class Additions {
  readonly #objects: BackupObjects;
  /** Its lists have names of their own: one that was taken over from may still write. */
  readonly #id: string = randomUUID();
  readonly #names: string[] = [];
  /** Objects whose content may come again, by digests of that: those of this backup, and of one before it. */
  readonly contents: Record<string, string> = {};
  #earlier: Readonly<Record<string, string>> = {};
  #storedBytes = 0;
  /** Whether a list of backups may name what was added. */
  isListed = false;

  constructor(objects: BackupObjects) {
    this.#objects = objects;
  }

  /** What is listed by now. */
  async listed(): Promise<Listed> {
    const names: string[] = [];
    const pages = await this.#objects.target.names("unfinished");
    // One that is gone by now was removed by who wrote it.
    for (const page of pages) names.push(...((await this.#objects.value<readonly string[]>(page)) ?? []));
    return { names, pages };
  }

  /** The names of all objects there are. */
  async there(): Promise<readonly string[]> {
    return await this.#objects.target.names("objects");
  }

  /** What this backup listed as added. */
  get own(): readonly string[] {
    return this.#names;
  }

  /** The lists of this backup. */
  get pages(): readonly string[] {
    return Array.from({ length: Math.ceil(this.#names.length / PAGE) }, (_, page) => this.#pageName(page));
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
      await this.#objects.write(this.#pageName(page), this.#names.slice(page * PAGE, (page + 1) * PAGE));
  }

  #pageName(page: number): string {
    return `unfinished/${this.#id}-${page}`;
  }
}
