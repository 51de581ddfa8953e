/** What the tests ask of a page: everything is a name of the window's. */
import { BrookletError, open } from "brooklet/browser";
import { findings, manyNotes, note } from "./program.ts";

/** What conversations need beside: it is no part of what a page weighs. */
const talking = async (): Promise<void> => {
  Object.assign(globalThis, await import("./conversations.ts"));
};

Object.assign(globalThis, { BrookletError, open, findings, manyNotes, note, talking });
