/** What arguments of commands are read as. */
import { InvalidArgumentError } from "commander";

const PORT_MAX = 65_535;

/** A whole number from 0 on. */
export function whole(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give an integer that is not negative.");
}

/** A whole number from 1 on. */
export function positive(text: string): number {
  const value = whole(text);
  if (value > 0) return value;
  throw new InvalidArgumentError("Give a positive integer.");
}

/** A port. */
export function port(text: string): number {
  const value = whole(text);
  if (value <= PORT_MAX) return value;
  throw new InvalidArgumentError(`Give a port from 0 to ${PORT_MAX}.`);
}

/** The address of a server: paths are put behind it, so that it ends without a slash. */
export function address(text: string): string {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return text.replace(/\/+$/, "");
  throw new InvalidArgumentError("Give an address like http://localhost:8080.");
}
