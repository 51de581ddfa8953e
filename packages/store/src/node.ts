/** The data directory on Node. */
export { BUCKETS_DEFAULT, DataDirectory, MODELS_FOLDER, type OpenSql, openBucket } from "./node/data-directory.ts";
