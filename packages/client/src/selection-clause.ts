/** A selection by itself, and the values in it: what the fields of a schema make is in `selection.ts`. */
import { Clause } from "./clause.ts";
import { invalidArgument } from "./error.ts";

/**
 * Something a document fulfils or not. `String(…)` gives its text. Selections are joined by their methods, not by `&&`.
 *
 * @example
 * ```ts
 * const old = (it: brooklet.SelectionsOf<typeof mail.fields>): Selection => it.size.lt(10).and(it.isUnread.is(false));
 * await alice.removeWhere(mail, old);
 * ```
 */
export class Selection extends Clause<"selection"> {
  /** @internal Selections are made by the fields of a schema. */
  constructor(text: string) {
    super("selection", text);
  }

  /** This one and all the others. */
  and(...others: readonly Selection[]): Selection {
    return new Selection([this, ...others].map((it) => `(${it})`).join(" and "));
  }

  /** This one or any of the others. */
  or(...others: readonly Selection[]): Selection {
    return new Selection([this, ...others].map((it) => `(${it})`).join(" or "));
  }

  /**
   * Whatever does not fulfil this one. A field that is not set is not what `is` and `in` say, so `not()` of them has it; what `lt` to
   * `ge` and `between` say of it is neither fulfilled nor not.
   */
  not(): Selection {
    return new Selection(`not (${this})`);
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  '"': '\\"',
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\f": "\\f",
};

/**
 * @internal A value in the selection language. Texts are quoted and escaped, so that nothing in them can be taken for language.
 *
 * @example
 * ```ts
 * await alice.removeWhere(mail, `mail.sender == ${selectionLiteral('"Ada" <ada@x.org>')}`);
 * ```
 */
export function selectionLiteral(value: string | number | bigint | boolean): string {
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "string") {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to be escaped
    return `"${value.replaceAll(/[\\"\u0000-\u001f]/g, (character) => ESCAPES[character] ?? hexadecimal(character))}"`;
  }
  if (!Number.isFinite(value)) throw invalidArgument(`${value} cannot be compared with: give a finite number`);
  const text = String(value);
  // A number with an exponent needs a fraction, and one beyond 64 bits is not a whole one to the server.
  if (/e/.test(text)) return text.includes(".") ? text : text.replace("e", ".0e");
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? `${text}.0` : text;
}

function hexadecimal(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
