/** What a search answers, as the page reads it. */

/** A part of a query, and whether it matched. */
export interface ExplainedQuery {
  readonly operator: string;
  readonly matched: boolean;
  readonly children?: readonly ExplainedQuery[];
  readonly fields?: readonly {
    readonly field: string;
    readonly asks: string;
    readonly matched: boolean;
    readonly count?: number;
  }[];
  readonly distance?: number;
  readonly closeness?: number;
}

/** A formula with its value, and those of its parts. */
export interface ExplainedFormula {
  readonly expression: string;
  readonly value?: number;
  readonly children?: readonly ExplainedFormula[];
}

/** Why a document is a hit, or is none. */
export interface Explanation {
  readonly outcome?: string;
  readonly reasons?: readonly unknown[];
  readonly relevance?: number;
  readonly position?: number;
  readonly query?: ExplainedQuery;
  readonly ranking?: {
    readonly profile: string;
    readonly firstPhase?: ExplainedFormula;
    readonly secondPhase?: ExplainedFormula;
  };
}

/** A document that was found. */
export interface Hit {
  readonly id: string;
  readonly relevance: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface Node {
  readonly id?: string;
  readonly label?: string;
  readonly value?: string;
  readonly relevance?: number;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly children?: readonly Node[];
}

/** What a stage of a search took: seconds, and bytes of stored documents. */
export interface StageTiming {
  readonly time: number;
  readonly bytesread: number;
  readonly bytesscanned: number;
}

/** An answer of the search interface. */
export interface Answer {
  readonly root: Node & { readonly errors?: readonly { readonly message?: string; readonly summary?: string }[] };
  readonly timing?: {
    readonly querytime: number;
    readonly searchtime: number;
    readonly summaryfetchtime?: number;
    readonly bytesread?: number;
    readonly bytesscanned?: number;
    /** In the order of the stages. */
    readonly stages?: Readonly<Record<string, StageTiming>>;
  };
  readonly explain?: Explanation;
  readonly trace?: TraceNode;
}

/** What a server tells of a search on its way: a message, or several in their order. */
export interface TraceNode {
  /** Milliseconds from the beginning. */
  readonly timestamp?: number;
  readonly message?: unknown;
  readonly children?: readonly TraceNode[];
}

/** The counts of a field's values. */
export interface Facet {
  readonly field: string;
  readonly values: readonly { readonly value: string; readonly count: number }[];
}

/** The documents of an answer. */
export function hitsOf({ root }: Answer): readonly Hit[] {
  return (root.children ?? []).flatMap(({ id = "", relevance = 0, fields }) =>
    fields?.["documentid"] === undefined ? [] : [{ id: String(fields["documentid"] ?? id), relevance, fields }],
  );
}

/** How many documents match. */
export function totalOf({ root }: Answer): number {
  return Number(root.fields?.["totalCount"] ?? 0);
}

/** The counts of an answer, by the field. */
export function facetsOf({ root }: Answer): readonly Facet[] {
  const lists: Facet[] = [];
  const visit = (node: Node): void => {
    if (node.id?.startsWith("grouplist:") === true) {
      const values = (node.children ?? []).map(({ value = "", fields }) => ({
        value,
        count: Number(fields?.["count()"] ?? 0),
      }));
      lists.push({ field: node.label ?? "", values });
    } else for (const child of node.children ?? []) if (child.fields?.["documentid"] === undefined) visit(child);
  };
  visit(root);
  return lists;
}

/** The features that a profile gives with a hit. */
export function featuresOf({ fields }: Hit): Readonly<Record<string, number>> {
  const features = (fields["matchfeatures"] ?? {}) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(features).flatMap(([name, value]) => (typeof value === "number" ? [[name, value]] : [])),
  );
}

/** Members of a hit that are of no document. */
const OF_ANSWER = new Set(["documentid", "sddocname", "matchfeatures", "rankfeatures", "summaryfeatures"]);

/** The fields of the document that a hit shows. */
export function documentFields({ fields }: Hit): readonly (readonly [string, unknown])[] {
  return Object.entries(fields).filter(([name]) => !OF_ANSWER.has(name));
}

/** The parts of a document's id: namespace, type, group and what is its own. */
export function partsOfId(id: string): {
  readonly namespace: string;
  readonly type: string;
  readonly group: string;
  readonly own: string;
} {
  const [, namespace = "", type = "", group = "", own = ""] = /^id:([^:]*):([^:]*):g=([^:]*):(.*)$/s.exec(id) ?? [];
  return { namespace, type, group, own };
}

/** The path of a document. */
export function pathOfId(id: string): string {
  const { namespace, type, group, own } = partsOfId(id);
  return `/document/v1/${[namespace, type, "group", group, own].map(encodeURIComponent).join("/")}`;
}
