/** Plots of bars and of lines as SVG in a page: readable in light and dark, by a screen reader, and without a script. */

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

/** A plot of lines: its height, and the room for scales at the left and for names at the right. */
const LINES = { height: 276, left: 52, right: 128, top: 30, bottom: 44 };
/** Names of lines are so far apart at least. */
const NAME = 16;
/** How lines that are not ours are told apart without their colours. */
const DASHES = ["", "7 4", "2 4"];

/**
 * @typedef {object} Lines
 * @property {string} title
 * @property {string} unit
 * @property {string} along what the places from left to right are
 * @property {string} note
 * @property {readonly { readonly label: string, readonly isOurs: boolean, readonly points: readonly (readonly [number, number])[] }[]} lines
 */

/**
 * Lines over both scales logarithmic, each with its name at its end. It is a fence that a page shows as it is.
 *
 * @param {Lines} plot
 */
export function linePlot({ title, unit, along, note, lines }) {
  const { height, left, right, top, bottom } = LINES;
  const all = lines.flatMap(({ points }) => points);
  const places = [...new Set(all.map(([place]) => place))].sort((one, other) => one - other);
  const values = all.map(([, value]) => value);
  const x = scale(places, left, WIDTH - right);
  const [from, to] = [
    10 ** Math.floor(Math.log10(Math.min(...values))),
    10 ** Math.ceil(Math.log10(Math.max(...values))),
  ];
  const y = scale([from, to], height - bottom, top);
  const ticks = [];
  for (let tick = from; tick <= to * 1.001; tick *= 10)
    ticks.push(
      `<path class="tick" d="M${left} ${y(tick)}H${WIDTH - right}"/><text class="scale end" x="${left - 8}" y="${y(tick) + 4}">${short(tick)}</text>`,
    );
  for (const place of places)
    ticks.push(`<text class="scale" x="${x(place)}" y="${height - bottom + 18}">${place}</text>`);
  ticks.push(`<text class="scale" x="${(left + WIDTH - right) / 2}" y="${height - 6}">${escaped(along)}</text>`);
  ticks.push(`<text class="scale end" x="${left - 8}" y="${top - 16}">${escaped(unit)}</text>`);
  const names = apart(lines.map(({ points }) => y(points.at(-1)?.[1] ?? from)));
  const drawn = lines.map(({ label, isOurs, points }, index) => {
    const kind = isOurs ? "ours" : "other";
    const path = points.map(([place, value], at) => `${at === 0 ? "M" : "L"}${x(place)} ${y(value)}`).join("");
    const dots = points.map(([place, value]) => `<circle class="${kind}" cx="${x(place)}" cy="${y(value)}" r="3"/>`);
    const dash = DASHES[index % DASHES.length] === "" ? "" : ` stroke-dasharray="${DASHES[index % DASHES.length]}"`;
    const name = `<text class="name" x="${WIDTH - right + 10}" y="${(names[index] ?? 0) + 4}">${escaped(label)}</text>`;
    return `<path class="line ${kind}" d="${path}"${dash}/>${dots.join("")}${name}`;
  });
  const told = lines
    .map(
      ({ label, points }) =>
        `${label}: ${points.map(([place, value]) => `${short(value)} ${unit} at ${place}`).join(", ")}`,
    )
    .join("; ");
  const body = [...ticks, ...drawn].join("");
  const svg = `<svg class="plot" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(`${title} (${note}). ${told}`)}">${body}</svg>`;
  return `\`\`\`drawing\n${svg}\n\`\`\`\n\n*${note}*`;
}

/** Places on a logarithmic scale of these numbers. @param {readonly number[]} numbers @param {number} from @param {number} to */
function scale(numbers, from, to) {
  const [low, high] = [Math.log(Math.min(...numbers)), Math.log(Math.max(...numbers))];
  const span = high === low ? 1 : high - low;
  return (/** @type {number} */ number) => Number((from + ((Math.log(number) - low) / span) * (to - from)).toFixed(1));
}

/** The places of names, moved down where one would stand on another. @param {readonly number[]} places */
function apart(places) {
  const moved = [...places];
  let last = Number.NEGATIVE_INFINITY;
  for (const index of [...moved.keys()].sort((one, other) => (places[one] ?? 0) - (places[other] ?? 0))) {
    last = Math.max(places[index] ?? 0, last + NAME);
    moved[index] = last;
  }
  return moved;
}

/** A figure with as many digits as mean something. @param {number} value */
export function short(value) {
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
