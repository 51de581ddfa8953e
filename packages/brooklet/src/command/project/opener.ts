/** Shows an address in the browser of whoever sits at this machine, by what the platform has for it. */
import { spawn } from "node:child_process";
import process from "node:process";

/** The environment of a process, as far as it is looked at. */
type Environment = Readonly<Record<string, string | undefined>>;

/** What opens an address here, before the address; nothing where nobody sits, as behind `ssh` or in a build. */
export function openerOf(platform: string, environment: Environment): readonly string[] | undefined {
  if (environment["CI"] !== undefined || environment["SSH_CONNECTION"] !== undefined) return undefined;
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  const hasScreen = environment["DISPLAY"] !== undefined || environment["WAYLAND_DISPLAY"] !== undefined;
  return hasScreen ? ["xdg-open"] : undefined;
}

/** Opens it, and does not wait. Where that fails nothing is said: the address stands there already. */
export function openAddress(address: string): void {
  const [program, ...words] = openerOf(process.platform, process.env) ?? [];
  if (program === undefined) return;
  const opener = spawn(program, [...words, address], { stdio: "ignore", detached: true });
  opener.on("error", () => undefined);
  opener.unref();
}
