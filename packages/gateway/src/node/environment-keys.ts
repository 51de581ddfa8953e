/** The admin keys of the environment. */
import { readFileSync } from "node:fs";
import process from "node:process";
import { StartError } from "../start-error.ts";

const KEY = "BROOKLET_ADMIN_KEY";
const FILE = "BROOKLET_ADMIN_KEY_FILE";

/** Those of `BROOKLET_ADMIN_KEY`, and of the file that `BROOKLET_ADMIN_KEY_FILE` names, one a line; `#` begins a comment. */
export function adminKeysOf(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): readonly string[] {
  const { [KEY]: key, [FILE]: file } = environment;
  // A name that is set to nothing is a mistake that would leave a server open.
  const empty = key?.trim() === "" ? KEY : file?.trim() === "" ? FILE : undefined;
  if (empty !== undefined) throw new StartError(`${empty} is empty: unset it, or give a key (brooklet key makes one)`);
  return [...(key === undefined ? [] : [key.trim()]), ...(file === undefined ? [] : keysIn(file))];
}

function keysIn(file: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new StartError(`${FILE}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  const lines = text.split("\n").map((line) => line.trim());
  const keys = lines.filter((line) => line !== "" && !line.startsWith("#"));
  if (keys.length === 0) throw new StartError(`${FILE}: ${file} has no key: put one on each line`);
  return keys;
}
