"use server";
import { randomUUID } from "node:crypto";
import { cookies } from "next/headers";
import { redirect } from "next/navigation";
import { note } from "./schema";
import { mine, sessionOf } from "./session";

export async function logIn(form: FormData): Promise<void> {
  const session = sessionOf(String(form.get("user")));
  if (session !== undefined) (await cookies()).set("session", session, { httpOnly: true, sameSite: "lax" });
  redirect("/");
}

export async function logOut(): Promise<void> {
  (await cookies()).delete("session");
  redirect("/");
}

export async function addNote(form: FormData): Promise<void> {
  const [title, body] = [String(form.get("title")), String(form.get("body"))];
  await (await mine())?.group.put(note, randomUUID(), { title, body, tags: [], writtenAt: new Date() });
  redirect("/");
}
