/** What a search asks, put together: words, conditions, the rank profile. */
import type { JSX } from "preact";
import { type Filter, type Question, SIGNS } from "./question.ts";
import type { Field, Schema } from "./sd.ts";

interface BuilderProps {
  readonly schema: Schema;
  readonly question: Question;
  readonly onChange: (part: Partial<Question>) => void;
}

/** The form of a question. */
export function Builder({ schema, question, onChange }: BuilderProps): JSX.Element {
  const { filters, near } = question;
  const fields = schema.fields.filter(
    ({ type, isAttribute, isIndex }) => (isAttribute || isIndex) && !type.startsWith("tensor"),
  );
  const set = (index: number, part: Partial<Filter>): void =>
    onChange({ filters: filters.map((filter, at) => (at === index ? { ...filter, ...part } : filter)) });
  return (
    <div class="stack">
      <input
        class="field big"
        data-search=""
        type="search"
        aria-label="Search"
        placeholder="Search this group"
        value={question.text}
        onInput={(event) => onChange({ text: event.currentTarget.value })}
      />
      <div class="bar">
        {near !== undefined && (
          <button type="button" class="pill" onClick={() => onChange({ near: undefined, profile: "default" })}>
            near {near.of} <span aria-hidden="true">×</span>
          </button>
        )}
        {filters.map((filter, index) => (
          <Condition
            key={`${index}`}
            filter={filter}
            fields={fields}
            onChange={(part) => set(index, part)}
            onRemove={() => onChange({ filters: filters.filter((_, at) => at !== index) })}
          />
        ))}
        <button
          type="button"
          class="button"
          disabled={fields.length === 0}
          onClick={() => onChange({ filters: [...filters, { field: fields[0]?.name ?? "", sign: "is", value: "" }] })}
        >
          Add a condition
        </button>
        <Profile schema={schema} question={question} onChange={onChange} />
      </div>
    </div>
  );
}

interface ConditionProps {
  readonly filter: Filter;
  readonly fields: readonly Field[];
  readonly onChange: (part: Partial<Filter>) => void;
  readonly onRemove: () => void;
}

function Condition({ filter, fields, onChange, onRemove }: ConditionProps): JSX.Element {
  return (
    <span class="bar">
      <select
        aria-label="Field"
        value={filter.field}
        onChange={(event) => onChange({ field: event.currentTarget.value })}
      >
        {fields.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select
        aria-label="Comparison"
        value={filter.sign}
        onChange={(event) => onChange({ sign: SIGNS.find((sign) => sign === event.currentTarget.value) ?? "is" })}
      >
        {SIGNS.map((sign) => (
          <option key={sign}>{sign}</option>
        ))}
      </select>
      <input
        aria-label="Value"
        class="field grow"
        value={filter.value}
        onInput={(event) => onChange({ value: event.currentTarget.value })}
      />
      <button type="button" class="plain" aria-label="Remove the condition" onClick={onRemove}>
        ×
      </button>
    </span>
  );
}

function Profile({ schema, question, onChange }: BuilderProps): JSX.Element {
  return (
    <label class="bar">
      <span class="quiet">Profile</span>
      <select
        value={question.profile}
        onChange={(event) => onChange({ profile: event.currentTarget.value, inputs: {} })}
      >
        {schema.profiles.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
