/** The search of one partition behind a gate, which may have it begun anew. */
/// <reference lib="esnext.disposable" preserve="true" />
import type { Gate, GateKind, PartitionKey } from "../cluster.ts";
import type { PartitionSearch } from "./cluster-query.ts";

/** How it passes the gate. */
export interface GatePass {
  readonly key: PartitionKey;
  readonly kind: GateKind;
  readonly timeoutMs: number;
}

/** `begin` begins it; each step passes the gate by itself. */
export function gatedSearch(gate: Gate, pass: GatePass, begin: () => PartitionSearch): PartitionSearch {
  const { key, kind, timeoutMs } = pass;
  let search: PartitionSearch | undefined;
  return {
    goOn: (outputs) =>
      gate.pass({ keys: [key] }, kind, timeoutMs, async () => {
        // What failed before, or turned out not to be true, is begun anew.
        if (outputs === undefined) {
          search?.[Symbol.dispose]();
          search = begin();
        }
        if (search === undefined) throw new Error("a search went on that was not begun");
        return await search.goOn(outputs);
      }),
    [Symbol.dispose]: () => search?.[Symbol.dispose](),
  };
}
