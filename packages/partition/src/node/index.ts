/** Partitions on Node: what a process gives them. */
export { nodeSurroundings } from "./surroundings.ts";
