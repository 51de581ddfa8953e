/** What is asked of whoever makes a project: the folder and the template, one line each. */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { FOLDER_DEFAULT, TEMPLATE_DEFAULT, TEMPLATES } from "./project.ts";

/** What was said already; the rest is asked. */
export interface Wanted {
  readonly folder?: string | undefined;
  readonly template?: string | undefined;
}

/** The folder and the template as said, or the usual ones. */
export function usualProject({ folder, template }: Wanted): Required<Wanted> & { folder: string; template: string } {
  return { folder: folder ?? FOLDER_DEFAULT, template: template ?? TEMPLATE_DEFAULT };
}

/**
 * Asks for what was not said; an empty line is the usual.
 *
 * @param input what is typed
 * @param tell takes a line for whoever types
 */
export async function askProject(
  wanted: Wanted,
  input: AsyncIterable<Uint8Array>,
  tell: (line: string) => void,
): Promise<{ readonly folder: string; readonly template: string }> {
  const usual = usualProject(wanted);
  const lines = createInterface({ input: Readable.from(input) });
  const typed = lines[Symbol.asyncIterator]();
  const ask = async (question: string, otherwise: string): Promise<string> => {
    tell(`${question} (${otherwise})`);
    const { value } = await typed.next();
    return (value as string | undefined)?.trim() || otherwise;
  };
  try {
    const folder = wanted.folder ?? (await ask("Which folder?", usual.folder));
    if (wanted.template !== undefined) return { folder, template: wanted.template };
    for (const [name, told] of Object.entries(TEMPLATES)) tell(`  ${name.padEnd(12)} ${told}`);
    return { folder, template: await ask("Which template?", usual.template) };
  } finally {
    lines.close();
  }
}
