/** The releases of the AI SDK that are peers. */
import { readFile } from "node:fs/promises";
import { vi } from "vitest";

export type Sdk = typeof import("ai");
export type Provider = typeof import("@ai-sdk/openai-compatible");

/**
 * The releases that are peers, each with the provider that belongs to it. Types are checked with the one in the middle;
 * the others have the same calls.
 */
export const RELEASES: readonly (readonly [release: number, load: () => Promise<readonly [Sdk, Provider]>])[] = [
  [5, async () => [(await import("ai-v5")) as unknown as Sdk, (await import("openai-compatible-v1")) as never]],
  [6, async () => [await vi.importActual<Sdk>("ai"), await import("@ai-sdk/openai-compatible")]],
  [7, async () => [(await import("ai-v7")) as unknown as Sdk, (await import("openai-compatible-v3")) as never]],
];

/** What was loaded says which release it is. */
export async function manifestOf(release: number): Promise<{ readonly version: string }> {
  const name = release === 6 ? "ai" : `ai-v${release}`;
  return JSON.parse(await readFile(new URL(`../../../node_modules/${name}/package.json`, import.meta.url), "utf8"));
}
