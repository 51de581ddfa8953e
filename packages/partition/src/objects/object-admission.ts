/**
 * What an object takes on at a time. Gateways know nothing of each other, and an isolate has 128 MB for all of its objects: what waits
 * in one of them is bounded there, whoever sent it.
 */
import { ServiceError } from "@brooklet/core";
import { MESSAGES, type ObjectWaiting, otherMessages } from "./object-calls.ts";

/** How much one object takes on. */
export interface ObjectAdmissionLimits {
  /** Calls that are under way. */
  readonly calls: number;
  /** Bytes of what they are to write. A call that is alone may have more. */
  readonly bytes: number;
}

/** A gateway lets through as much at a time as all of this (`GatewayLimits.documents`, and its bodies at the edge). */
const LIMITS: ObjectAdmissionLimits = { calls: 1_024, bytes: 16 << 20 };

/** The calls of one object. */
export class ObjectAdmission {
  readonly #limits: ObjectAdmissionLimits;
  #calls = 0;
  #bytes = 0;

  constructor(limits: ObjectAdmissionLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Takes a call on, which has to `leave` with as many bytes. The refusal, if there is no room, or it is of another release: then it was not taken on. */
  enter(bytes: number, { messages }: Pick<ObjectWaiting, "messages">): ServiceError | undefined {
    if (messages !== MESSAGES) return otherMessages();
    const { calls, bytes: bytesMax } = this.#limits;
    if (this.#calls > 0 && (this.#calls >= calls || this.#bytes + bytes > bytesMax)) {
      const message = "The object of this group has too much under way; try again later";
      return new ServiceError({ code: "OVERLOADED", status: 503, number: 8, message, outcome: "not_applied" });
    }
    this.#calls += 1;
    this.#bytes += bytes;
    return undefined;
  }

  /** Whether no call is under way. */
  get isIdle(): boolean {
    return this.#calls === 0;
  }

  /** A call is over. */
  leave(bytes: number): void {
    this.#calls -= 1;
    this.#bytes -= bytes;
  }
}
