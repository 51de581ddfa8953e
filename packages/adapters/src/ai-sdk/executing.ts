/** How a tool is called: by the SDK for a model, whose words it has looked at, or by a program, of whose nobody has. */
import { invalidArgument } from "@brooklet/client";
import { z } from "zod";

/** What the SDK tells a tool beside what was filled in; a program may leave it out. */
type Called = { readonly abortSignal?: AbortSignal | undefined } | undefined;

/** Executes a tool with what its schema makes of the words, its defaults among them. */
export function executing<Input, Output>(
  inputSchema: z.ZodType,
  execute: (asked: Input, signal: AbortSignal | undefined) => Promise<Output>,
): (asked: Input, called?: Called) => Promise<Output> {
  return async (asked, called) => {
    const read = inputSchema.safeParse(asked);
    if (!read.success) throw invalidArgument(`a tool cannot be called so: ${z.prettifyError(read.error)}`);
    return await execute(read.data as Input, called?.abortSignal);
  };
}
