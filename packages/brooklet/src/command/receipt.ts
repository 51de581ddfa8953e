/** `brooklet receipt`: whether a receipt of an erasure is what a server has signed, and what it says. */
import { isDeepStrictEqual } from "node:util";
import { verifyReceipt } from "../receipt.ts";
import { fileText } from "./given-file.ts";
import { ServerFailure, type Surroundings, UsageError } from "./surroundings.ts";

/** Options of the command. */
export interface ReceiptCommand {
  /** A file with the public key. */
  readonly publicKey?: string;
  readonly url: string;
  readonly key?: string;
  readonly json?: boolean;
}

/** Verifies the receipt in a file: what the interface answered, what `erase()` of the SDK gave as JSON, or the signature alone. */
export async function runReceipt(file: string, command: ReceiptCommand, { print }: Surroundings): Promise<void> {
  const { signature, ...said } = receiptIn(fileText(file));
  const receipt = await verifyReceipt(signature, await publicKeyOf(command));
  // What stands beside the signature would be read, and is worth nothing where it is another. `removed` is the SDK's word.
  const signed = JSON.parse(JSON.stringify({ ...receipt, removed: receipt.documents })) as Record<string, unknown>;
  const changed = Object.entries(said).find(([name, value]) => !isDeepStrictEqual(value, signed[name]))?.[0];
  if (changed !== undefined) throw new ServerFailure(`It is no receipt that was signed: '${changed}' is another there`);
  if (command.json === true) return print(JSON.stringify(receipt));
  const { group, erasedAt, goneAt, documents, files = [], backups = [], keyDestroyed } = receipt;
  const counted = documents === undefined ? "" : `, ${documents} documents`;
  print(`'${group}' was erased at ${erasedAt.toISOString()}${counted}; what is said of it was signed by this server`);
  print(`Its bytes were ${goneAt === undefined ? "not known to be gone yet" : `gone at ${goneAt.toISOString()}`}`);
  if (files.length > 0) print(`They were in ${files.join(", ")}`);
  if (keyDestroyed === true) print("Its key was destroyed: backups have nothing of it that can be read");
  for (const { id, expiresAt } of backups) {
    const end = expiresAt === undefined ? "" : `, and goes with the next one after ${expiresAt.toISOString()}`;
    print(`Backup ${id} was made before${end}`);
  }
}

function receiptIn(text: string): { readonly signature: string } {
  if (!text.trimStart().startsWith("{")) {
    // A signature is a JWS: three parts in base64url.
    if (/^\s*[\w-]+\.[\w-]+\.[\w-]+\s*$/.test(text)) return { signature: text.trim() };
    throw new UsageError("it is no receipt: there is no signature in it");
  }
  const receipt = jsonOf(text, "it is no receipt") as { readonly signature?: unknown };
  if (typeof receipt.signature !== "string") throw new UsageError("there is no signature in it");
  return receipt as { readonly signature: string };
}

function jsonOf(text: string, otherwise: string): object {
  try {
    return JSON.parse(text) as object;
  } catch (error) {
    throw new UsageError(`${otherwise}: ${(error as Error).message}`);
  }
}

async function publicKeyOf({ publicKey, url, key }: ReceiptCommand): Promise<object> {
  if (publicKey !== undefined) return jsonOf(fileText(publicKey), `${publicKey} is no key`);
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const answer = await fetch(`${url}/brooklet/v1/receipt-key`, { headers });
  if (!answer.ok) throw new ServerFailure(`${url} does not tell its key (${answer.status}): give --public-key`);
  return (await answer.json()) as object;
}
