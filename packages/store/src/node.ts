/** The data directory on Node. */
export { BUCKETS_DEFAULT, DataDirectory, type OpenSql, openBucket } from "./data-directory.ts";
