/**
 * `npm run docs`: the documentation as a site of files, which any server of files serves and which needs no network. `--base /path/`
 * says where it will be below a host, `--out DIR` where it is written (`apps/site/dist`), `--without-api` leaves the API reference out.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeApi } from "./api.mjs";
import { writeLlms } from "./llms.mjs";
import { buildPlayground } from "./playground.mjs";
import { stage } from "./stage.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
/** Where pages are put for VitePress. */
const STAGED = join(here, ".site");

/**
 * Builds the site.
 *
 * @param {{ readonly folder: string, readonly base?: string, readonly hasApi?: boolean }} options
 */
export async function buildSite({ folder, base = "/", hasApi = true }) {
  const texts = await stage(STAGED);
  const public_ = join(STAGED, "public");
  mkdirSync(public_, { recursive: true });
  writeLlms(public_, texts);
  await buildPlayground(join(public_, "playground"));
  if (hasApi) await writeApi(join(public_, "api"));
  cpSync(join(here, "theme"), join(STAGED, ".vitepress/theme"), { recursive: true });
  writeFileSync(join(STAGED, ".vitepress/config.mjs"), 'export { config as default } from "../../config.mjs";\n');
  rmSync(folder, { recursive: true, force: true });
  Object.assign(process.env, { BROOKLET_SITE_BASE: base, BROOKLET_SITE_FOLDER: folder });
  const { build } = await import("vitepress");
  await build(STAGED);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { base: { type: "string" }, out: { type: "string" }, "without-api": { type: "boolean" } },
  });
  const { base = "/", out = join(here, "dist"), "without-api": withoutApi = false } = values;
  await buildSite({ folder: resolve(out), base, hasApi: !withoutApi });
  console.log(`The site is in ${resolve(out)}: node apps/site/serve.mjs shows it.`);
}
