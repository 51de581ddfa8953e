/** The ranking, to be tried: weights of the features of hits re-rank them in the page, inputs of the profile ask the server again. */
import type { JSX } from "preact";
import { featuresOf, type Hit } from "./answer.ts";
import { Code, figure } from "./parts.tsx";
import type { Question } from "./question.ts";
import type { Schema } from "./sd.ts";

/** Weights of features; none: hits stand in the server's order. */
export type Weights = Readonly<Record<string, number>>;

const WEIGHT_MAX = 4;
const STEP = 0.05;

/** Hits in the order of the weighted sum of their features. Those with the same sum stay as they stood. */
export function reranked(hits: readonly Hit[], weights: Weights): readonly Hit[] {
  if (Object.keys(weights).length === 0) return hits;
  return hits
    .map((hit) => ({ ...hit, relevance: sumOf(featuresOf(hit), weights) }))
    .sort((left, right) => right.relevance - left.relevance);
}

function sumOf(features: Readonly<Record<string, number>>, weights: Weights): number {
  return Object.entries(features).reduce((sum, [name, value]) => sum + value * (weights[name] ?? 1), 0);
}

interface RankingProps {
  readonly schema: Schema;
  readonly question: Question;
  readonly hits: readonly Hit[];
  readonly weights: Weights;
  readonly onWeights: (weights: Weights) => void;
  readonly onInputs: (inputs: Readonly<Record<string, number>>) => void;
}

/** Sliders for the weights of features and the inputs of the profile. */
export function Ranking({ schema, question, hits, weights, onWeights, onInputs }: RankingProps): JSX.Element | null {
  const names = [...new Set(hits.flatMap((hit) => Object.keys(featuresOf(hit))))];
  const profile = schema.profiles.find(({ name }) => name === question.profile);
  const inputs = profile?.inputs.filter(({ type }) => !type.startsWith("tensor")) ?? [];
  if (names.length === 0 && inputs.length === 0) return null;
  const isTried = Object.keys(weights).length > 0;
  const formula = names.map((name) => `${weights[name] ?? 1} * ${name}`).join(" + ");
  return (
    <section class="note stack" aria-label="Ranking">
      <div class="bar">
        <h2 class="grow">Ranking</h2>
        {isTried && (
          <button type="button" class="button" onClick={() => onWeights({})}>
            Back to the profile's order
          </button>
        )}
      </div>
      {inputs.map(({ name, value }) => (
        <Slider
          key={name}
          name={`query(${name})`}
          value={question.inputs[name] ?? value}
          onChange={(now) => onInputs({ ...question.inputs, [name]: now })}
        />
      ))}
      {names.map((name) => (
        <Slider
          key={name}
          name={name}
          value={weights[name] ?? 1}
          onChange={(now) => onWeights({ ...weights, [name]: now })}
        />
      ))}
      {isTried && (
        <>
          <p class="quiet">These hits by a weighted sum of their features, in this page only. In a profile it is</p>
          <Code label="rank profile" text={`first-phase {\n  expression: ${formula}\n}`} />
        </>
      )}
    </section>
  );
}

interface SliderProps {
  readonly name: string;
  readonly value: number;
  readonly onChange: (value: number) => void;
}

function Slider({ name, value, onChange }: SliderProps): JSX.Element {
  return (
    <label class="slider">
      <code>{name}</code>
      <input
        type="range"
        min={0}
        max={WEIGHT_MAX}
        step={STEP}
        value={value}
        onInput={(event) => onChange(Number(event.currentTarget.value))}
      />
      <span class="count">{figure(value)}</span>
    </label>
  );
}
