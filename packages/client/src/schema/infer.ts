/** Types of documents, read off the fields of a schema. */
import type { Field, FieldMap, ShapeOf } from "./field.ts";
import type { TextConditions } from "./field-condition.ts";

type Simplify<Type> = { [Key in keyof Type]: Type[Key] } & {};

type OptionalName<Fields> = {
  [Name in keyof Fields]: ShapeOf<Fields[Name]>["optional"] extends true ? Name : never;
}[keyof Fields];
type RequiredName<Fields> = Exclude<keyof Fields, OptionalName<Fields>>;

/** Fields that a document may be given without. */
type OptionalInputName<Fields> = {
  [Name in keyof Fields]: ShapeOf<Fields[Name]>["optional"] extends true | "input" ? Name : never;
}[keyof Fields];
type RequiredInputName<Fields> = Exclude<keyof Fields, OptionalInputName<Fields>>;

/** A document as it is read. */
export type DocumentOf<Fields extends FieldMap> = Simplify<
  { readonly [Name in RequiredName<Fields>]: ShapeOf<Fields[Name]>["output"] } & {
    readonly [Name in OptionalName<Fields>]?: ShapeOf<Fields[Name]>["output"];
  }
>;

/** A document as it is given. */
export type DocumentInputOf<Fields extends FieldMap> = Simplify<
  { readonly [Name in RequiredInputName<Fields>]: ShapeOf<Fields[Name]>["input"] } & {
    readonly [Name in OptionalInputName<Fields>]?: ShapeOf<Fields[Name]>["input"] | undefined;
  }
>;

/** A name of a field that documents are given, and not one that a server makes. */
type GivenName<Fields> = {
  [Name in keyof Fields]: [ShapeOf<Fields[Name]>["input"]] extends [never] ? never : Name;
}[keyof Fields];

/** A document as it is stored under its id: what is made of it is not part of it. It may be put again as it is. */
export type StoredOf<Fields extends FieldMap> = DocumentOf<Pick<Fields, GivenName<Fields>>>;

/** The fields whose shape has `Member` of this type. */
export type NameWith<Fields extends FieldMap, Member extends string, Type> = {
  [Name in keyof Fields]: ShapeOf<Fields[Name]> extends Readonly<Record<Member, Type>> ? Name : never;
}[keyof Fields] &
  string;

/** A name of a field that is searched by its words: a text, or a list of texts, that documents are given. */
export type TextFieldName<Fields extends FieldMap> = {
  [Name in keyof Fields]: [ShapeOf<Fields[Name]>["input"]] extends [never]
    ? never
    : ShapeOf<Fields[Name]> extends
          | { readonly kind: "text" }
          | { readonly kind: "array"; readonly conditions: TextConditions }
      ? Name
      : never;
}[keyof Fields] &
  string;

/** The fields a hit has without being asked for any. */
export type HitFieldsOf<Fields extends FieldMap> = DocumentOf<Pick<Fields, NameWith<Fields, "inHits", true>>>;

/** What `where` is given. */
export type ConditionsOf<Fields extends FieldMap> = {
  readonly [Name in keyof Fields]: Fields[Name] extends Field ? ShapeOf<Fields[Name]>["conditions"] : never;
};
