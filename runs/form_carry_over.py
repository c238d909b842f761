"""Transfer of form input from the page of one procedure to that of another, and back.

A page posts all its fields. The other page shows text and title in its own fields and keeps the rest in hidden ones.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .procedure.spec import ProcedureSpec, specs

TRANSFER_FIELD = "come"  # the field with the procedure it comes from
SAVE_BUTTON = (
    "name",
    "retention_days",
    "short",
    "back",
)  # fields with which a page saves its form as a preset
NOT_TRANSFERRED = ("csrfmiddlewaretoken", TRANSFER_FIELD, "do", *SAVE_BUTTON)
MAX_CHARACTERS = 200_000  # characters; more than all fields of a page can hold was not typed there
FIELD_NAME = re.compile(r"[\w-]{1,40}")


def form_pages() -> list[ProcedureSpec[Any, Any]]:
    """Return the procedures with a page to start a run."""
    return [face for face in specs().values() if face.begun_at]


@dataclass(frozen=True)
class TransferredForm:
    """The input from another page."""

    title: str
    text: str


def transferred_form(posted: Mapping[str, str]) -> TransferredForm | None:
    """Return the transferred input; None if the user did not come from another page."""
    face = specs().get(posted.get(TRANSFER_FIELD, ""))
    if face is None:
        return None
    return TransferredForm(posted.get("title", ""), posted.get(face.begun_with, ""))


def extra_fields(posted: Mapping[str, str], is_own: Callable[[str], object]) -> dict[str, str]:
    """Return the posted values for which a page has no field."""
    found = {
        name: value
        for name, value in posted.items()
        if value and name not in NOT_TRANSFERRED and FIELD_NAME.fullmatch(name) and not is_own(name)
    }
    return found if sum(map(len, found.values())) <= MAX_CHARACTERS else {}
