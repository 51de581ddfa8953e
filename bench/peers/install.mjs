/**
 * The peers, in a folder of their own outside of the workspace: `BROOKLET_PEERS_FOLDER`, or `brooklet-peers` where the user's caches are. What
 * is there for these versions is not installed again. A peer that cannot be installed is left out, and said to be.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Where peers and corpora are kept. */
export function cacheFolder() {
  const caches = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  return process.env.BROOKLET_PEERS_FOLDER ?? join(caches, "brooklet-peers");
}

/** The version of a package that was installed for a peer. */
export function versionOf(name) {
  return JSON.parse(readFileSync(join(cacheFolder(), "npm", "node_modules", name, "package.json"), "utf8")).version;
}

function ran(command, words, options = {}) {
  process.stderr.write(`${[command, ...words].join(" ")}\n`);
  const { status, error } = spawnSync(command, words, { stdio: ["ignore", 2, 2], ...options });
  if (error !== undefined || status !== 0) throw new Error(`${command}: ${error?.message ?? `ended with ${status}`}`);
}

const INSTALLERS = {
  npm: {
    files: ["package.json"],
    install(folder) {
      cpSync(here("package.json"), join(folder, "package.json"));
      ran("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder });
    },
  },
  python: {
    files: ["requirements.txt"],
    install(folder) {
      ran("python3", ["-m", "venv", folder]);
      ran(join(folder, "bin", "pip"), ["install", "--quiet", "--requirement", here("requirements.txt")]);
    },
  },
  tantivy: {
    files: ["tantivy/Cargo.toml", "tantivy/Cargo.lock", "tantivy/src/main.rs"],
    install(folder) {
      const manifest = here("tantivy/Cargo.toml");
      const flags = { ...process.env, RUSTFLAGS: "-C target-cpu=native" };
      ran("cargo", ["build", "--release", "--locked", "--manifest-path", manifest, "--target-dir", folder], {
        env: flags,
      });
    },
  },
};

/** Installs what a peer needs, of `npm`, `python` and `tantivy`. Returns why it is not there, where it is not. */
export function installed(name) {
  const { files, install } = INSTALLERS[name];
  const folder = join(cacheFolder(), name);
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(here(file)));
  const mark = join(folder, "installed.txt");
  const version = hash.digest("hex");
  if (existsSync(mark) && readFileSync(mark, "utf8") === version) return undefined;
  try {
    mkdirSync(folder, { recursive: true });
    install(folder);
    writeFileSync(mark, version);
    return undefined;
  } catch (error) {
    return error.message;
  }
}
