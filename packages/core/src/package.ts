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

/** Names of the ONNX models of a package: its files, and the addresses of those whose outlines are with it. */
export function modelsOfPackage(applicationPackage: Uint8Array): readonly string[] {
  const reader = new Reader(applicationPackage);
  const names = reader.list(() => {
    const name = reader.text();
    reader.bytes();
    return name;
  });
  const outlines = reader.rest();
  const own = names.filter((name) => name.endsWith(".onnx") || name.includes("://"));
  return outlines.length === 0 ? own : [...own, ...modelsOfPackage(outlines)];
}

/** What the host says of a deployment that it is going to store. */
export interface DeploymentFacts {
  /** The number that it will have. */
  readonly number: number;
  /** The day it is, days since 1970 UTC: overrides have a last day. */
  readonly day: number;
}

/** A package with what the host says of its deployment. */
export function withFacts(applicationPackage: Uint8Array, { number, day }: DeploymentFacts): PackageBytes {
  const [deployment, today] = [new Writer().u32(number).finish(), new Writer().u32(day).finish()];
  return withThird(applicationPackage, [
    ["deployment", deployment],
    ["day", today],
  ]);
}

/** A package with what the core remembers of earlier deployments: this is what is stored and served. */
export function withHistory(applicationPackage: Uint8Array, history: Uint8Array): PackageBytes {
  return history.length === 0 ? asPackage(applicationPackage) : withThird(applicationPackage, [["history", history]]);
}

/** A package that was stored, so that the core reads it even where it would refuse to deploy it now. */
export function asStored(applicationPackage: Uint8Array): PackageBytes {
  const afterFiles = afterList(applicationPackage);
  // With a history it says so itself.
  const hasThird = afterFiles.length > 0 && afterList(afterFiles).length > 0;
  return hasThird ? asPackage(applicationPackage) : withThird(applicationPackage, [["stored", new Uint8Array()]]);
}

/** A package with something behind its files and the outlines of its models, instead of what there may be. */
function withThird(
  applicationPackage: Uint8Array,
  entries: readonly (readonly [name: string, bytes: Uint8Array])[],
): PackageBytes {
  const afterFiles = afterList(applicationPackage);
  const hasOutlines = afterFiles.length > 0;
  const after = hasOutlines ? afterList(afterFiles) : afterFiles;
  const before = applicationPackage.subarray(0, applicationPackage.length - after.length);
  const writer = new Writer();
  if (!hasOutlines) writer.varint(0);
  writer.varint(entries.length);
  for (const [name, bytes] of entries) writer.text(name).bytes(bytes);
  const appended = writer.finish();
  const whole = new Uint8Array(before.length + appended.length);
  whole.set(before);
  whole.set(appended, before.length);
  return asPackage(whole);
}

/** What comes after a list of names with bytes. */
function afterList(bytes: Uint8Array): Uint8Array {
  const reader = new Reader(bytes);
  reader.list(() => [reader.text(), reader.bytes()]);
  return reader.rest();
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
