"""The parts of a live page that change, rendered by the templates that the page's first paint includes.

A fragment carries its whole state. The page recovers from a lost, duplicate or late message with the next one. Blocks,
buttons and panels are never replaced, so that focus, hover and an open panel survive.
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
)  # same markup for every run


@dataclass(frozen=True)
class PageFragment:
    """One replaceable part of a live page, rendered from `folder/_name.html`.

    `key` distinguishes fragments of the same template. `steps` are the steps whose streaming text it shows. If
    `settled`, only a redaction can change it, so it is rendered once. If not `replayed`, replays leave it out: they
    have no buttons and announce events themselves.
    """

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
    """Return a fragment that all procedures share, or one of this procedure."""
    return PageFragment("runs/fragments" if name in COMMON_FRAGMENTS else f"{nouns}/fragments", name, *args, **more)


def single_fragment(display: Any, *fields: str) -> dict[str, Any]:
    """Return only the fields that a template uses, so that an unchanged fragment is not rendered again."""
    return {"display": SimpleNamespace(**{name: getattr(display, name) for name in fields})}


def render_fragments(fragments: Iterable[PageFragment]) -> str:
    return "\n".join(fragment.html() for fragment in fragments)


@dataclass(frozen=True)
class FragmentOnPage:
    """A rendered fragment with the page version that brought it.

    `settled` is the run's revision at which the fragment became final; `context` is what it was rendered from.
    """

    version: int
    html: str
    settled: int | None = None
    context: dict[str, Any] | None = None


class LivePageState:
    """The current fragments of a live page, each with the page version in which it last changed."""

    def __init__(self) -> None:
        self.version = 0
        self._shown: dict[str, FragmentOnPage] = {}
        self._messages: dict[tuple[int, int], str] = {}

    def update(self, current: Iterable[PageFragment], revision: int) -> None:
        """Replace fragments that differ and increment the version if any does.

        Settled fragments and fragments with an unchanged context are not rendered. `revision` is the newest revision of
        the run that the fragments can show.
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
        """Mark no fragment as settled, because a redaction may have changed everything."""
        self._shown = {place: FragmentOnPage(one.version, one.html) for place, one in self._shown.items()}
        self._messages.clear()

    def newer_than(self, version: int, painted: int = -1) -> str:
        """Return the message for a page at this version: the new version in a comment, then the newer fragments.

        `painted` is the run's revision with which the page was rendered; fragments settled by then are left out.
        """
        settled = (one.settled for one in self._shown.values() if one.settled is not None and one.settled <= painted)
        # limits the cache: clients may send any `painted`, but few fragments settle
        key = version, max(settled, default=-1)
        if key not in self._messages:
            newer = (one for one in self._shown.values() if one.version > version)
            sent = (one.html for one in newer if one.settled is None or one.settled > painted)
            self._messages[key] = "\n".join([f"<!--{self.version}-->", *sent])
        return self._messages[key]
