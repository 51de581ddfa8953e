/** Which search chain a query is for. What a chain with a language model asks is in `search-chain.ts`. */
import type { QueryHandle, SearchChainConfig } from "@brooklet/partition";
import { demandApplication, type GatewayContext } from "../context.ts";

const CHAIN_DEFAULT = "default";

/** The declared chain that a query selects; nothing if it is one that the core knows, or none. */
export function searchChainOf(query: QueryHandle, context: GatewayContext): SearchChainConfig | undefined {
  const { searchChains = [] } = demandApplication(context.cluster);
  if (searchChains.length === 0) return undefined;
  const id = query.parameter("searchChain") ?? CHAIN_DEFAULT;
  return searchChains.find((chain) => chain.id === id);
}
