"""How runs of a procedure are exposed as chat models and MCP tools.

Why so: runs/DESIGN.md, Other doors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ninja import Schema


@dataclass(frozen=True)
class ChatField:
    """One field of the structured output. `words` lists the allowed values if they are known in advance."""

    type: str = "string"  # JSON type
    words: tuple[str, ...] = ()


COMMON_FIELDS: Mapping[str, ChatField] = {
    "outcome": ChatField(),
    "reason": ChatField(),
    "title": ChatField(),
    "id": ChatField(),
    "url": ChatField(),
    "rehearsal": ChatField("boolean"),
}
"""Fields of every procedure. `reason` is the result in words and the whole content of a plain-text answer."""


@dataclass(frozen=True)
class ChatModel:
    """A procedure exposed as the chat model `prefix/NAME`.

    `body` builds the API request from that name and the last message. `said` takes the API's object and the outcome in
    effect, and returns the `reason` and the procedure's own `facts`.
    """

    prefix: str
    names: Callable[[], Sequence[str]]
    body: Callable[[str, str], dict[str, Any]]
    said: Callable[[Mapping[str, Any], str], dict[str, Any]]
    facts: Mapping[str, ChatField] = field(default_factory=dict)

    @property
    def known(self) -> Mapping[str, ChatField]:
        return {**COMMON_FIELDS, **self.facts}


@dataclass(frozen=True)
class McpExposedTool:
    """An MCP tool that calls one endpoint of the API.

    `asked` is the request schema, None for a tool that only lists. `one` names the endpoint that returns one listed
    item in full, by its name or id.
    """

    name: str
    what: str  # description shown to the model
    call: str  # name of the endpoint in the API
    asked: type[Schema] | None = None
    one: str = ""


@dataclass(frozen=True)
class McpExposedResource:
    """A part of one run, other than its record, that MCP clients can read as `magi://NOUNS/ID/part/NUMBER`."""

    part: str
    what: str
    call: str
