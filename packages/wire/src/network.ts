/** Whose an address is, where somebody is counted by it. */

const GROUPS_OF_NETWORK = 4;

/** What one subscriber has: an address of IPv4, and 64 bits of one of IPv6. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [before = "", after] = address.split("::", 2);
  const [first, last] = [before, after ?? ""].map((part) => (part === "" ? [] : part.split(":")));
  const missing = after === undefined ? 0 : 8 - (first?.length ?? 0) - (last?.length ?? 0);
  const groups = [...(first ?? []), ...Array<string>(Math.max(missing, 0)).fill("0"), ...(last ?? [])];
  return groups.slice(0, GROUPS_OF_NETWORK).join(":");
}
