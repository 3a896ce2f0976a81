"""Model Context Protocol (MCP) server: a memory for editors, terminals and other clients."""
