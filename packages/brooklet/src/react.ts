/** `brooklet/react`: searches as hooks. `react` is an optional peer; a group of `connect` needs nothing but `fetch`. */
export { type SearchState, type UseSearchOptions, useSearch } from "@brooklet/adapters/react";
