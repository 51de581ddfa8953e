/** Writes and reads an application package the way the core takes it (docs/abi.md, Package): count, then path and content each. */

/** What to do where a package is too large, of whom models are most. */
export const LARGE_PACKAGES =
  "leave the weights of its models out ('brooklet model outline'), or raise packageBytes, packageContentBytes and bodyBytesInFlight ('brooklet serve --limits')";

/** One file of a package. */
export interface PackageFile {
  readonly path: string;
  readonly content: Uint8Array;
}

/** A package as bytes. Paths are sorted, so that the same files make the same bytes. */
export function encodePackage(files: readonly PackageFile[]): Uint8Array {
  const encoder = new TextEncoder();
  const sorted = [...files].sort((left, right) => (left.path < right.path ? -1 : 1));
  const parts: Uint8Array[] = [varint(sorted.length)];
  for (const { path, content } of sorted) {
    const name = encoder.encode(path);
    parts.push(varint(name.length), name, varint(content.length), content);
  }
  const frame = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

/** The files of a package that was deployed. */
export function decodePackage(frame: Uint8Array): PackageFile[] {
  const decoder = new TextDecoder();
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = frame[at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (): Uint8Array => {
    const length = number();
    at += length;
    return frame.subarray(at - length, at);
  };
  return Array.from({ length: number() }, () => ({ path: decoder.decode(bytes()), content: bytes() }));
}

/** Unsigned LEB128. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
