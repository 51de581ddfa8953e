/**
 * What a gateway knows of the shards of a group. It may be old: a shard says what it is with each answer, and refuses what
 * is not its own, so what is not known yet is learned on the way.
 */
import { birthOf, holdsHash, type ShardName, type ShardRecord, shardHash, WHOLE } from "./shard.ts";

const HOME: ShardName = WHOLE;
/** Groups of which something is remembered. */
const REMEMBERED = 10_000;

/** The shards of one group, as far as they are known. */
class ShardMap {
  readonly #known = new Map<number, ShardRecord>();

  /** Whether more is known than that there is a home. */
  get isSplit(): boolean {
    return (this.#known.get(0)?.children.length ?? 0) > 0;
  }

  /** The shard that has a document, as far as is known. */
  shardOf(id: string): ShardName {
    const hash = shardHash(id);
    let name = HOME;
    for (;;) {
      const record = this.#of(name);
      const children = record?.children ?? [];
      const at = children.findIndex((_, child) => record !== undefined && holdsHash(birthOf(record, child), hash));
      const child = children[at];
      if (child === undefined) return name;
      name = child;
    }
  }

  /** All shards that are known of. */
  all(): ShardName[] {
    const names = [HOME];
    for (const name of names) names.push(...(this.#of(name)?.children ?? []));
    return names;
  }

  /** Takes what a shard says that it is. */
  learn(record: ShardRecord): void {
    const known = this.#known.get(record.number);
    if (known !== undefined && known.made === record.made && known.bits > record.bits) return;
    this.#known.set(record.number, record);
  }

  #of({ number, made }: ShardName): ShardRecord | undefined {
    const record = this.#known.get(number);
    return record?.made === made ? record : undefined;
  }
}

/** The maps of the groups that are known to have several shards. */
export class ShardMaps {
  readonly #maps = new Map<string, ShardMap>();

  /** Nothing: as far as is known the group is one shard. */
  of(key: string): ShardMap | undefined {
    return this.#maps.get(key);
  }

  /** The map of a group of which it was heard that it is split. */
  open(key: string): ShardMap {
    const known = this.#maps.get(key) ?? new ShardMap();
    this.#maps.delete(key);
    this.#maps.set(key, known);
    const [oldest] = this.#maps.keys();
    if (this.#maps.size > REMEMBERED && oldest !== undefined) this.#maps.delete(oldest);
    return known;
  }

  /** What was known is not so any more. */
  forget(key: string): void {
    this.#maps.delete(key);
  }
}
