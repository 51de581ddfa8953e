/** What of a server is asked again and again, while somebody looks at the page. */
import { useEffect, useState } from "preact/hooks";
import { messageOf } from "./parts.tsx";

/** The latest answer, and why there was none the last time. `read` and the time between are those of the first render. */
export function useWatch<Answer>(
  read: () => Promise<Answer>,
  everyMs: number,
): { readonly answer?: Answer; readonly problem: string } {
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const ask = (): void => {
      if (document.hidden) return;
      read().then(
        (now) => {
          setAnswer(() => now);
          setProblem("");
        },
        (error: unknown) => setProblem(messageOf(error)),
      );
    };
    ask();
    const timer = setInterval(ask, everyMs);
    return () => clearInterval(timer);
  }, []);
  return answer === undefined ? { problem } : { answer, problem };
}
