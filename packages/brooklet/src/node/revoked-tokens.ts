/** Tokens that are not valid any more, in a file with an id (`jti`) a line, which is read again when it has changed. */
import { readFileSync, statSync } from "node:fs";
import { StartError } from "@brooklet/gateway/node";

/** How often the file is looked at. */
const LOOK_MS = 1_000;
const FILE_BYTES_MAX = 16 << 20;

/** Whether an id stands in the file. Throws where there is none at the start; one that goes later is as it was. */
export function revokedIn(file: string, now: () => number = () => performance.now()): (id: string) => boolean {
  let ids: ReadonlySet<string> = new Set();
  let version = "";
  let lookedAtMs = now();
  const look = (): void => {
    const { mtimeMs, size, ino } = statSync(file);
    const found = `${mtimeMs} ${size} ${ino}`;
    if (found === version) return;
    if (size > FILE_BYTES_MAX) throw new StartError(`${file} has ${size} bytes: ${FILE_BYTES_MAX} at most`);
    const lines = readFileSync(file, "utf8").split("\n");
    ids = new Set(lines.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#")));
    version = found;
  };
  try {
    look();
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new StartError(`${file}, the list of revoked tokens, cannot be read (${code})`);
  }
  return (id) => {
    if (now() - lookedAtMs >= LOOK_MS) {
      lookedAtMs = now();
      try {
        look();
      } catch {
        // Whoever writes it may be about to put another in its place: what was revoked stays so.
      }
    }
    return ids.has(id);
  };
}
