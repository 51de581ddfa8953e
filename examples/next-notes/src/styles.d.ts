/** Styles are taken by Next.js. */
declare module "*.css";
