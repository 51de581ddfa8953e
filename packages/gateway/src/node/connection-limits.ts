/** The limits of connections, with the names they have in the specification of reliability. */

/** What a listener allows. */
export interface ConnectionLimits {
  /** Connections at a time, and those of one remote address (L-conn). */
  readonly connections: number;
  readonly connectionsOfAddress: number;
  /** Time to send the headers, the whole of a body, and the next bytes of a body that is read as a stream (L-slow). */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly streamTimeoutMs: number;
  /** How long a connection may be idle, and how many requests it may carry in HTTP/1.1 (L-idle). */
  readonly idleTimeoutMs: number;
  readonly requestsOfConnection: number;
  /** How long a client may take to read an answer: this, and what it takes at the slowest rate allowed (L-send). */
  readonly sendTimeoutMs: number;
  readonly sendBytesPerSecond: number;
  /** Streams of an HTTP/2 connection at a time, and how many may be reset within ten seconds (L-h2). */
  readonly streams: number;
  readonly streamResets: number;
  /** Pings and settings of an HTTP/2 connection within ten seconds (L-h2). */
  readonly controlFrames: number;
}

/** What holds unless the operator says otherwise. */
export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  connections: 1_024,
  connectionsOfAddress: 128,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  streamTimeoutMs: 180_000,
  idleTimeoutMs: 15_000,
  requestsOfConnection: 10_000,
  sendTimeoutMs: 30_000,
  sendBytesPerSecond: 64 * 1024,
  streams: 128,
  streamResets: 200,
  controlFrames: 100,
};
