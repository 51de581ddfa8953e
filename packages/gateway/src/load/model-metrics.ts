/** The metrics of models, by model and purpose: what `/brooklet/v1/models` tells, as numbers. */
import type { ModelCalls, ModelState } from "@brooklet/partition";
import { histograms, type Labels, type Sample, type Teller } from "./samples.ts";

/** What each model has of itself, and whether it only grows. */
const OF_MODELS: readonly (readonly [
  name: string,
  help: string,
  isCounter: boolean,
  of: (it: ModelState) => number | undefined,
])[] = [
  [
    "ready",
    "Whether the model can be asked without being loaded first",
    false,
    ({ state }) => Number(state === "ready"),
  ],
  ["failed", "Whether it cannot be loaded", false, ({ state }) => Number(state === "failed")],
  ["dimensions", "Values of its vectors", false, ({ dimensions }) => dimensions],
  ["sessions", "Sessions of the runtime that hold it", false, ({ sessions }) => sessions],
  ["sessions_given_up", "Sessions whose run does not return", false, ({ sessionsGivenUp }) => sessionsGivenUp],
  ["batches_total", "Runs of the runtime, or requests of an endpoint", true, ({ batches }) => batches],
  ["tokens_total", "Tokens that it read", true, ({ tokens }) => tokens],
];

/** What each purpose has of a model. */
const OF_CALLS: readonly (readonly [name: string, help: string, isCounter: boolean, of: (it: ModelCalls) => number])[] =
  [
    ["running", "Texts, hits, passages, values or answers that the model has", false, ({ running }) => running],
    ["waiting", "Texts, hits, passages, values or answers that wait for it", false, ({ waiting }) => waiting],
    [
      "items_total",
      "Texts embedded, hits and passages scored, values and answers generated",
      true,
      ({ items }) => items,
    ],
  ];

/** Tells the figures of models. */
export function tellModels(models: readonly ModelState[], tell: Teller, lines: string[]): void {
  const labelsOf = ({ id: model, kind }: ModelState): Labels => ({ model, kind });
  for (const [name, help, isCounter, of] of OF_MODELS) {
    const samples = models.flatMap((model): readonly Sample[] => {
      const value = of(model);
      return value === undefined ? [] : [[labelsOf(model), value]];
    });
    tell(`model_${name}`, help, isCounter ? "counter" : "gauge", samples);
  }
  const calls = models.flatMap((model) =>
    model.calls.map((call) => ({ call, labels: { ...labelsOf(model), purpose: call.purpose } })),
  );
  for (const [name, help, isCounter, of] of OF_CALLS)
    tell(
      `model_${name}`,
      help,
      isCounter ? "counter" : "gauge",
      calls.map(({ call, labels }) => [labels, of(call)]),
    );
  const failures = calls.flatMap(({ call, labels }) =>
    Object.entries(call.failures).map(([code, count]): Sample => [{ ...labels, code }, count]),
  );
  tell("model_failures_total", "Calls that failed, by error code", "counter", failures);
  const seconds = calls.map(({ call, labels }) => [labels, call.seconds] as const);
  lines.push(...histograms("model_seconds", "From a call of a model to its answer", seconds));
}
