/** Receipts of erasures, verified: by whoever has the public key of the server, without asking it. */
import { BrookletError } from "@brooklet/client";
import { compactVerify, importJWK, type JWK } from "jose";

/** What a receipt says. */
export interface ErasureReceipt {
  readonly group: string;
  readonly erasedAt: Date;
  /** When the bytes were gone from the files as well. */
  readonly goneAt?: Date;
  /** Documents there were. */
  readonly documents?: number;
  /** The files they were in, in the data directory. */
  readonly files?: readonly string[];
  /** The key that the group was encrypted with was destroyed: backups have nothing of it that anybody can read. */
  readonly keyDestroyed?: true;
  /** Backups that were made before, and when they end. */
  readonly backups?: readonly { readonly id: string; readonly takenAt: Date; readonly expiresAt?: Date }[];
  readonly recoverableUntil?: Date;
}

const TYPE = "brooklet-receipt+json";
const decoder = new TextDecoder();

/**
 * What a signed receipt says. Rejects if it is not what the key signed, in any character.
 *
 * @example
 * ```ts
 * import { verifyReceipt } from "brooklet/receipt";
 *
 * async function isErased(signature: string, publicKey: object, user: string): Promise<boolean> {
 *   const { group, goneAt } = await verifyReceipt(signature, publicKey);
 *   return group === user && goneAt !== undefined;
 * }
 * ```
 */
export async function verifyReceipt(signature: string, publicKey: object): Promise<ErasureReceipt> {
  try {
    const key = await importJWK(publicKey as JWK, "EdDSA");
    const { payload } = await compactVerify(signature, key, { algorithms: ["EdDSA"] });
    const [header = ""] = signature.split(".");
    const { typ } = JSON.parse(atob(header.replaceAll("-", "+").replaceAll("_", "/"))) as { readonly typ?: string };
    if (typ !== TYPE) throw new Error(`it is of the type ${JSON.stringify(typ)}`);
    return receiptOf(JSON.parse(decoder.decode(payload)) as Stored);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BrookletError("INVALID_ARGUMENT", `It is no receipt that this key has signed: ${why}`, { cause });
  }
}

type Text<Value> = Value extends Date ? string : Value extends readonly (infer One)[] ? readonly Texts<One>[] : Value;
type Texts<Of> = { readonly [Name in keyof Of]: Text<Of[Name]> };
type Stored = Omit<Texts<ErasureReceipt>, "backups" | "files"> & {
  readonly files?: readonly string[];
  readonly backups?: readonly { readonly id: string; readonly takenAt: string; readonly expiresAt?: string }[];
};

function receiptOf({ erasedAt, goneAt, recoverableUntil, backups, ...rest }: Stored): ErasureReceipt {
  const kept = backups?.map(({ id, takenAt, expiresAt }) => ({
    id,
    takenAt: new Date(takenAt),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
  }));
  return {
    ...rest,
    erasedAt: new Date(erasedAt),
    ...(goneAt !== undefined && { goneAt: new Date(goneAt) }),
    ...(recoverableUntil !== undefined && { recoverableUntil: new Date(recoverableUntil) }),
    ...(kept !== undefined && { backups: kept }),
  };
}
