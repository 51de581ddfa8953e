/** What is installed is found when it runs (docs/decisions/0052). */

/**
 * The `require` that finds what is installed: that of this script, or of the bundle it is in; that of where webpack found this script, which it
 * writes into a bundle as its address; or else that of the program that runs, as for a standalone copy of Next.js. Taken so that no bundler takes
 * the library along: its binary would not be found there. What esbuild bundles as CommonJS has no address of a module, and the name of its file instead.
 */
export function requireOf(name: string): NodeJS.Require {
  const { createRequire } = process.getBuiltinModule("node:module");
  const address = import.meta.url ?? __filename;
  const here = createRequire(import.meta.filename ?? address);
  const [, program = ""] = process.argv;
  for (const way of [() => here, () => createRequire(address), () => createRequire(program)]) {
    try {
      const found = way();
      found.resolve(name);
      return found;
    } catch {
      // The next way may find it.
    }
  }
  return here;
}
