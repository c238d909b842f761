"""The parts of a live page that change, each rendered by the template that the page's first paint includes.

A fragment carries its whole state, so a message may be lost, doubled or late and the page is right after the next.
Blocks, buttons and panels are never replaced: focus, hover and an open panel survive.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from django.template.loader import get_template

COMMON_FRAGMENTS = (
    "plate",
    "stamp",
    "wait",
    "kept",
    "announcer",
    "socket",
    "made",
    "asking",
)  # drawn alike for every run


@dataclass(frozen=True)
class PageFragment:
    """`folder` and `name` are those of its template, `key` tells apart what shares it. `steps`: whose growing text it
    shows now. `settled`: it never changes again but by a redaction, and is rendered once. `replayed`: whether a look
    back shows it, which has no buttons and says by itself what happens."""

    folder: str
    name: str
    context: dict[str, Any]
    key: tuple[int, ...] = ()
    steps: frozenset[str] = frozenset()
    settled: bool = False
    replayed: bool = True

    @property
    def place(self) -> str:
        return "-".join([self.name, *map(str, self.key)])

    def html(self, **more: bool) -> str:
        context = {**self.context, "key": self.key, "oob": True, **more}
        return get_template(f"{self.folder}/_{self.name}.html").render(context)


def fragment_of(nouns: str, name: str, *args: Any, **more: Any) -> PageFragment:
    """One of a kind's own, or one that all kinds share."""
    return PageFragment("runs/fragments" if name in COMMON_FRAGMENTS else f"{nouns}/fragments", name, *args, **more)


def single_fragment(display: Any, *fields: str) -> dict[str, Any]:
    """So much of it as a template shows, and no more: what shows the same as before is not drawn again."""
    return {"display": SimpleNamespace(**{name: getattr(display, name) for name in fields})}


def render_fragments(fragments: Iterable[PageFragment]) -> str:
    return "\n".join(fragment.html() for fragment in fragments)


@dataclass(frozen=True)
class FragmentOnPage:
    """A fragment on the page, and what it was drawn from. `settled`: the run's revision at which it was found to change
    no more."""

    version: int
    html: str
    settled: int | None = None
    context: dict[str, Any] | None = None


class LivePageState:
    """The fragments as they are now, each with the version of the page that brought it."""

    def __init__(self) -> None:
        self.version = 0
        self._shown: dict[str, FragmentOnPage] = {}
        self._messages: dict[tuple[int, int], str] = {}

    def update(self, current: Iterable[PageFragment], revision: int) -> None:
        """Take over those of the fragments that differ from what is there. A new version if any does.

        What is settled is not rendered again, nor what shows the same as before. `revision`: of which one of the run
        they are at the latest.
        """
        changed: dict[str, FragmentOnPage] = {}
        for fragment in current:
            before = self._shown.get(fragment.place)
            if before and before.settled is not None:
                continue
            same = before is not None and before.context == fragment.context
            html, settled = before.html if before and same else fragment.html(), revision if fragment.settled else None
            now = FragmentOnPage(self.version + 1, html, settled, fragment.context)
            if before is None or before.html != html:
                changed[fragment.place] = now
            else:
                self._shown[fragment.place] = replace(now, version=before.version)
        if changed:
            self.version += 1
            self._shown |= changed
            self._messages.clear()

    def unsettle(self) -> None:
        """Everything may have changed, as by a redaction."""
        self._shown = {place: FragmentOnPage(one.version, one.html) for place, one in self._shown.items()}
        self._messages.clear()

    def newer_than(self, version: int, painted: int = -1) -> str:
        """The message for a page that has this version: the page's own version in a comment, then the fragments.

        `painted`: which revision of the run it was painted with. What was settled by then it has.
        """
        settled = (one.settled for one in self._shown.values() if one.settled is not None and one.settled <= painted)
        key = version, max(settled, default=-1)  # whatever a page says, there are only so many messages
        if key not in self._messages:
            newer = (one for one in self._shown.values() if one.version > version)
            sent = (one.html for one in newer if one.settled is None or one.settled > painted)
            self._messages[key] = "\n".join([f"<!--{self.version}-->", *sent])
        return self._messages[key]
