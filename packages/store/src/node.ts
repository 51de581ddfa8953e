/** The data directory on Node. */
export { BUCKETS_DEFAULT, DataDirectory, MODELS_FOLDER, type OpenSql, openBucket } from "./data-directory.ts";
