"""How runs of a kind are asked for where others ask a language model, and what is said of them there.

Why so: docs/decisions.md, Other doors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ninja import Schema


@dataclass(frozen=True)
class ChatField:
    """One thing that can be asked for by its name. `words`: all that it can be, where these are known before."""

    type: str = "string"  # of JSON
    words: tuple[str, ...] = ()


COMMON_FIELDS: Mapping[str, ChatField] = {
    "outcome": ChatField(),
    "reason": ChatField(),
    "title": ChatField(),
    "id": ChatField(),
    "url": ChatField(),
    "rehearsal": ChatField("boolean"),
}
"""What every kind says. `reason` is what came of it in words, and all of its answer as a text."""


@dataclass(frozen=True)
class ChatModel:
    """`prefix/NAME` is the name of the model. `body`: what the API is sent, of that name and of what was said last.

    `said`: of the API's object and the outcome that holds now, what came of it in words, as `reason`, and the kind's
    own `facts`."""

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
    """A tool, by which a call of the API is made. `asked`: what the API is sent; None where it only lists. `one`: the
    call that has all of one of those that are listed, by its name or id."""

    name: str
    what: str  # what a model is told of it
    call: str  # the call's name in the API
    asked: type[Schema] | None = None
    one: str = ""


@dataclass(frozen=True)
class McpExposedResource:
    """What can be read of one run beside its record, by a number of its own: `magi://NOUNS/ID/part/NUMBER`."""

    part: str
    what: str
    call: str
