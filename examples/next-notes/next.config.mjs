/** Settings of Next.js. */

/** @type {import("next").NextConfig} */
const settings = {
  // The SDK asks `/door/search/`: it is answered there, and not sent to `/door/search`.
  skipTrailingSlashRedirect: true,
};

export default settings;
