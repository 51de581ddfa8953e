/** The types of `serve.mjs`. */
import type { Server } from "node:http";
/** A server of the files of a folder. */
export function serveSite(folder: string): Server;
