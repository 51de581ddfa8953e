/**
 * What lies between a server and its store: connections that can be cut, that hold what is sent for a while, and that deliver it when
 * who sent it is not there any more.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

const HOST = "127.0.0.1";

/** One direction of a connection: what is held goes before what comes later. */
class Direction {
  readonly #to: Socket;
  #held: Buffer[] = [];
  #isEnded = false;
  isHeld: boolean;

  constructor(to: Socket, isHeld: boolean) {
    this.#to = to;
    this.isHeld = isHeld;
  }

  get heldBytes(): number {
    return this.#held.reduce((sum, { length }) => sum + length, 0);
  }

  pass(bytes: Buffer): void {
    if (this.isHeld) this.#held.push(bytes);
    else this.#write(bytes);
  }

  /** Nothing more comes: the other side hears of it behind what is held. */
  end(): void {
    this.#isEnded = true;
    if (!this.isHeld) this.#to.end();
  }

  release(): void {
    this.isHeld = false;
    for (const bytes of this.#held.splice(0)) this.#write(bytes);
    if (this.#isEnded) this.#to.end();
  }

  #write(bytes: Buffer): void {
    if (!this.#to.destroyed && !this.#to.writableEnded) this.#to.write(bytes);
  }
}

/** A connection of the server, and the one to the store that stands for it. */
class Pair {
  readonly #near: Socket;
  readonly #far: Socket;
  readonly toStore: Direction;
  readonly toServer: Direction;

  constructor(near: Socket, far: Socket, isHeld: boolean, onClosed: (pair: Pair) => void) {
    this.#near = near;
    this.#far = far;
    this.toStore = new Direction(far, isHeld);
    this.toServer = new Direction(near, isHeld);
    for (const [from, direction] of [
      [near, this.toStore],
      [far, this.toServer],
    ] as const) {
      // Who is killed or cut off leaves an error behind; `close` follows it.
      from.on("error", () => undefined);
      from.on("data", (bytes) => direction.pass(bytes));
      from.once("close", () => {
        direction.end();
        if (near.destroyed && far.destroyed) onClosed(this);
      });
      from.once("end", () => direction.end());
      from.setNoDelay(true);
    }
  }

  hold(): void {
    this.toStore.isHeld = true;
    this.toServer.isHeld = true;
  }

  release(): void {
    this.toStore.release();
    this.toServer.release();
  }

  cut(): void {
    this.#near.resetAndDestroy();
    this.#far.resetAndDestroy();
  }

  /** The server hears nothing any more; what it has sent is still held. */
  abandon(): void {
    this.#near.resetAndDestroy();
  }
}

/** Requests that are held, of which nobody waits for an answer any more. */
export interface Late {
  /** How many connections have some. */
  readonly connections: number;
  /** Has them arrive. */
  deliver(): void;
}

/** A relay to a port of this machine. */
export class Relay {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #isCut = false;
  #isHeld = false;

  private constructor(port: number) {
    this.#server = createServer({ allowHalfOpen: true }, (near) => {
      if (this.#isCut) {
        near.on("error", () => undefined);
        near.resetAndDestroy();
        return;
      }
      const far = connect({ host: HOST, port, allowHalfOpen: true });
      this.#pairs.add(new Pair(near, far, this.#isHeld, (pair) => this.#pairs.delete(pair)));
    });
  }

  /** Listens, and sends what comes to `port`. */
  static async to(port: number): Promise<Relay> {
    const relay = new Relay(port);
    await new Promise<void>((resolve) => relay.#server.listen(0, HOST, resolve));
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks all connections, and makes no new ones. */
  cut(): void {
    this.#isCut = true;
    for (const pair of this.#pairs) pair.cut();
  }

  /** Holds what is sent from now on, both ways. */
  hold(): void {
    this.#isHeld = true;
    for (const pair of this.#pairs) pair.hold();
  }

  /** Connects, and sends what was held. */
  mend(): void {
    this.#isCut = false;
    this.#isHeld = false;
    for (const pair of this.#pairs) pair.release();
  }

  /** Breaks the connections of the server and keeps what they hold for the store; new connections are as ever. */
  abandon(): Late {
    this.#isHeld = false;
    const held: Pair[] = [];
    for (const pair of this.#pairs) {
      if (pair.toStore.heldBytes > 0) held.push(pair);
      pair.abandon();
    }
    for (const pair of this.#pairs) if (!held.includes(pair)) pair.release();
    return {
      connections: held.length,
      deliver: () => {
        for (const pair of held) pair.release();
      },
    };
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
