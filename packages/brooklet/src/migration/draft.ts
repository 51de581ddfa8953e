/** What becomes of one document: its values as they are read, the values it gets, and the update that gives it them. */
import { type AnySchema, BrookletError, shownId } from "@brooklet/client";
import { type Change, type MigratedPlace, valueProblem } from "./changes.ts";
import { guardOf, type RawFields } from "./guard.ts";

/** A document of a visit. */
export interface StoredDocument {
  /** The whole id. */
  readonly id: string;
  readonly fields: RawFields;
}

/** Why a document was left as it is. */
export interface MigrationFailure extends MigratedPlace {
  /** The field that is the reason. */
  readonly field: string;
  readonly reason: string;
}

/** A document that gets other values. Nothing is sent by it. */
export class Draft {
  readonly place: MigratedPlace;
  readonly document: StoredDocument;
  failure: MigrationFailure | undefined;
  readonly #schema: AnySchema;
  readonly #read = new Set<string>();
  /** Fields that are given a value where nothing was stored, not even an empty text. */
  readonly #unset = new Set<string>();
  readonly #assigned = new Map<string, unknown>();
  readonly #given = new Map<string, unknown>();

  constructor(schema: AnySchema, group: string, document: StoredDocument) {
    this.#schema = schema;
    // Without what every object inherits: a field may be named `constructor`.
    this.document = { ...document, fields: Object.assign(Object.create(null), document.fields) };
    this.place = { group, id: shownId(document.id) };
  }

  /** Whether there is something to do for a change: its source is there, and its target is not, or is done anew. */
  wants({ target, source, clear, replace, isRemade }: Change): boolean {
    if (this.failure !== undefined) return false;
    const { fields } = this.document;
    if (isRemade) return this.#sources(target).some((name) => fields[name] !== undefined);
    if (source !== undefined && !this.#has(source)) return false;
    return replace || clear || fields[target] === undefined;
  }

  /** The value of a field; nothing if it is not set. Whoever looks at it decides by it. */
  value(name: string): unknown {
    this.#read.add(name);
    const field = this.#schema.fields[name];
    const raw = this.document.fields[name];
    if (field === undefined) return undefined;
    if (raw !== undefined) return this.#decoded(name, raw);
    if (field.isOptional) return undefined;
    if (field.codec.empty !== undefined) return field.codec.empty();
    return field.defaultValue === undefined ? undefined : field.defaultValue.value;
  }

  /** The whole document, each field read when it is looked at. */
  view(): object {
    const view = {};
    for (const [name, { definition }] of Object.entries(this.#schema.fields)) {
      if (definition.made !== undefined) continue;
      // What is not there is no member, and that it is not there counts as read.
      if (this.document.fields[name] === undefined && this.#schema.fields[name]?.isOptional === true) {
        Object.defineProperty(view, name, { get: () => this.value(name), enumerable: false });
        continue;
      }
      Object.defineProperty(view, name, { get: () => this.value(name), enumerable: true });
    }
    return view;
  }

  /** Gives it what a change makes of it. */
  assign(change: Change, value: unknown): void {
    if (change.isRemade) this.#remake(change.target);
    else if (value !== undefined) this.#put(change, value);
  }

  #put(change: Change, value: unknown): void {
    const { target, source, clear, replace, whenBoth } = change;
    const field = this.#schema.fields[target];
    const raw = this.document.fields[target];
    const problem = valueProblem(field, value);
    if (field === undefined || problem !== undefined) {
      this.fail(target, problem ?? "there is no such field");
      return;
    }
    const isThere = raw !== undefined && sameValue(this.#decoded(target, raw), value);
    if (isThere || (raw !== undefined && whenBoth === "new")) this.#keep(target);
    else if (raw === undefined || replace || whenBoth === "old") {
      // Written now: it may be in room that the next value is made in.
      this.#set(change, JSON.parse(JSON.stringify(field.codec.encode(value))), value);
    } else {
      const way = "say { whenBoth: 'old' } or { whenBoth: 'new' }";
      this.fail(target, `there is another value in '${target}' than '${source}' gives it: ${way}`);
      return;
    }
    if (clear && source !== undefined && this.document.fields[source] !== undefined) this.#assigned.set(source, null);
  }

  /** Leaves the document as it is. */
  fail(field: string, reason: string): void {
    this.failure ??= { ...this.place, field: `fields.${field}`, reason };
  }

  /** The line of a feed that makes the change, on the condition that what was read is still so; nothing if nothing changes. */
  operation(): { readonly json: string; readonly isExact: boolean } | undefined {
    if (this.failure !== undefined || this.#assigned.size === 0) return undefined;
    const names = [...new Set([...this.#read, ...this.#assigned.keys()])];
    const { selection, isExact } = guardOf(this.#schema, this.document.fields, names, this.#unset);
    const fields = Object.fromEntries([...this.#assigned].map(([name, value]) => [name, { assign: value }]));
    return { json: JSON.stringify({ update: this.document.id, condition: selection, fields }), isExact };
  }

  /** The fields that change, as they are and as they will be. */
  example(): { readonly before: object; readonly after: object } {
    const before: Record<string, unknown> = {};
    for (const name of this.#assigned.keys()) {
      const raw = this.document.fields[name];
      if (raw !== undefined) before[name] = this.#decoded(name, raw);
    }
    return { before, after: Object.fromEntries(this.#given) };
  }

  /** Leaves the value of a field, which counts as read. */
  #keep(name: string): void {
    this.#read.add(name);
  }

  #set({ target, clear, replace }: Change, encoded: unknown, value: unknown): void {
    // An empty list or map reads as one that is not set, and is found as one again.
    const isUnset = this.document.fields[target] === undefined;
    if (isUnset && typeof encoded === "object" && encoded !== null && Object.keys(encoded).length === 0) return;
    if (isUnset && !clear && !replace) this.#unset.add(target);
    this.#assigned.set(target, encoded);
    this.#given.set(target, value);
  }

  /** Puts a text that the field is made of in its own place, at which the server makes the field. */
  #remake(target: string): void {
    const sources = this.#sources(target);
    for (const source of sources) this.#read.add(source);
    const present = sources.find((name) => this.document.fields[name] !== undefined);
    if (present === undefined) return;
    this.#assigned.set(present, this.document.fields[present]);
    this.#given.set(present, this.#decoded(present, this.document.fields[present]));
  }

  #sources(target: string): readonly string[] {
    return this.#schema.fields[target]?.definition.made?.from ?? [];
  }

  #has(name: string): boolean {
    if (this.document.fields[name] !== undefined) return true;
    const { isOptional = true, codec, defaultValue } = this.#schema.fields[name] ?? {};
    return !isOptional && (codec?.empty !== undefined || defaultValue !== undefined);
  }

  #decoded(name: string, raw: unknown): unknown {
    try {
      return this.#schema.fields[name]?.codec.decode(raw);
    } catch (error) {
      this.fail(name, (error as Error).message);
      throw new BrookletError("UNEXPECTED_ANSWER", `fields.${name}: ${(error as Error).message}`, { cause: error });
    }
  }
}

function sameValue(one: unknown, other: unknown): boolean {
  return textOf(one) === textOf(other);
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === "bigint") return `${part}n`;
    return ArrayBuffer.isView(part) ? Array.from(part as Float32Array) : part;
  });
}
