"""How runs of a kind are asked for where others ask a language model, and what is said of them there.

Why so: docs/decisions.md, Other doors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Fact:
    """One thing that can be asked for by its name. `words`: all that it can be, where these are known before."""

    type: str = "string"  # of JSON
    words: tuple[str, ...] = ()


SHARED: Mapping[str, Fact] = {
    "outcome": Fact(),
    "reason": Fact(),
    "title": Fact(),
    "id": Fact(),
    "url": Fact(),
    "rehearsal": Fact("boolean"),
}
"""What every kind says. `reason` is what came of it in words, and all of its answer as a text."""


@dataclass(frozen=True)
class AsModel:
    """`prefix/NAME` is the name of the model. `body`: what the API is sent, of that name and of what was said last.

    `said`: of the API's object and the outcome that holds now, what came of it in words, as `reason`, and the kind's
    own `facts`."""

    prefix: str
    names: Callable[[], Sequence[str]]
    body: Callable[[str, str], dict[str, Any]]
    said: Callable[[Mapping[str, Any], str], dict[str, Any]]
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def known(self) -> Mapping[str, Fact]:
        return {**SHARED, **self.facts}
