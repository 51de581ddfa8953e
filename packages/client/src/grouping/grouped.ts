/**
 * What facets and groupings bring along: how they are written into a query, and read from its answer. Queries and answers have
 * it from them, so that only a program that groups has the code for it.
 */
import type { Hit as WireHit } from "@brooklet/wire";
import type { FoundDocument } from "../hit/found-document.ts";
import type { AnySchema } from "../schema/schema.ts";

/** @internal Where it is; the same of every copy of this package. */
export const CODE: unique symbol = Symbol.for("brooklet.grouped");

/** @internal What a facet brings along. What is `asked` is the facet itself, and `root` the group that the answer has for it. */
export interface FacetCode {
  /** How many minutes a time zone is ahead of UTC now, and the name of a zone that always is. */
  zone(timeZone: string): { readonly minutes: number; readonly name: string };
  /** The facet in the grouping language, where time is so many minutes ahead of UTC. */
  text(schema: AnySchema, asked: object, zoneMinutes: number): string;
  /** Its values. */
  read(schema: AnySchema, asked: object, root: object, zoneMinutes: number): unknown[];
}

/** @internal What a grouping brings along. What is `asked` is the grouping itself, and `root` the group that the answer has for it. */
export interface GroupingCode {
  /** Its answer. */
  read(asked: object, root: object, readHit: (hit: WireHit) => FoundDocument<unknown>): unknown;
}
