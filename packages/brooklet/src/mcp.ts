/** `brooklet/mcp`: a group as an MCP server. `@modelcontextprotocol/sdk` is an optional peer. */
export * from "@brooklet/adapters/mcp";
export * from "@brooklet/adapters/mcp-http";
