/** Files that a command is given by their names: one that cannot be read is a word that cannot be used. */
import { readFileSync } from "node:fs";
import { UsageError } from "./surroundings.ts";

/** The text of a file, without the byte order mark that some programs begin one with. */
export function fileText(path: string): string {
  return textOf(fileBytes(path));
}

/** The text of a file's bytes. */
export function textOf(bytes: Buffer): string {
  return new TextDecoder().decode(bytes);
}

/** What is in a file. */
export function fileBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** What is said where a file cannot be read. */
export function unreadable(path: string, cause: unknown): UsageError {
  return new UsageError(`${path} cannot be read: ${(cause as Error).message}`, { cause });
}
