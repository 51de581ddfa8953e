/** What a server refuses, in the words of those who called: what was asked, and what helps. */
import { BrookletError } from "./error.ts";
import type { AnySchema } from "./schema/schema.ts";

/** Throws why a write on a condition was not done. */
export function unmetCondition(error: unknown, schema: AnySchema, id: string, condition: string | undefined): never {
  if (!BrookletError.is(error) || error.code !== "CONDITION_NOT_MET" || condition === undefined) throw error;
  const document = `document '${id}' of schema ${schema.name}`;
  const isThere = !error.message.includes("does not exist");
  const message = isThere
    ? `${document} was not written: as it is stored it does not fulfil ${condition}. Read it and decide anew`
    : `${document} was not written: it is not there, and fulfils no condition (${condition}). With { create: true } it is made`;
  const { code, status, outcome } = error;
  throw new BrookletError(code, message, { status, outcome, cause: error });
}

const UNREAD = /^Exception parsing document selector '.*': (.*?)(?: at line \d+, column \d+)?$/s;

/** Throws why the selection that someone wrote as text cannot be read: without what was added to it. */
export function unreadSelection(error: unknown, selection: string | undefined): never {
  if (!BrookletError.is(error) || selection === undefined) throw error;
  const [, reason] = UNREAD.exec(error.message) ?? [];
  if (reason === undefined) throw error;
  const { code, status, outcome } = error;
  throw new BrookletError(code, `The selection ${selection} cannot be read: ${reason}`, {
    status,
    outcome,
    cause: error,
  });
}
