/** Files of models in what callers are told: their names. Which folder they are in is the operator's, who knows it. */
import { basename } from "node:path";

/** A text in which files that it names by their paths, as the system and the runtime do, have their names alone. */
export function withoutFolders(text: string, ...paths: readonly string[]): string {
  return paths.reduce((told, path) => told.replaceAll(path, basename(path)), text);
}
