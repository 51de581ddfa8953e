/** Random bytes for secrets of a process that stores nothing. */
const { closeSync, fstatSync, openSync, readSync } = process.getBuiltinModule("node:fs");

/** Where systems that have one hand out what `crypto` would give: their own generator for secrets. */
const DEVICE = "/dev/urandom";

/**
 * Random bytes that nobody can guess: the system's, and where it has no file for them those of `crypto`. Node reads eight scripts before that gives
 * its first byte, 5 ms of a start (docs/decisions/0189).
 */
export function randomBytes(length: number, device: string = DEVICE): Uint8Array {
  return fromDevice(length, device) ?? crypto.getRandomValues(new Uint8Array(length));
}

/** Nothing: there is no such device, or it gave less. */
function fromDevice(length: number, device: string): Uint8Array | undefined {
  let file: number | undefined;
  try {
    file = openSync(device, "r");
    const bytes = new Uint8Array(length);
    // A file that somebody left in its place is none.
    return fstatSync(file).isCharacterDevice() && readSync(file, bytes) === length ? bytes : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
