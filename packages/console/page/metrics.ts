/** Reads what `/metrics` tells: lines of Prometheus' text. */

/** A number with its name and labels. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** All samples of a text. */
export function samplesOf(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return [];
    const read = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, key = "", text = ""]) => [key, text] as const,
    );
    return [
      { name, labels: Object.fromEntries(read), value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value) },
    ];
  });
}

/** How long things took. */
export interface Histogram {
  /** Answers by the upper end of the time they took, seconds; not cumulative. */
  readonly bars: readonly { readonly end: number; readonly count: number }[];
  readonly count: number;
  readonly seconds: number;
}

/** The histogram of this name whose label has a value, as `request_seconds` with the kind `search`. */
export function histogramOf(samples: readonly Sample[], histogram: string, label: string, wanted: string): Histogram {
  const of = (part: string): readonly Sample[] =>
    samples.filter(({ name, labels }) => name === `brooklet_${histogram}_${part}` && labels[label] === wanted);
  const ends = of("bucket").map(({ labels, value }) => ({
    end: labels["le"] === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels["le"]),
    sum: value,
  }));
  const bars = ends.map(({ end, sum }, index) => ({ end, count: sum - (ends[index - 1]?.sum ?? 0) }));
  return { bars, count: of("count")[0]?.value ?? 0, seconds: of("sum")[0]?.value ?? 0 };
}

/** The end of the bar that a share of all answers is within, seconds. */
export function quantile({ bars, count }: Histogram, share: number): number | undefined {
  let sum = 0;
  for (const bar of bars) {
    sum += bar.count;
    if (count > 0 && sum >= count * share) return bar.end;
  }
  return undefined;
}
