/** What was found, as elements of the page. */
import type { ExplainedExpression, ExplainedOperator, Explanation } from "brooklet/browser";
import type { Found } from "./database.ts";

const DIGITS = 4;
const VALUE_CHARACTERS = 160;

/** An element with what is in it. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (string | Node)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...children);
  return element;
}

/** Hits with why they are hits, facets, and what a server would be asked. */
export function pictureOf({ result, explanations, schema, yql }: Found): readonly Node[] {
  const hits = result.hits.map((hit, index) => {
    const fields = Object.entries(hit.fields).map(([name, value]) =>
      make("div", {}, make("dt", {}, name), valueShown(value)),
    );
    const explanation = explanations[index];
    const features = Object.entries(hit.matchFeatures ?? {}).map(([name, value]) => `${name} ${shortText(value)}`);
    return make(
      "li",
      {},
      make("h2", {}, hit.id, " ", make("span", {}, shortText(hit.relevance))),
      make("dl", {}, ...fields),
      ...(features.length === 0 ? [] : [make("p", { class: "features" }, features.join(" · "))]),
      ...(explanation === undefined ? [] : [why(explanation)]),
    );
  });
  const facets = Object.entries(result.facets ?? {}).map(([name, values]) =>
    make(
      "div",
      { class: "facet" },
      make("h2", {}, name),
      make("ul", {}, ...values.map((value) => make("li", {}, facetText(value)))),
    ),
  );
  const note = result.note === undefined ? [] : [make("p", { class: "note" }, result.note.message)];
  const asked = make(
    "details",
    {},
    make("summary", {}, "What a server is given"),
    make("pre", {}, `${yql}\n\n${schema}`),
  );
  return [
    ...note,
    ...(facets.length === 0 ? [] : [make("div", { class: "facets" }, ...facets)]),
    make("ol", { class: "hits" }, ...hits),
    asked,
  ];
}

function facetText(value: object): string {
  const { value: own, from, to, count, ...others } = value as Readonly<Record<string, unknown>>;
  const named = own === undefined ? `${from} … ${to}` : textOf(own);
  return [`${named}: ${count}`, ...Object.entries(others).map(([name, it]) => `${name} ${textOf(it)}`)].join(", ");
}

/** A field's value. Texts that are shown bold or as teasers are HTML of which everything but marks is escaped. */
function valueShown(value: unknown): HTMLElement {
  const place = make("dd");
  if (typeof value !== "string" || !value.includes("<mark>")) {
    place.textContent = textOf(value);
    return place;
  }
  const parsed = new DOMParser().parseFromString(value, "text/html").body;
  for (const node of parsed.childNodes)
    place.append(node.nodeName === "MARK" ? make("mark", {}, node.textContent ?? "") : (node.textContent ?? ""));
  return place;
}

function textOf(value: unknown): string {
  const text =
    value instanceof Date
      ? value.toISOString().replace("T00:00:00.000Z", "")
      : typeof value === "string"
        ? value
        : JSON.stringify(value);
  return text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS)}…` : text;
}

function shortText(value: unknown): string {
  return typeof value === "number" ? String(Number(value.toPrecision(DIGITS))) : JSON.stringify(value);
}

function why({ query, ranking }: Explanation): HTMLElement {
  return make(
    "details",
    {},
    make("summary", {}, "Why this hit"),
    make("ul", {}, operator(query)),
    make("p", {}, `Ranked by the profile ${ranking.profile}:`),
    make(
      "ul",
      {},
      formula(ranking.firstPhase),
      ...(ranking.secondPhase === undefined ? [] : [formula(ranking.secondPhase)]),
    ),
  );
}

function operator({ operator: name, matched, fields = [], children = [], closeness }: ExplainedOperator): HTMLElement {
  const own = fields.map(({ field, asks, matched: found, count }) =>
    make("li", {}, `${found ? "✓" : "✗"} ${asks} in ${field}${found && count > 1 ? `, ${count} times` : ""}`),
  );
  const near = closeness === undefined ? "" : `, closeness ${shortText(closeness)}`;
  const below = [...own, ...children.map(operator)];
  return make(
    "li",
    {},
    `${matched ? "✓" : "✗"} ${name}${near}`,
    ...(below.length === 0 ? [] : [make("ul", {}, ...below)]),
  );
}

function formula({ expression, value, children = [] }: ExplainedExpression): HTMLElement {
  const text = value === undefined ? expression : `${expression} = ${shortText(value)}`;
  return make("li", {}, text, ...(children.length === 0 ? [] : [make("ul", {}, ...children.map(formula))]));
}
