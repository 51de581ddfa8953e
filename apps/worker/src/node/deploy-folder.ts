/** Deploys an application package as anybody does: zipped, over HTTP. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { zipSync } from "fflate";

const TARGET = "/application/v2/tenant/default/prepareandactivate";

/** Deploys the package in a folder. Throws what the server says is wrong with it. */
export async function deployFolder(url: string, folder: string): Promise<void> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const named = files.map(({ parentPath, name }) => {
    const path = join(parentPath, name);
    return [relative(folder, path).split(sep).join("/"), new Uint8Array(readFileSync(path))] as const;
  });
  const body = new Uint8Array(zipSync(Object.fromEntries(named)));
  const headers = { "content-type": "application/zip" };
  const response = await fetch(url + TARGET, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`The application was not deployed: ${await response.text()}`);
}
