/** What Vespa says of the numbers of its errors. */

/** Vespa's texts of `root.errors[].summary`, by `code`. */
export const ERROR_SUMMARIES: ReadonlyMap<number, string> = new Map([
  [0, "No backends in service. Try later"],
  [1, "Null query"],
  [3, "Illegal query"],
  [4, "Invalid query parameter"],
  [8, "Error in search reply."],
  [10, "Backend communication error"],
  [12, "Timed out"],
  [14, "Client not authenticated."],
  [15, "Forbidden."],
  [16, "Resource not found."],
  [17, "Bad request."],
  [18, "Internal server error."],
  [19, "Insufficient storage"],
]);
