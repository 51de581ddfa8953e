/** Starts the gateway over an object store: an S3 service of this machine, which stays the same while gateways are killed. */

import { startS3Service } from "../s3-service.mjs";
import { startServing } from "./gateway.mjs";

/** @type {Promise<import("../s3-service.mjs").S3Service> | undefined} */
let service;

/**
 * @param {string} data where the service stores
 * @returns {Promise<import("./gateway.mjs").Gateway>}
 */
export async function startOverStore(data) {
  service ??= startS3Service(data);
  const { endpoint, bucket, accessKeyId, secretAccessKey } = await service;
  return await startServing(["--store", `s3://${bucket}/clients`], {
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  });
}

/** Ends the service, if it was started. */
export async function endStore() {
  (await service)?.end();
}
