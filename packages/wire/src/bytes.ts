/** What bytes may lie in. */

/**
 * Bytes in memory that no other thread writes: a `Uint8Array` of an `ArrayBuffer`. With that as a parameter of the type,
 * declarations would need TypeScript 5.7, in which arrays of bytes say what they lie in; before, this is any `Uint8Array`.
 */
export type UnsharedBytes = ReturnType<typeof Uint8Array.of>;
