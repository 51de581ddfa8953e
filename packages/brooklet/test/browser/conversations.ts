/** A page that conversations are held in. */
import { held, talksIn } from "../talks/talk.ts";
import { openListener } from "./listener.ts";

Object.assign(globalThis, { held, talksIn, openListener });
