/** `Gunzip` with zlib: small bodies at once, since starting a thread takes longer than inflating them. */
import { promisify } from "node:util";
import { gunzip, gunzipSync } from "node:zlib";
import { type Gunzip, InflationLimit } from "../inflate.ts";

const SMALL_BYTES = 16 * 1024;
const gunzipInThread = promisify(gunzip);

/** Inflates with zlib, which checks the checksum and stops at `limitBytes`. */
export const nodeGunzip: Gunzip = async (compressed, limitBytes) => {
  const options = { maxOutputLength: limitBytes };
  try {
    return compressed.length <= SMALL_BYTES
      ? gunzipSync(compressed, options)
      : await gunzipInThread(compressed, options);
  } catch (error) {
    const isTooLarge = error instanceof RangeError && (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    throw isTooLarge ? new InflationLimit(error.message, { cause: error }) : error;
  }
};
