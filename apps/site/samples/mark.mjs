/** What stands before the number of a sample in what a page prints. */
export const MARK = "\u0002sample ";
