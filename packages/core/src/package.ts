/** What the host does with application packages (docs/abi.md, Package). */
import { asPackage, type PackageBytes } from "./bytes.ts";
import { Reader, Writer } from "./frame.ts";

/** The addresses of models that a package names. */
export interface ModelAddresses {
  /** Of models that rank: their outlines must come with the package. */
  readonly ranking: readonly string[];
  readonly embedders: readonly string[];
}

/** The content of a file of a package, or the outline of the model of an address. */
export function fileOfPackage(applicationPackage: Uint8Array, name: string): Uint8Array | undefined {
  const reader = new Reader(applicationPackage);
  let found: Uint8Array | undefined;
  reader.list(() => {
    const [known, content] = [reader.text(), reader.bytes()];
    if (known === name) found = content;
  });
  const outlines = reader.rest();
  return found ?? (outlines.length === 0 ? undefined : fileOfPackage(outlines, name));
}

/** A package with outlines of models, by address, instead of those it may have. */
export function withOutlines(
  applicationPackage: Uint8Array,
  outlines: readonly (readonly [address: string, outline: Uint8Array])[],
): PackageBytes {
  const reader = new Reader(applicationPackage);
  reader.list(() => [reader.text(), reader.bytes()]);
  const files = applicationPackage.subarray(0, applicationPackage.length - reader.rest().length);
  if (outlines.length === 0) return asPackage(files);
  const writer = new Writer().varint(outlines.length);
  for (const [address, outline] of outlines) writer.text(address).bytes(outline);
  const appended = writer.finish();
  const whole = new Uint8Array(files.length + appended.length);
  whole.set(files);
  whole.set(appended, files.length);
  return asPackage(whole);
}
