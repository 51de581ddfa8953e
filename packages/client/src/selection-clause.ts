/** A selection by itself: what the fields of a schema make is in `selection.ts`. */
import { Clause } from "./clause.ts";

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

  /** Whatever does not fulfil this one. A comparison with a field that is not set is neither fulfilled nor not. */
  not(): Selection {
    return new Selection(`not (${this})`);
  }
}
