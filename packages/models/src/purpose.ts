/** Whether a text is stored or searched with: models may be told apart by an instruction before the text. */
export type Purpose = "document" | "query";
