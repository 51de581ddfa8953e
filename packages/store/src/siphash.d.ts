/** The part of the library `siphash` that is used; it brings no types. */
declare module "siphash" {
  const SipHash: {
    /** SipHash-2-4 of a message under a key of 128 bits: 64 bits in two halves, which may be negative. */
    hash(key: Uint32Array, message: Uint8Array): { readonly h: number; readonly l: number };
  };
  export = SipHash;
}
