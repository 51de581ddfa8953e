/** What schemas, documents and queries are written with, and what is read of answers: the same for every client. */
export type { MatchBy, SearchNote, TextQuery } from "@brooklet/answers";
export { allOf, anyOf, Condition, everything, type Literal, not, nothing } from "./condition.ts";
export { type DocumentSet, givenId, shownId } from "./document-id.ts";
export {
  BrookletError,
  type BrookletErrorCode,
  type BrookletErrorOptions,
  invalidArgument,
  refuseUnknown,
} from "./error.ts";
export type { Fetch, FetchAnswer, RetryOptions } from "./exchange.ts";
export {
  type DateInterval,
  dateHistogram,
  type Facet,
  type FacetAggregate,
  type FacetAggregates,
  type FacetAnswers,
  type FacetOptions,
  type FacetsOf,
  type FacetValue,
  facet,
  type GroupableName,
  type NumericName,
  ranges,
} from "./grouping/facet.ts";
export {
  type Grouping,
  type GroupingAnswer,
  type GroupingDefinition,
  type GroupingFieldsOf,
  type GroupingLanguage,
  type GroupList,
  type GroupListMap,
  type GroupListOptions,
  type GroupListsOf,
  type GroupOf,
  type GroupValueOf,
  grouping,
  type OutputMap,
  type OutputsOf,
} from "./grouping/grouping.ts";
export {
  Aggregation,
  type Bucket,
  type BucketEnd,
  type CollationStrength,
  type GroupingArgument,
  GroupingExpression,
  GroupingField,
  GroupingFilter,
  type GroupingRange,
  type Quantile,
} from "./grouping/grouping-expression.ts";
export type {
  DocumentExplanation,
  ExplainedExpression,
  ExplainedField,
  ExplainedOperator,
  Explanation,
  Occurrence,
} from "./hit/explanation.ts";
export type { ChosenFeatures, FeaturesOf, HitFeaturesOf } from "./hit/features.ts";
export type { FoundDocument } from "./hit/found-document.ts";
export type { HighlightsOf, HitChoice, HitMembers } from "./hit/hit-members.ts";
export type { HighlightForm, TextRange } from "./hit/marks.ts";
export type { Hit, SearchResult } from "./hit/result.ts";
export type { SearchTiming, StageTiming } from "./hit/timing.ts";
export {
  alternatives,
  equiv,
  type InputOptions,
  labeled,
  nonEmpty,
  phrase,
  rank,
  type Term,
  type TermOptions,
  userInput,
  userQuery,
  type WordOptions,
  weakAnd,
  word,
} from "./operator.ts";
export type { ElementChange, PartChange, PathChanges } from "./path-change.ts";
export { type Query, query, yqlQuery } from "./query.ts";
export type {
  Consistency,
  CountOptions,
  CreateOptions,
  GetManyOptions,
  GetOptions,
  ReadOptions,
  RequestOptions,
  UpdateOptions,
  WriteOptions,
} from "./request-options.ts";
export type { AnalysisOptions } from "./schema/analysis.ts";
export type { Check, CheckError, Checked, CheckIssue } from "./schema/check.ts";
export { type Chunking, type ChunksField, chunks } from "./schema/chunk.ts";
export type { Codec, Position } from "./schema/codec.ts";
export {
  type ArrayField,
  array,
  type MapField,
  map,
  type StructField,
  type StructOptions,
  struct,
  type WeightedSetField,
  weightedSet,
} from "./schema/collection.ts";
export type { CellType, DataType, Dimensions, DistanceMetric, PrimitiveName, StructType } from "./schema/data-type.ts";
export type { Expiry, Lifetime, TimeSpan } from "./schema/expiry.ts";
export {
  bool,
  byte,
  type Defaulted,
  double,
  type Field,
  type FieldDefinition,
  type FieldMap,
  type FieldShape,
  float,
  int,
  type KeyField,
  type ListedField,
  long,
  type Optional,
  type Plain,
  position,
  raw,
  type ShapeOf,
  string,
  type TextOptions,
  type TimestampOptions,
  text,
  timestamp,
  type WeighedField,
} from "./schema/field.ts";
export type {
  BoolConditions,
  Distance,
  ElementConditions,
  FuzzyOptions,
  IndexConditions,
  IntegerConditions,
  MapConditions,
  NearestOptions,
  NearOptions,
  OrderConditions,
  PositionConditions,
  RangeOptions,
  StringConditions,
  TextConditions,
  ValueConditions,
  VectorConditions,
  WandOptions,
  WeightedConditions,
} from "./schema/field-condition.ts";
export type {
  ConditionsOf,
  DocumentInputOf,
  DocumentOf,
  HitFieldsOf,
  StoredOf,
  TextFieldName,
} from "./schema/infer.ts";
export type { Language, Stemming } from "./schema/language.ts";
export type { Expression, OnnxModel, Profile } from "./schema/profile.ts";
export type {
  CheckedProfiles,
  FeatureValue,
  HitFeatures,
  InputOf,
  InputsOf,
  InputValue,
  OpenFeatures,
  ProfileMap,
} from "./schema/ranking.ts";
export {
  type AnySchema,
  type BuiltInProfile,
  type Infer,
  type InferInput,
  type Schema,
  type SchemaOptions,
  schema,
} from "./schema/schema.ts";
export { madeVector } from "./schema/searched-schema.ts";
export type { Numbers, TensorBlock, TensorCell, TensorValue } from "./schema/tensor.ts";
export {
  type BigintConditions,
  bigint,
  type ChoiceConditions,
  type JsonField,
  type JsonOptions,
  json,
  oneOf,
  type Validator,
} from "./schema/value.ts";
export {
  type ChunkEmbeddingField,
  type ChunkEmbeddingOptions,
  type EmbeddingField,
  type EmbeddingOptions,
  embedding,
  tensor,
  type VectorField,
  type VectorOptions,
  vector,
} from "./schema/vector.ts";
export type {
  CollapseBy,
  CommonSearchOptions,
  CursorMembers,
  CursorOptions,
  GroupedAnswer,
  NearQuery,
  Order,
  Orders,
  PageOptions,
  SearchedMembers,
  SearchOptions,
  SelectedFields,
  SomeFields,
  SortOrder,
  VectorName,
  YqlMembers,
  YqlSearchOptions,
} from "./search-options.ts";
export type {
  AnySelections,
  ListSelections,
  MapSelections,
  OrderSelections,
  SelectionsOf,
  SelectionsOfValue,
  TextSelections,
  ValueSelections,
  WriteCondition,
} from "./selection.ts";
export { Selection, selectionLiteral } from "./selection-clause.ts";
export type { Assign, Calculate, ChangeOf, UpdateOf } from "./update.ts";
