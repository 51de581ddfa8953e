/** `brooklet/mini`: the client for bundles of one file, with documents one by one and searches. It needs nothing but `fetch`. */
export * from "@brooklet/client/mini";
