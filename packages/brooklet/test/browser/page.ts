/** What the tests ask of a page: everything is a name of the window's. */
import { BrookletError, open } from "brooklet/browser";
import { findings, manyNotes, note } from "./program.ts";

Object.assign(globalThis, { BrookletError, open, findings, manyNotes, note });
