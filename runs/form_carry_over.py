"""What was typed on the page of one kind of work, taken along to the page of another, and back.

A page posts all that it has to the other one, which shows the text and the title in its own fields, and the rest, that
it has no field for, in fields that nobody sees.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .procedure.spec import ProcedureSpec, specs

TRANSFER_FIELD = "come"  # the field that says from which kind
SAVE_BUTTON = (
    "name",
    "retention_days",
    "short",
    "back",
)  # of the page on which what stands here is saved to be used again
NOT_TRANSFERRED = ("csrfmiddlewaretoken", TRANSFER_FIELD, "do", *SAVE_BUTTON)
MAX_FIELDS = 200_000  # characters: what is longer than all pages can hold was not typed there
FIELD_NAME = re.compile(r"[\w-]{1,40}")


def form_pages() -> list[ProcedureSpec[Any, Any]]:
    """The kinds that somebody can start on a page."""
    return [face for face in specs().values() if face.begun_at]


@dataclass(frozen=True)
class TransferredForm:
    """What somebody had typed elsewhere."""

    title: str
    text: str


def transferred_form(posted: Mapping[str, str]) -> TransferredForm | None:
    """None where nobody came from another page."""
    face = specs().get(posted.get(TRANSFER_FIELD, ""))
    if face is None:
        return None
    return TransferredForm(posted.get("title", ""), posted.get(face.begun_with, ""))


def extra_fields(posted: Mapping[str, str], is_own: Callable[[str], object]) -> dict[str, str]:
    """All that a page has no field for."""
    found = {
        name: value
        for name, value in posted.items()
        if value and name not in NOT_TRANSFERRED and FIELD_NAME.fullmatch(name) and not is_own(name)
    }
    return found if sum(map(len, found.values())) <= MAX_FIELDS else {}
