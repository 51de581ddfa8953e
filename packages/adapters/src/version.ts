/** The version of this house, as servers of tools say it. `npm run release -- --version` writes it. */
export const VERSION = "0.1.0";
