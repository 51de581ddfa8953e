/**
 * Bytes that TypeScript stores and ships but does not open. Only the core knows what is in them; the brands keep one
 * from being taken for another.
 */

declare const brand: unique symbol;

type Branded<Name extends string> = Uint8Array & { readonly [brand]: Name };

/** An application package (docs/abi.md, Package). */
export type PackageBytes = Branded<"package">;

/** One operation as the tail of a partition stores it. */
export type OperationBytes = Branded<"operation">;

/** Gives foreign bytes the brand of a package: the core checks them when they are deployed. */
export function asPackage(bytes: Uint8Array): PackageBytes {
  return bytes as PackageBytes;
}

/** Gives bytes that came out of an encode task, or back from a store, their brand. */
export function asOperation(bytes: Uint8Array): OperationBytes {
  return bytes as OperationBytes;
}
