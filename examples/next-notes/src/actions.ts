/** What forms of the page do, on the server. */
"use server";
import { randomUUID } from "node:crypto";
import { redirect } from "next/navigation";
import { note } from "./note.ts";
import { SAMPLE } from "./sample.ts";
import { notesOf } from "./server.ts";
import { beginSession, endSession, userOfRequest } from "./session.ts";

const TAG = /(?<=^|\s)#([\p{L}\p{N}_-]+)/gu;

export async function logIn(form: FormData): Promise<void> {
  await beginSession(String(form.get("user")));
  redirect("/");
}

export async function logOut(): Promise<void> {
  await endSession();
  redirect("/");
}

/** Keeps a note; words with `#` are its tags. */
export async function addNote(form: FormData): Promise<void> {
  const user = await userOfRequest();
  if (user === undefined) return;
  const [title, text] = [String(form.get("title")), String(form.get("body"))];
  const tags = [...text.matchAll(TAG)].map(([, tag = ""]) => tag.toLowerCase());
  const fields = { title, body: text.replace(TAG, "").trim(), tags: [...new Set(tags)], writtenAt: new Date() };
  await (await notesOf(user)).put(note, randomUUID(), fields);
}

export async function addSample(): Promise<void> {
  const user = await userOfRequest();
  if (user === undefined) return;
  const mine = await notesOf(user);
  await Promise.all(SAMPLE.map(([id, fields]) => mine.put(note, id, fields)));
}
