/** The pages of the site in the order one reads them: sections of `[page, title]`. A page that is not here fails the build. */

/** @typedef {readonly [page: string, title: string]} Entry */

/** @type {readonly { readonly title: string, readonly pages: readonly Entry[] }[]} */
export const CONTENTS = [
  {
    title: "Begin",
    pages: [
      ["getting-started", "Getting started"],
      ["concepts", "Concepts"],
      ["install", "Installing and bundling"],
      ["playground", "Playground"],
      ["faq", "Questions"],
    ],
  },
  {
    title: "Documents",
    pages: [
      ["schemas", "Schemas and fields"],
      ["documents", "Documents of a group"],
      ["updates", "Updates and conditions"],
      ["visiting", "Visiting and exporting"],
      ["expiry", "Documents that expire"],
      ["migration", "Migration"],
      ["feed", "Feeding"],
    ],
  },
  {
    title: "Search",
    pages: [
      ["queries", "Queries"],
      ["conditions", "Conditions: where"],
      ["ranking", "Ranking"],
      ["hybrid", "Words and vectors"],
      ["facets", "Facets and grouping"],
      ["answers", "Answers, and what they can tell"],
      ["models", "Embedding models"],
      ["asking", "Passages and answers (RAG)"],
      ["evaluation", "Tests and evaluation"],
    ],
  },
  {
    title: "Recipes",
    pages: [
      ["cookbook", "Cookbook"],
      ["adapters", "In other libraries"],
      ["coming-from", "Coming from another store"],
    ],
  },
  {
    title: "Running it",
    pages: [
      ["deployment", "Deployment"],
      ["operations", "Operations"],
      ["backup", "Backups, checks, repairs"],
      ["security", "Security"],
      ["object-store", "Several servers"],
      ["edge", "At the edge"],
      ["durable-object", "In your Durable Object"],
      ["browser", "In a browser"],
      ["plan", "What it needs and costs"],
    ],
  },
  {
    title: "Reference",
    pages: [
      ["commands", "Commands"],
      ["limits", "Limits"],
      ["errors", "Errors"],
      ["guarantees", "Guarantees"],
      ["tradeoffs", "Trade-offs"],
      ["benchmarks", "Benchmarks"],
      ["compatibility", "Compatibility with Vespa"],
      ["changelog", "Changelog"],
      ["performance", "Where time goes"],
      ["abi", "The border of the core"],
      ["segment-format", "Segment format"],
    ],
  },
];

/** Pages that are documents elsewhere in the repository. @type {Readonly<Record<string, string>>} */
export const ELSEWHERE = { compatibility: "COMPATIBILITY.md", changelog: "CHANGELOG.md" };
