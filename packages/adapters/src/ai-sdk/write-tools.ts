/**
 * Tools of the AI SDK that write, for who wants a model to: `remember` puts a document into the group the tool is made with,
 * `forget` removes one of it. Neither can name another group, nor a field that was not opened to it.
 */
import type { AnySchema, Group } from "@brooklet/client";
import { type Tool, tool } from "ai";
import { z } from "zod";
import { storedInput } from "../model-field.ts";
import { type ForgetRules, forget, type RememberRules, remember, WRITE_WARNING } from "../model-write.ts";
import { executing } from "./executing.ts";

/** What a tool that remembers is bound to. */
export interface RememberToolOptions<S extends AnySchema> extends RememberRules<S> {
  readonly group: Group;
  readonly schema: S;
  /** What the model is told it may keep here: "facts about the user", say. */
  readonly description?: string;
}

/** What a tool that forgets is bound to. */
export interface ForgetToolOptions<S extends AnySchema> extends ForgetRules<S> {
  readonly group: Group;
  readonly schema: S;
  /** What the model is told the documents are. */
  readonly description?: string;
}

const ID_MAX = 2_000;

/**
 * A tool that puts a document. Required fields that the model does not fill in have to be `fixed`.
 *
 * @example
 * ```ts
 * import { rememberTool } from "brooklet/ai-sdk";
 * const tools = {
 *   remember: rememberTool({
 *     group: alice,
 *     schema: mail,
 *     fields: ["subject", "body"],
 *     fixed: () => ({ sender: "assistant", size: 0, isUnread: false, sentAt: new Date() }),
 *   }),
 * };
 * ```
 */
export function rememberTool<S extends AnySchema>(
  options: RememberToolOptions<S>,
): Tool<Record<string, unknown>, { readonly id: string }> {
  const { group, schema, fields, fixed = () => ({}), description = "what the user wants to be remembered" } = options;
  const inputs = storedInput(schema, fields, Object.keys(fixed()));
  const inputSchema = z.strictObject(inputs) as unknown as z.ZodType<Record<string, unknown>>;
  return tool({
    description: `Keeps ${description}, and gives the id it is kept under. ${WRITE_WARNING}`,
    inputSchema,
    execute: executing(inputSchema, (filled: Record<string, unknown>, signal) =>
      remember({ group, schema }, options, filled, signal),
    ),
  });
}

/**
 * A tool that removes a document by the id that a search gave.
 *
 * @example
 * ```ts
 * import { forgetTool } from "brooklet/ai-sdk";
 * const tools = { forget: forgetTool({ group: alice, schema: mail, condition: (it) => it.sender.is("assistant") }) };
 * ```
 */
export function forgetTool<S extends AnySchema>(
  options: ForgetToolOptions<S>,
): Tool<{ id: string }, { readonly id: string; readonly isForgotten: boolean }> {
  const { group, schema, description = "the user's documents" } = options;
  const inputSchema = z.strictObject({ id: z.string().min(1).max(ID_MAX).describe("The id of the document") });
  return tool({
    description: `Removes one of ${description} for good, by the id that a search gave. ${WRITE_WARNING}`,
    inputSchema,
    execute: executing(inputSchema, ({ id }: { id: string }, signal) => forget({ group, schema }, options, id, signal)),
  });
}
