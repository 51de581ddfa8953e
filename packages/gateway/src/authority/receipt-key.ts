/**
 * The key that receipts are signed with: Ed25519, made of the secret of what is stored, so that it is the same as long as that is. A signed receipt is
 * a JSON Web Signature (RFC 7515, compact) that anybody can verify who has the public key.
 */
import { encodeBase64 } from "@brooklet/wire";

/** A public key as a JSON Web Key. */
export interface PublicReceiptKey {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly kid: string;
  readonly use: "sig";
  readonly alg: "EdDSA";
}

interface Pair {
  readonly privateKey: Awaited<ReturnType<typeof crypto.subtle.importKey>>;
  readonly publicKey: PublicReceiptKey;
}

/** What stands before the 32 bytes of a private key of Ed25519 in PKCS #8 (RFC 8410). */
const PKCS8 = Uint8Array.from([0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]);
const SEED_BITS = 256;
const encoder = new TextEncoder();

/** Signs receipts. */
export class ReceiptKey {
  readonly #secret: Uint8Array;
  #pair: Promise<Pair> | undefined;

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  /** What others verify with. */
  async publicKey(): Promise<PublicReceiptKey> {
    return (await this.#keys()).publicKey;
  }

  /** A receipt with its signature. */
  async sign(receipt: object): Promise<string> {
    const { privateKey, publicKey } = await this.#keys();
    const header = { alg: "EdDSA", kid: publicKey.kid, typ: "brooklet-receipt+json" };
    const signed = `${textOf(header)}.${textOf(receipt)}`;
    const signature = await crypto.subtle.sign("Ed25519", privateKey, encoder.encode(signed));
    return `${signed}.${encodeBase64(new Uint8Array(signature), "url")}`;
  }

  #keys(): Promise<Pair> {
    this.#pair ??= pairOf(this.#secret);
    return this.#pair;
  }
}

async function pairOf(secret: Uint8Array): Promise<Pair> {
  const material = await crypto.subtle.importKey("raw", new Uint8Array(secret), "HKDF", false, ["deriveBits"]);
  const how = {
    name: "HKDF",
    hash: "SHA-256",
    salt: new Uint8Array(),
    info: encoder.encode("brooklet signs receipts"),
  };
  const seed = new Uint8Array(await crypto.subtle.deriveBits(how, material, SEED_BITS));
  const bytes = new Uint8Array([...PKCS8, ...seed]);
  const privateKey = await crypto.subtle.importKey("pkcs8", bytes, "Ed25519", true, ["sign"]);
  const { x = "" } = await crypto.subtle.exportKey("jwk", privateKey);
  // The thumbprint of RFC 7638: members in the order of their names.
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`));
  const kid = encodeBase64(new Uint8Array(digest), "url");
  return { privateKey, publicKey: { kty: "OKP", crv: "Ed25519", x, kid, use: "sig", alg: "EdDSA" } };
}

function textOf(value: object): string {
  return encodeBase64(encoder.encode(JSON.stringify(value)), "url");
}
