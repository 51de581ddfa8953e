/** How text of a request may appear in an error: as everywhere. */
export { echo } from "@brooklet/wire";
