/** What bundles for pages have of `brooklet`, as of schemas that a server and its pages share: the client. What needs Node is not there. */
export * from "@brooklet/client";
export { applicationFiles } from "@brooklet/client/application";
