"""Memory for other programs: an MCP server on stdio, and an endpoint that OpenAI clients can talk to."""
