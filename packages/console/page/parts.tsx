/** Small parts of several views. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

/** A text with what matched marked: U+0002 and U+0003 are around it, U+001E stands where something is left out. */
export function Marked({ text }: { readonly text: string }): JSX.Element {
  const pieces = text.replaceAll("\u001e", " … ").split("\u0002");
  return (
    <>
      {pieces.map((piece, index) => {
        if (index === 0) return piece;
        const [inside = "", ...after] = piece.split("\u0003");
        return (
          <>
            <mark>{inside}</mark>
            {after.join("")}
          </>
        );
      })}
    </>
  );
}

/** A value of a document, short. */
export function shown(value: unknown): string {
  if (typeof value === "string") return value;
  const text = JSON.stringify(value) ?? "";
  return text.length > 400 ? `${text.slice(0, 400)} …` : text;
}

/** What a server refused. */
export function Problem({ message }: { readonly message: string }): JSX.Element | null {
  return message === "" ? null : (
    <div class="note bad" role="alert">
      {message}
    </div>
  );
}

/** Code with its language, to be copied. */
export function Code({ label, text }: { readonly label: string; readonly text: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  return (
    <div class="code">
      <div class="bar">
        <span class="label grow">{label}</span>
        <button type="button" class="plain" aria-label={`Copy ${label}`} onClick={copy}>
          {isCopied ? "Copied" : "Copy"}
        </button>
      </div>
      <pre>{text}</pre>
    </div>
  );
}

/** Says that there is nothing, and what to do. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="drop">
      <h2>{title}</h2>
      <div class="quiet">{children}</div>
    </div>
  );
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A number as people read it. */
export function figure(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 1 : size >= 1 ? 2 : 4);
}

/** Bytes as people read them. */
export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  return count < 1 << 20 ? `${(count / 1024).toFixed(1)} KB` : `${(count / (1 << 20)).toFixed(1)} MB`;
}
