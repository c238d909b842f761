"""What a kind offers to models of others, through the server of the Model Context Protocol.

Why so: docs/decisions.md, Other doors.
"""

from dataclasses import dataclass

from ninja import Schema


@dataclass(frozen=True)
class Offer:
    """A tool, by which a call of the API is made. `asked`: what the API is sent; None where it only lists. `one`: the
    call that has all of one of those that are listed, by its name or id."""

    name: str
    what: str  # what a model is told of it
    call: str  # the call's name in the API
    asked: type[Schema] | None = None
    one: str = ""


@dataclass(frozen=True)
class Held:
    """What can be read of one run beside its record, by a number of its own: `magi://NOUNS/ID/part/NUMBER`."""

    part: str
    what: str
    call: str
