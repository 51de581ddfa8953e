/**
 * What a path below `/document/v1` means: a document, a set of documents, or nothing. It was split on `/` once; before the
 * local part of the id every segment is one name, and inside the local part everything is data.
 */
import type { PartitionKey } from "@brooklet/partition";
import { type DocumentNamePart, documentNameProblem, illegalCodePoint, ServiceError } from "@brooklet/wire";
import { echo } from "./echo.ts";
import { decodeForm, pathSegments } from "./target.ts";

/** The group or the number of a path. */
export interface PathGroup {
  readonly partition: PartitionKey;
  /** As it stands in the document id: `g=alice`, `n=17`. */
  readonly idPart: string;
}

/** A path that means documents. */
export interface DocumentPath {
  /** The raw path, echoed in answers. */
  readonly raw: string;
  /** Absent at the root, as the type. */
  readonly namespace?: string;
  readonly type?: string;
  readonly group?: PathGroup;
  /** The whole document id, if the path means one document. */
  readonly id?: string;
}

/** Reads a raw path. Nothing: there is no such path. Throws when a name in it is not acceptable. */
export function parseDocumentPath(raw: string): DocumentPath | undefined {
  const segments = pathSegments(raw);
  if (segments[0] !== "document" || segments[1] !== "v1") return undefined;
  if (segments.length === 2) return { raw };
  const [, , namespace, type, rawKind, rawGroup] = segments;
  if (namespace === undefined || type === undefined || rawKind === undefined) return undefined;
  const kind = decodeForm(rawKind);
  const names = { raw, namespace, type };
  if (kind === "docid") return assemble(names, undefined, segments.slice(5));
  if (rawGroup === undefined) return undefined;
  const local = segments.slice(6);
  if (kind === "group") return assemble(names, groupOf(rawGroup), local);
  if (kind !== "number") return undefined;
  return assemble(names, numberOf(decodeForm(rawGroup), local.length > 0), local);
}

/** The same path where there is one group only: what names no group, a document or all of them, is of it. */
export function inGroup(path: DocumentPath, name: string): DocumentPath {
  const { group, id, namespace, type } = path;
  if (group !== undefined) return path;
  const meant: DocumentPath = { ...path, group: { partition: `g:${name}`, idPart: `g=${name}` } };
  if (id === undefined) return meant;
  const local = id.slice(`id:${namespace}:${type}::`.length);
  return { ...meant, id: `id:${namespace}:${type}:g=${name}:${local}` };
}

function assemble(
  names: { readonly raw: string; readonly namespace: string; readonly type: string },
  group: PathGroup | undefined,
  rawLocal: readonly string[],
): DocumentPath {
  const { raw } = names;
  const namespace = nameOf(names.namespace, "namespace");
  const type = nameOf(names.type, "document type");
  const place = group === undefined ? { raw, namespace, type } : { raw, namespace, type, group };
  if (rawLocal.length === 0) return place;
  const local = rawLocal.length === 1 ? decodeForm(rawLocal[0] ?? "") : rawLocal.map(decodeForm).join("/");
  const id = legalText(`id:${namespace}:${type}:${group?.idPart ?? ""}:${local}`);
  return group === undefined ? { raw, namespace, type, id } : { raw, namespace, type, group, id };
}

/**
 * A name that decides where a document belongs: one segment, decoded once, in which `/` and `\` are letters. What would be
 * another part of the document id is refused, as `u1:x` must not become group `u1`; and so is a bare `.` or `..`, which
 * somebody before us may have taken, or may take, for a step in the path. Who means such a name encodes its dots.
 */
function nameOf(segment: string, part: DocumentNamePart): string {
  const name = decodeForm(segment);
  const isStep = segment === "." || segment === "..";
  const problem = isStep
    ? "it could be a step in the path, unless its dots are encoded"
    : documentNameProblem(part, name);
  if (problem === undefined) return name;
  throw new ServiceError("BAD_REQUEST", `Illegal ${part} '${echo(name)}' in the path: ${problem}`);
}

/** The group that a segment names. Throws when that is no name of a group. */
export function groupOf(segment: string): PathGroup {
  const illegal = illegalCodePoint(decodeForm(segment));
  if (illegal !== undefined) {
    const hexadecimal = illegal.toString(16).toUpperCase().padStart(4, "0");
    throw new ServiceError("BAD_REQUEST", `Illegal code point U${hexadecimal} in group`);
  }
  const group = nameOf(segment, "group");
  return { partition: `g:${group}`, idPart: `g=${group}` };
}

const UNSIGNED_MAX = 2n ** 64n - 1n;
const SIGNED_MAX = 2n ** 63n - 1n;

function numberOf(text: string, isDocument: boolean): PathGroup {
  const number = /^\+?\d{1,40}$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
  if (number === undefined) throw notANumber(text, `For input string: "${echo(text)}"`);
  if (number > UNSIGNED_MAX) throw notANumber(text, `String value ${text} exceeds range of unsigned long.`);
  if (isDocument && number > SIGNED_MAX) throw notANumber(text, "A document id takes numbers up to 2^63 - 1.");
  return { partition: `n:${number}`, idPart: `n=${number}` };
}

function notANumber(text: string, reason: string): ServiceError {
  return new ServiceError("BAD_REQUEST", `Failed parsing '${echo(text)}': ${reason}`);
}

function legalText(id: string): string {
  const illegal = illegalCodePoint(id);
  if (illegal === undefined) return id;
  const message = `Unparseable id '${echo(id)}': Contains illegal code point 0x${illegal.toString(16).toUpperCase()}`;
  throw new ServiceError("INVALID_DOCUMENT", message);
}
