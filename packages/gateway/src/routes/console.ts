/** `/console/`: the files of a page that asks this gateway. They say nothing of what is stored, so everybody may have them. */
import { ServiceError } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import { echo } from "../echo.ts";
import { MethodRefused, plainFailure } from "../failure.ts";
import { splitTarget } from "../target.ts";

/** The path of the page; its files are below. */
export const CONSOLE = "/console";

/** Gives the file of a name below `/console/`, that of the page itself for `""`; nothing: there is none. */
export type ConsoleFiles = (
  name: string,
) => { readonly headers: Readonly<Record<string, string>>; readonly body: string } | undefined;

/** Answers a request to `/console` or below. */
export function answerConsole(call: Call, files: ConsoleFiles): Reply {
  if (call.method !== "GET" && call.method !== "HEAD") {
    return plainFailure(new MethodRefused(`'${echo(call.method)}' is not supported here, only GET`, ["GET", "HEAD"]));
  }
  const { path } = splitTarget(call.target);
  // Addresses in the page are relative: they need the slash.
  if (path === CONSOLE) return { status: 308, headers: { location: `${CONSOLE}/` }, body: "" };
  const file = files(path.slice(CONSOLE.length + 1));
  if (file === undefined) return plainFailure(new ServiceError("NOT_FOUND", `Nothing at '${echo(path)}'`));
  return { status: 200, ...file };
}
