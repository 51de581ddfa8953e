/** Keys of the page: none of them while something is typed, or with a modifier. */
import { useEffect, useRef } from "preact/hooks";

/** Has keys do something, as long as the component is there. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") !== null) return;
      const element = event.target instanceof HTMLElement ? event.target : undefined;
      const isTyping = element?.matches("input:not([type=range]), textarea, select") === true;
      if (isTyping && event.key === "Escape") element?.blur();
      const does = isTyping ? undefined : latest.current[event.key];
      if (does === undefined) return;
      event.preventDefault();
      does();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

/** Goes on in the list of hits, or back. */
export function moveSelection(step: 1 | -1): void {
  const hits = [...document.querySelectorAll<HTMLElement>(".hit")];
  const at = hits.indexOf(document.activeElement as HTMLElement);
  const next = hits[at === -1 ? 0 : Math.min(Math.max(at + step, 0), hits.length - 1)];
  next?.focus();
}
