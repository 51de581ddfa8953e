/** A plot of bars as SVG in a page: readable in light and dark, by a screen reader, and without a script. */

// Narrow, so that a phone shows it large enough to be read.
const WIDTH = 540;
const ROW = 26;
const LABEL = 194;
/** Room for a value behind the longest bar. */
const VALUE = 140;
const TOP = 8;
const BOTTOM = 26;

/**
 * @typedef {object} Bars
 * @property {string} title
 * @property {string} unit
 * @property {string} note
 * @property {readonly { readonly label: string, readonly value: number, readonly isOurs: boolean }[]} bars
 */

/**
 * A logarithmic plot: figures of peers are orders of magnitude apart. It is a fence that a page shows as it is.
 *
 * @param {Bars} plot
 */
export function barPlot({ title, unit, note, bars }) {
  const values = bars.map(({ value }) => value);
  const [from, to] = [
    10 ** Math.floor(Math.log10(Math.min(...values)) - 0.2),
    10 ** Math.ceil(Math.log10(Math.max(...values))),
  ];
  const x = (/** @type {number} */ value) =>
    LABEL + ((Math.log10(value) - Math.log10(from)) / (Math.log10(to) - Math.log10(from))) * (WIDTH - LABEL - VALUE);
  const height = TOP + bars.length * ROW + BOTTOM;
  const ticks = [];
  for (let tick = from; tick <= to * 1.001; tick *= 10) {
    const at = x(tick).toFixed(1);
    ticks.push(
      `<path class="tick" d="M${at} ${TOP}V${height - BOTTOM}"/><text class="scale" x="${at}" y="${height - 8}">${short(tick)}</text>`,
    );
  }
  const rows = bars.map(({ label, value, isOurs }, index) => {
    const y = TOP + index * ROW;
    const width = Math.max(1, x(value) - LABEL).toFixed(1);
    const bar = `<rect class="${isOurs ? "ours" : "other"}" x="${LABEL}" y="${y + 4}" width="${width}" height="${ROW - 8}"/>`;
    const text = `<text class="label" x="${LABEL - 8}" y="${y + 17}">${escaped(label)}</text>`;
    return `${bar}${text}<text class="value" x="${(x(value) + 6).toFixed(1)}" y="${y + 17}">${short(value)} ${escaped(unit)}</text>`;
  });
  const told = bars.map(({ label, value }) => `${label}: ${short(value)} ${unit}`).join("; ");
  const body = [...ticks, ...rows].join("");
  const svg = `<svg class="plot" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(`${title} (${note}). ${told}`)}">${body}</svg>`;
  return `\`\`\`drawing\n${svg}\n\`\`\`\n\n*${note}*`;
}

/** A figure with as many digits as mean something. @param {number} value */
export function short(value) {
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
