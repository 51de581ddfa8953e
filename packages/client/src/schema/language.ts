/** Languages, by their names in English. */

/** A language whose words can be stemmed (by the algorithms of Snowball). */
export type Language =
  | "arabic"
  | "danish"
  | "dutch"
  | "english"
  | "finnish"
  | "french"
  | "german"
  | "greek"
  | "hungarian"
  | "italian"
  | "norwegian"
  | "portuguese"
  | "romanian"
  | "russian"
  | "spanish"
  | "swedish"
  | "tamil"
  | "turkish";

/** In which language forms of a word are equal: in one, in several, or (`none`) in none. */
export type Stemming = Language | readonly Language[] | "none";
