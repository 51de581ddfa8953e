/** Which bucket a database is. */

/** Which bucket of how many a database is. */
export interface BucketIdentity {
  readonly bucket: number;
  readonly buckets: number;
}
