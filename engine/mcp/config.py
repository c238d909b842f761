"""Which servers the environment names. Never a row: a row with a command would be a shell for whoever writes rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from django.conf import settings

from engine.llm.providers import clean_storable_text
from engine.text.invisible_chars import visible_text

PREFIX = "mcp"
MAX_MESSAGE_BYTES = 10 * 1024 * 1024  # bytes of one message; beyond, the connection is closed
SHORTEST_SECRET = 8  # a shorter one would be found in any text


@dataclass(frozen=True)
class McpServer:
    """Started by a `command` or reached at a `url`. `env` and `headers` hold secrets."""

    name: str
    timeout: float = 60.0
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return f"The MCP server {self.name}"

    def clean(self, text: str) -> str:
        """A text of it as it may be kept and shown: without our secrets, and with all that hides made visible."""
        return clean_storable_text(visible_text(clean_storable_text(self.without_secrets(text))))

    def without_secrets(self, said: Any) -> Any:
        """The same text, or the same JSON."""
        if isinstance(said, str):
            return reduce(lambda text, secret: text.replace(secret, "[key]"), self._secrets, said)
        if isinstance(said, dict):
            return {self.without_secrets(name): self.without_secrets(one) for name, one in said.items()}
        return [self.without_secrets(one) for one in said] if isinstance(said, list) else said

    @property
    def _secrets(self) -> list[str]:
        """Longest first, and of `Bearer abc` also what stands behind the word."""
        whole = [*self.env.values(), *self.headers.values()]
        found = {*whole, *(value.rpartition(" ")[2] for value in whole)}
        return sorted((one for one in found if len(one) >= SHORTEST_SECRET), key=len, reverse=True)


def servers() -> dict[str, McpServer]:
    return {name: McpServer(name, **values) for name, values in settings.MCP_SERVERS.items()}


def find_server() -> bool:
    return bool(settings.MCP_SERVERS)


def tool_name(server: str, tool: str) -> str:
    """What a tool of a server is called here: nothing of ours is called so."""
    return f"{PREFIX}.{server}.{tool}"
