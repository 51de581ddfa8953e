/** What ended a client, first: the lines of its complaints that name an exception, of Java with its causes, or of Python; then all of them. */

/** How such a line begins: at the left, where no line of a stack does. */
const NAMED = /^(?:Exception in thread |Caused by: |(?:[\w$]+\.)*[\w$]*(?:Error|Exception|Timeout|Interrupt)\b)/;
const CAUSES_MAX = 8;
const LINES_MAX = 30;

/**
 * @param {string} complaints what a program printed as such
 */
export function causesFirst(complaints) {
  const lines = complaints.trim().split("\n");
  const causes = lines.filter((line) => NAMED.test(line)).slice(0, CAUSES_MAX);
  const rest =
    lines.length > LINES_MAX ? [...lines.slice(0, LINES_MAX / 2), "…", ...lines.slice(-LINES_MAX / 2)] : lines;
  return [...causes, ...rest].join("\n");
}
