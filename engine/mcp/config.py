"""MCP servers configured in the environment. They are never rows: with a command in a row, write access to the table
would be a shell.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from django.conf import settings

from engine.llm.providers import clean_storable_text
from engine.text.invisible_chars import visible_text

PREFIX = "mcp"
MAX_MESSAGE_BYTES = 10 * 1024 * 1024  # bytes of one message; beyond, the connection is closed
SHORTEST_SECRET = 8  # a shorter one would match in any text


@dataclass(frozen=True)
class McpServer:
    """A server that is started by a `command` or reached at a `url`. `env` and `headers` contain secrets."""

    name: str
    timeout: float = 60.0
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return f"The MCP server {self.name}"

    def clean(self, text: str) -> str:
        """Return a server's text as it may be stored and shown: without our secrets, and with invisible characters
        made visible.
        """
        return clean_storable_text(visible_text(clean_storable_text(self.without_secrets(text))))

    def without_secrets(self, said: Any) -> Any:
        """Return the text or JSON value with our secrets masked."""
        if isinstance(said, str):
            return reduce(lambda text, secret: text.replace(secret, "[key]"), self._secrets, said)
        if isinstance(said, dict):
            return {self.without_secrets(name): self.without_secrets(one) for name, one in said.items()}
        return [self.without_secrets(one) for one in said] if isinstance(said, list) else said

    @property
    def _secrets(self) -> list[str]:
        """Secrets, longest first; of `Bearer abc` also the part after the last space."""
        whole = [*self.env.values(), *self.headers.values()]
        found = {*whole, *(value.rpartition(" ")[2] for value in whole)}
        return sorted((one for one in found if len(one) >= SHORTEST_SECRET), key=len, reverse=True)


def servers() -> dict[str, McpServer]:
    return {name: McpServer(name, **values) for name, values in settings.MCP_SERVERS.items()}


def find_server() -> bool:
    return bool(settings.MCP_SERVERS)


def tool_name(server: str, tool: str) -> str:
    """Return the name of a server's tool here. No built-in tool has the prefix."""
    return f"{PREFIX}.{server}.{tool}"
