/** The list of notes, searched as one types. */
"use client";
import { connect } from "@brooklet/client";
import { useSearch } from "brooklet/react";
import { type FormEvent, useEffect, useMemo, useRef, useState } from "react";
import { addNote, addSample } from "./actions.ts";
import type { Found } from "./found.ts";
import { note, searchOf, type Wanted } from "./note.ts";

/** What is shown at first, as the server has rendered it. */
export interface NotesProps {
  readonly user: string;
  readonly wanted: Wanted;
  readonly initial?: Found;
  /** What is wrong with what is wanted, if the server has refused it. */
  readonly refusal?: string;
}

/** What is shown of a search that was refused. */
const NOTHING = { totalCount: 0, facets: { tags: [] }, hits: [] };

/** Everything of the page that changes while one types. */
export function Notes({ user, wanted, initial, refusal }: NotesProps) {
  const [words, setWords] = useState(wanted.words);
  const [tag, setTag] = useState(wanted.tag);
  // Where the page came from is asked, behind its session; on the server nothing is.
  const mine = useMemo(() => {
    if (typeof window === "undefined") return undefined;
    return connect({ url: `${window.location.origin}/door` }).group(user);
  }, [user]);
  const { hits, result, isSearching, error, repeat } = useSearch(mine, note, searchOf({ words, tag }), {
    ...(initial !== undefined && { initial }),
  });
  useEffect(() => window.history.replaceState(null, "", addressOf({ words, tag })), [words, tag]);
  const first = initial ?? NOTHING;
  const { totalCount, facets } = result ?? first;
  const shown = result === undefined ? first.hits : hits;
  const wrong = error?.message ?? (result === undefined ? refusal : undefined);
  return (
    <>
      <label className="hidden" htmlFor="words">
        Words
      </label>
      <input
        id="words"
        type="search"
        value={words}
        placeholder="Search as you type"
        onChange={({ target }) => setWords(target.value)}
      />
      <fieldset>
        <legend className="hidden">Tags</legend>
        {facets.tags.map(({ value, count }) => (
          <button
            key={value}
            type="button"
            aria-pressed={value === tag}
            onClick={() => setTag(value === tag ? "" : value)}
          >
            {value} <span>{count}</span>
          </button>
        ))}
      </fieldset>
      <p className="small" role="status">
        {wrong ?? `${totalCount} ${totalCount === 1 ? "note" : "notes"}`}
      </p>
      <ol aria-busy={isSearching}>
        {shown.map(({ id, fields }) => (
          <li key={id}>
            <h2>{fields.title}</h2>
            <p>{fields.body}</p>
            <p className="small">
              {fields.writtenAt?.toISOString().slice(0, 10)} {fields.tags?.map((one) => `#${one}`).join(" ")}
            </p>
          </li>
        ))}
      </ol>
      <Pen onWritten={repeat} isEmpty={totalCount === 0 && words === "" && tag === ""} />
    </>
  );
}

/** Where another note is written. */
function Pen({ onWritten, isEmpty }: { readonly onWritten: () => void; readonly isEmpty: boolean }) {
  const form = useRef<HTMLFormElement>(null);
  const write = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    await addNote(new FormData(event.currentTarget));
    form.current?.reset();
    onWritten();
  };
  return (
    <form ref={form} className="pen" onSubmit={(event) => void write(event)}>
      <label>
        Title <input name="title" required maxLength={200} />
      </label>
      <label>
        Text <textarea name="body" rows={2} maxLength={10_000} placeholder="Words with # are tags" />
      </label>
      <button type="submit">Write</button>
      {isEmpty && (
        <button type="button" onClick={() => void addSample().then(onWritten)}>
          Take the sample
        </button>
      )}
    </form>
  );
}

/** The address that shows the same again. */
function addressOf({ words, tag }: Wanted): string {
  const asked = new URLSearchParams({ ...(words === "" ? {} : { q: words }), ...(tag === "" ? {} : { tag }) });
  return asked.size === 0 ? "/" : `/?${asked}`;
}
