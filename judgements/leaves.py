"""The parts of the live page that change, each rendered by the fragment that the page's first paint includes.

A leaf carries its whole state, so a message may be lost, doubled or late and the page is right after the next.
Blocks, buttons and panels are never replaced: focus, hover and an open panel survive.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.template.loader import get_template

from .board import Board

FOLDER = "judgements/leaves"
OF_JUDGEMENT = (
    *("plate", "verdict_sub", "verdict_meta", "actions", "kept", "matrix", "decided", "replay", "tr_empty"),
    "announcer",
)
OF_AGENT = ("agent_state", "agent_tally", "agent_reason", "agent_dstate", "agent_sum", "agent_rounds")
WITH_TEXT = ("agent_reason", "agent_rounds")


@dataclass(frozen=True)
class Leaf:
    fragment: str
    context: dict[str, Any]

    @property
    def key(self) -> tuple[str, ...]:
        numbers = [str(part) for part in self.context.get("key", ())]
        return (self.fragment, *numbers)

    def html(self, **more: bool) -> str:
        return get_template(f"{FOLDER}/_{self.fragment}.html").render({**self.context, "oob": True, **more})


def leaves(board: Board) -> Iterator[Leaf]:
    """Every leaf, the socket last: when nothing can change any more it goes, and with it the way for any other."""
    for fragment in OF_JUDGEMENT:
        yield Leaf(fragment, {"board": board})
    for seat in board.seats:
        for fragment in OF_AGENT:
            yield Leaf(fragment, {"board": board, "seat": seat, "key": (seat.number,)})
    for cell in (cell for number in board.rounds for cell in number.cells):
        yield Leaf("cell", {"board": board, "cell": cell, "key": (cell.round, cell.number)})
    if board.final:
        yield Leaf("socket", {"board": board})


def snapshot(board: Board) -> str:
    return "\n".join(leaf.html() for leaf in leaves(board))


def growing_leaves(board: Board) -> Iterator[Leaf]:
    """Only the leaves in which a reason is growing right now."""
    for seat in board.seats:
        for entry in (entry for entry in seat.entries if entry.running):
            for fragment in WITH_TEXT:
                yield Leaf(fragment, {"board": board, "seat": seat, "key": (seat.number,)})
            yield Leaf("cell", {"board": board, "cell": entry, "key": (entry.round, entry.number)})


class Sheet:
    """The leaves as they are now, each with the version of the sheet that brought it."""

    def __init__(self) -> None:
        self.version = 0
        self._leaves: dict[tuple[str, ...], tuple[int, str]] = {}
        self._messages: dict[int, str] = {}

    def update(self, current: Iterator[Leaf]) -> None:
        """Take over those of the leaves that differ from what is there. A new version if any does."""
        fresh = {leaf.key: leaf.html() for leaf in current}
        changed = {key: html for key, html in fresh.items() if self._leaves.get(key, (0, ""))[1] != html}
        if changed:
            self.version += 1
            self._leaves |= {key: (self.version, html) for key, html in changed.items()}
            self._messages.clear()

    def newer_than(self, version: int) -> str:
        """The message for a page that has this version: the sheet's own version in a comment, then the leaves."""
        if version not in self._messages:
            leaves = (html for since, html in self._leaves.values() if since > version)
            self._messages[version] = "\n".join([f"<!--{self.version}-->", *leaves])
        return self._messages[version]
