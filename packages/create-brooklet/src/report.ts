/** What is said of a project that was made: what is in it, and what to type next. */
import { relative } from "node:path";
import { type Project, TEMPLATES } from "./project.ts";

/** Installers that say who they are when they run a command, but npm. */
const OTHERS = /^(pnpm|yarn|bun)\//;

/**
 * The lines.
 *
 * @param agent what the installer says of itself, as in `npm_config_user_agent`; npm where nothing is said
 */
export function projectReport({ folder, template, files }: Project, agent = ""): readonly string[] {
  const installer = OTHERS.exec(agent)?.[1] ?? "npm";
  const place = relative(process.cwd(), folder) || ".";
  return [
    `${place}: ${TEMPLATES[template]} (${files.length} files)`,
    "",
    ...(place === "." ? [] : [`  cd ${shellWord(place)}`]),
    `  ${installer} install`,
    `  ${installer === "bun" ? "bun run" : installer} start`,
    "",
    "npx brooklet dev (Node 22.18 or later) serves its schemas, with a console; https://github.com/brooklet/brooklet has the documentation.",
  ];
}

/** A path as a shell takes it: in quotes where it has spaces, or what else means something there. */
function shellWord(path: string): string {
  const place = path.startsWith("-") ? `./${path}` : path;
  if (/^[\p{L}\p{N}_./@+-]+$/u.test(place)) return place;
  return process.platform === "win32" ? `"${place}"` : `'${place.replaceAll("'", "'\\''")}'`;
}
