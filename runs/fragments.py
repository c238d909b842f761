"""The parts of a live page that change, each rendered by the template that the page's first paint includes.

A fragment carries its whole state, so a message may be lost, doubled or late and the page is right after the next.
Blocks, buttons and panels are never replaced: focus, hover and an open panel survive.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.template.loader import get_template


@dataclass(frozen=True)
class Fragment:
    """`folder` and `name` are those of its template, `key` tells apart what shares it. `steps`: whose growing text it
    shows now. `replayed`: whether a look back shows it, which has no buttons and says by itself what happens."""

    folder: str
    name: str
    context: dict[str, Any]
    key: tuple[int, ...] = ()
    steps: frozenset[str] = frozenset()
    replayed: bool = True

    @property
    def place(self) -> str:
        return "-".join([self.name, *map(str, self.key)])

    def html(self, **more: bool) -> str:
        context = {**self.context, "key": self.key, "oob": True, **more}
        return get_template(f"{self.folder}/_{self.name}.html").render(context)


def rendered(fragments: Iterable[Fragment]) -> str:
    return "\n".join(fragment.html() for fragment in fragments)


class LivePage:
    """The fragments as they are now, each with the version of the page that brought it."""

    def __init__(self) -> None:
        self.version = 0
        self._fragments: dict[str, tuple[int, str]] = {}
        self._messages: dict[int, str] = {}

    def update(self, current: Iterable[Fragment]) -> None:
        """Take over those of the fragments that differ from what is there. A new version if any does."""
        fresh = {fragment.place: fragment.html() for fragment in current}
        changed = {place: html for place, html in fresh.items() if self._fragments.get(place, (0, ""))[1] != html}
        if changed:
            self.version += 1
            self._fragments |= {place: (self.version, html) for place, html in changed.items()}
            self._messages.clear()

    def newer_than(self, version: int) -> str:
        """The message for a page that has this version: the page's own version in a comment, then the fragments."""
        if version not in self._messages:
            fragments = (html for since, html in self._fragments.values() if since > version)
            self._messages[version] = "\n".join([f"<!--{self.version}-->", *fragments])
        return self._messages[version]
