/** Which names a file of an application package may have: relative, plain, the same on every file system. */

/** Written without the property of Unicode, whose table a process would load for its first deployment. */
const CONTROL = /[^ -~\u00a0-\uffff]/;

/** What is wrong with a path (with `/` between its parts), to be put after its name; nothing if it is fine. */
export function fileNameProblem(path: string): string | undefined {
  if (path === "") return "has no name";
  if (path.startsWith("/") || /^[a-zA-Z]:/.test(path)) return "has an absolute path";
  if (path.includes("\\")) return "has a backslash in its path";
  if (CONTROL.test(path)) return "has a control character in its path";
  if (path.split("/").some((part) => part === "" || part === "." || part === "..")) {
    return "has an empty, '.' or '..' part in its path";
  }
  return path.length > 1_024 ? "has a path of more than 1024 characters" : undefined;
}
