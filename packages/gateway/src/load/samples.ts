/** Lines of the text form of Prometheus. */
import { BOUNDS, type HistogramFigures } from "@brooklet/wire";

/** Names and values that tell samples of one metric apart. */
export type Labels = Readonly<Record<string, string | number>>;

/** A number with its labels. */
export type Sample = readonly [labels: Labels, value: number];

/** Tells a metric without the beginning of its name; one without samples is not told. */
export type Teller = (name: string, help: string, type: "counter" | "gauge", samples: readonly Sample[]) => void;

/** What tells metrics as lines. */
export function tellerOf(lines: string[]): Teller {
  return (name, help, type, samples) => {
    if (samples.length > 0) lines.push(`# HELP brooklet_${name} ${help}`, `# TYPE brooklet_${name} ${type}`);
    for (const [labels, value] of samples) lines.push(`brooklet_${name}${labelsText(labels)} ${value}`);
  };
}

/** The lines of a histogram; none where nothing is counted apart. */
export function histograms(
  own: string,
  help: string,
  all: readonly (readonly [labels: Labels, figures: HistogramFigures])[],
): readonly string[] {
  if (all.length === 0) return [];
  const name = `brooklet_${own}`;
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
  for (const [of, { upTo, count, sum }] of all) {
    for (const [step, below] of upTo.entries())
      lines.push(`${name}_bucket${labelsText({ ...of, le: BOUNDS[step] ?? "" })} ${below}`);
    lines.push(`${name}_bucket${labelsText({ ...of, le: "+Inf" })} ${count}`);
    lines.push(`${name}_sum${labelsText(of)} ${sum}`, `${name}_count${labelsText(of)} ${count}`);
  }
  return lines;
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** Models have the names that applications and operators give them. */
function escapeLabel(text: string): string {
  return text.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n");
}
