/** Loaded before a server: its clock goes by so many milliseconds before those of others (`BROOKLET_SKEW_MS`). */
import process from "node:process";

const skewMs = Number(process.env["BROOKLET_SKEW_MS"] ?? 0);
const Right = globalThis.Date;

class Skewed extends Right {
  constructor(...given) {
    if (given.length === 0) super(Right.now() + skewMs);
    else super(...given);
  }

  static now() {
    return Right.now() + skewMs;
  }
}

globalThis.Date = Skewed;
