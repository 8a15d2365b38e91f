"""What to put into the settings of programs that use MCP servers."""

from __future__ import annotations

import json
from collections.abc import Sequence

FILES = {
    "claude-desktop": "claude_desktop_config.json",
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "lm-studio": "mcp.json",
    "vscode": ".vscode/mcp.json",
    "zed": "settings.json",
    "codex": ".codex/config.toml",
}
"""The hosts, and the file of each that the snippet belongs into."""


def snippet(host: str, command: str, arguments: Sequence[str]) -> str:
    """The settings that make ``host`` start the server, as JSON or TOML."""
    start: dict[str, object] = {"command": command, "args": list(arguments)}
    match host:
        case "codex":
            lines = (f"{name} = {json.dumps(value)}" for name, value in start.items())
            return "\n".join(["[mcp_servers.localmem]", *lines])
        case "vscode":
            settings: dict[str, object] = {"servers": {"localmem": {"type": "stdio", **start}}}
        case "zed":
            settings = {"context_servers": {"localmem": start}}
        case _:
            settings = {"mcpServers": {"localmem": start}}
    return json.dumps(settings, indent=2)
