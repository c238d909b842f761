"""What was typed on the page of one kind of work, taken along to the page of another, and back.

A page posts all that it has to the other one, which shows the text and the title in its own fields, and the rest, that
it has no field for, in fields that nobody sees.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .face import Face, faces

COME = "come"  # the field that says from which kind
SAVING = ("name", "retention_days", "short", "back")  # of the page on which what stands here is saved to be used again
NEVER = ("csrfmiddlewaretoken", COME, "do", *SAVING)
MOST = 200_000  # characters: what is longer than all pages can hold was not typed there
NAME = re.compile(r"[\w-]{1,40}")


def begun_by_page() -> list[Face[Any, Any]]:
    """The kinds that somebody can start on a page."""
    return [face for face in faces().values() if face.begun_at]


@dataclass(frozen=True)
class Brought:
    """What somebody had typed elsewhere."""

    title: str
    text: str


def brought(posted: Mapping[str, str]) -> Brought | None:
    """None where nobody came from another page."""
    face = faces().get(posted.get(COME, ""))
    if face is None:
        return None
    return Brought(posted.get("title", ""), posted.get(face.begun_with, ""))


def along(posted: Mapping[str, str], is_own: Callable[[str], object]) -> dict[str, str]:
    """All that a page has no field for."""
    found = {
        name: value
        for name, value in posted.items()
        if value and name not in NEVER and NAME.fullmatch(name) and not is_own(name)
    }
    return found if sum(map(len, found.values())) <= MOST else {}
