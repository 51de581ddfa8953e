/**
 * An open-loop generator of load over HTTP/1.1: requests are sent when they are due, whether those before were answered or
 * not, and latency counts from then. It reads no more of an answer than it has to, so that a machine with two processors
 * is the server's for the most part.
 */
import { readdirSync, readFileSync } from "node:fs";
import net from "node:net";
import process from "node:process";

const HEAD_END = Buffer.from("\r\n\r\n");
/** Connections come from several addresses: a server bounds those of one. */
const CONNECTIONS_OF_ADDRESS = 100;
/** Where those come from that ask whether the server lives. */
const LIVE_ADDRESS = "127.0.0.1";
const ANSWER_MS_MAX = 10_000;
const LIVE_EVERY_MS = 50;

const quantile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A connection, on which one request is under way at a time. */
class Connection {
  #socket;
  #received = [];
  #length = 0;
  #wanted;
  #done;
  #end;
  closed = false;

  constructor(port, localAddress, onClose) {
    this.#socket = net.connect({ port, host: "127.0.0.1", localAddress, noDelay: true });
    this.#socket.on("data", (chunk) => this.#take(chunk));
    this.#end = () => {
      if (this.closed) return;
      this.closed = true;
      this.#socket.destroy();
      const done = this.#done;
      this.#done = undefined;
      onClose(this);
      done?.({ status: 0 });
    };
    this.#socket.on("error", this.#end);
    this.#socket.on("close", this.#end);
  }

  ask(request) {
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#socket.write(request);
    });
  }

  destroy() {
    this.#socket.destroy();
  }

  #take(chunk) {
    this.#received.push(chunk);
    this.#length += chunk.length;
    if (this.#wanted === undefined) {
      const all = this.#received.length === 1 ? chunk : Buffer.concat(this.#received);
      const at = all.indexOf(HEAD_END);
      if (at === -1) return;
      const head = all.latin1Slice(0, at).toLowerCase();
      const length = Number(/\r\ncontent-length: *(\d+)/.exec(head)?.[1] ?? 0);
      this.#received = [all];
      this.#wanted = { head, from: at + 4, to: at + 4 + length };
    }
    if (this.#length < this.#wanted.to) return;
    const { head, from, to } = this.#wanted;
    const body = Buffer.concat(this.#received).latin1Slice(from, to);
    [this.#received, this.#length, this.#wanted] = [[], 0, undefined];
    const done = this.#done;
    this.#done = undefined;
    // A server says so with the last request that it takes on a connection: what is sent after it is lost.
    if (head.includes("\r\nconnection: close")) this.#end();
    done?.({ status: Number(head.slice(9, 12)), hasRetryAfter: head.includes("\r\nretry-after:"), body });
  }
}

/** Milliseconds of processor that the threads of a process took: its first, and all others. Linux says so, others do not. */
function processorMs(pid) {
  let [first, others] = [0, 0];
  try {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      const stat = readFileSync(`/proc/${pid}/task/${task}/stat`, "latin1");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      // In hundredths of a second, as Linux counts for everybody.
      const ms = 10 * (Number(fields[11]) + Number(fields[12]));
      if (task === String(pid)) first += ms;
      else others += ms;
    }
  } catch {
    return { first: Number.NaN, others: Number.NaN };
  }
  return { first, others };
}

/** What came of a load. */
class Tally {
  latencies = [];
  live = [];
  refused = 0;
  late = 0;
  failed = 0;
  withoutRetryAfter = 0;
  sent = 0;
  unsent = 0;

  figure(ms) {
    const latencies = this.latencies.sort((a, b) => a - b);
    const live = this.live.sort((a, b) => a - b);
    const { refused, late, failed, withoutRetryAfter, sent, unsent } = this;
    const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
    const [liveMax, liveP99] = [live.at(-1) ?? 0, quantile(live, 0.99)];
    const goodput = (1_000 * latencies.length) / ms;
    return {
      answered: latencies.length,
      goodput,
      p50,
      p99,
      refused,
      late,
      failed,
      withoutRetryAfter,
      sent,
      unsent,
      liveMax,
      liveP99,
    };
  }
}

/** Loads of one server. */
export class OpenLoop {
  #options;
  #idle = [];
  #addresses;
  #number = 0;

  /** `pid`: the server's. `request` gives the bytes of the request of a number, `check` says whether the body of an answer 200 is whole. */
  constructor(options) {
    this.#options = options;
    const addresses = Math.ceil(options.connections / CONNECTIONS_OF_ADDRESS);
    this.#addresses = Array.from({ length: addresses }, (_, at) => ({ name: `127.0.0.${2 + at}`, open: 0 }));
  }

  /** Requests a second of `clients` that ask again when they are answered. */
  async closed(clients, ms) {
    const end = performance.now() + ms;
    let answered = 0;
    const client = async () => {
      while (performance.now() < end) {
        const { status, body } = await this.#ask(this.#take());
        if (status !== 200 || !this.#options.check(body)) throw new Error(`status ${status}: ${body?.slice(0, 400)}`);
        answered += 1;
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
    return (1_000 * answered) / ms;
  }

  /** A load of `rate` requests a second; what came of it. */
  async open(rate, ms) {
    const tally = new Tally();
    const start = performance.now();
    const [ofServer, ofClient] = [processorMs(this.#options.pid), process.cpuUsage()];
    const pending = new Set();
    const watch = this.#watchLive(tally, start + ms);
    let due = start;
    while (due < start + ms) {
      const now = performance.now();
      while (due <= now && due < start + ms) {
        const one = this.#send(due, tally);
        pending.add(one);
        void one.then(() => pending.delete(one));
        due += 1_000 / rate;
      }
      await pause(1);
    }
    await Promise.race([Promise.all(pending), pause(ANSWER_MS_MAX)]);
    tally.failed += pending.size;
    await watch;
    const took = performance.now() - start;
    const { first, others } = processorMs(this.#options.pid);
    const { user, system } = process.cpuUsage(ofClient);
    const processor = {
      connections: (first - ofServer.first) / took,
      threads: (others - ofServer.others) / took,
      client: (user + system) / 1_000 / took,
      connectionsMs: first - ofServer.first,
    };
    return { ...tally.figure(ms), processor };
  }

  /** Seconds until half a second of a light load is as fast as such a load was before; nothing: not within `seconds`. */
  async recovery(rate, usualMs, seconds) {
    const start = performance.now();
    while (performance.now() < start + 1_000 * seconds) {
      const from = performance.now();
      const { p99, refused, failed } = await this.open(rate, 500);
      if (refused + failed === 0 && p99 <= 2 * usualMs + 20) return (from - start) / 1_000;
    }
    return undefined;
  }

  close() {
    for (const connection of this.#idle) connection.destroy();
  }

  #take() {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const address = this.#addresses.find(({ open }) => open < CONNECTIONS_OF_ADDRESS);
    if (address === undefined) return undefined;
    address.open += 1;
    return new Connection(this.#options.port, address.name, (closed) => {
      address.open -= 1;
      this.#idle = this.#idle.filter((one) => one !== closed);
    });
  }

  async #ask(connection) {
    this.#number += 1;
    const answer = await connection.ask(this.#options.request(this.#number));
    if (!connection.closed) this.#idle.push(connection);
    return answer;
  }

  async #send(due, tally) {
    const connection = this.#take();
    if (connection === undefined) {
      tally.unsent += 1;
      return;
    }
    tally.sent += 1;
    const { status, hasRetryAfter, body } = await this.#ask(connection);
    if (status === 200 && this.#options.check(body)) tally.latencies.push(performance.now() - due);
    else if (status === 429 || status === 503) {
      tally.refused += 1;
      if (!hasRetryAfter) tally.withoutRetryAfter += 1;
    } else if (status === 504) tally.late += 1;
    else tally.failed += 1;
  }

  async #watchLive(tally, end) {
    const connection = new Connection(this.#options.port, LIVE_ADDRESS, () => {});
    while (performance.now() < end) {
      const start = performance.now();
      await connection.ask("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
      tally.live.push(performance.now() - start);
      await pause(LIVE_EVERY_MS);
    }
    connection.destroy();
  }
}
