/**
 * Bytes that TypeScript stores and ships but does not open. Only the core knows what is in them; the brands keep one
 * from being taken for another.
 */

declare const brand: unique symbol;

type Branded<Name extends string> = Uint8Array & { readonly [brand]: Name };

/**
 * Bytes in memory that no other thread writes: a `Uint8Array` of an `ArrayBuffer`. With that as a parameter of the type,
 * declarations would need TypeScript 5.7, in which arrays of bytes say what they lie in; before, this is any `Uint8Array`.
 */
export type UnsharedBytes = ReturnType<typeof Uint8Array.of>;

/** An application package (docs/abi.md, Package). */
export type PackageBytes = Branded<"package">;

/** One operation as the tail of a partition stores it. */
export type OperationBytes = Branded<"operation">;

/** What some partitions found for a query, for others to be merged with. */
export type PartialBytes = Branded<"partial">;

/** A query as the core opens it: its time, the parameters, the body, and the `Accept` header. */
export type QueryBytes = Branded<"query">;

/** The hits below which a query wants none. Empty: it wants any. */
export type FloorBytes = Branded<"floor">;

/** The floor of a query that nothing was found for yet. */
export const NO_FLOOR: FloorBytes = new Uint8Array(0) as FloorBytes;

/** Gives foreign bytes the brand of a package: the core checks them when they are deployed. */
export function asPackage(bytes: Uint8Array): PackageBytes {
  return bytes as PackageBytes;
}

/** Gives bytes that came out of an encode task, or back from a store, their brand. */
export function asOperation(bytes: Uint8Array): OperationBytes {
  return bytes as OperationBytes;
}
