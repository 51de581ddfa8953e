/**
 * Whose word is taken for where a request came from: a proxy before the server is the other end of every connection, and says in
 * `X-Forwarded-For` whose requests it passes on. Whoever else says so is not believed.
 */
import { BlockList, isIP } from "node:net";
import { StartError } from "../start-error.ts";

const HEADER = "x-forwarded-for";
const BITS: Readonly<Record<number, number>> = { 4: 32, 6: 128 };

/** The proxies of a server. */
export class TrustedProxies {
  readonly #networks = new BlockList();
  readonly #isAny: boolean;

  /** Addresses and networks (`10.0.0.0/8`, `fd00::/8`). Throws a `StartError` for what is neither. */
  constructor(networks: readonly string[]) {
    this.#isAny = networks.length > 0;
    for (const network of networks) {
      const [address = "", length, ...more] = network.split("/");
      const version = isIP(address);
      const bits = length === undefined ? BITS[version] : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
      if (version === 0 || more.length > 0 || !(Number(bits) <= (BITS[version] ?? 0)))
        throw new StartError(`'${network}' is no address or network of a proxy: give one like 10.0.0.0/8`);
      this.#networks.addSubnet(address, Number(bits), version === 4 ? "ipv4" : "ipv6");
    }
  }

  /** Whether an address is that of a proxy. */
  has(address: string | undefined): boolean {
    const plain = plainAddress(address ?? "");
    const version = isIP(plain);
    return this.#isAny && version !== 0 && this.#networks.check(plain, version === 4 ? "ipv4" : "ipv6");
  }

  /**
   * The address that a request came from: of those that `X-Forwarded-For` names the last that is no proxy's, since what stands before
   * it was said by whoever sent it.
   */
  addressOf(remote: string | undefined, header: (name: string) => string | undefined): string | undefined {
    if (!this.has(remote)) return remote;
    const forwarded = header(HEADER)?.split(",") ?? [];
    let known = remote;
    while (forwarded.length > 0) {
      const address = withoutPort(forwarded.pop()?.trim() ?? "");
      // A zone is of the machine that wrote it, and any text.
      if (isIP(address) === 0 || address.includes("%")) return known;
      known = address;
      if (!this.has(address)) return address;
    }
    return known;
  }
}

/** An address of IPv4 that is written as one of IPv6. */
function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

/** Some proxies add the port that a client has: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(address: string): string {
  return /^\[([^\]]+)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? plainAddress(address);
}
