"""Constants and types of debates and panels that need no rows."""

import re
from collections.abc import Mapping
from typing import Any, TypedDict

from django.db import models

from engine.models import DocumentLimits
from runs.forms import field_label

QUESTION_LENGTH = 20_000
NAME_LENGTH = 60
WHO_LENGTH = 4_000
WORD_LENGTH = 40
MEANING_LENGTH = 200
DEFAULT_REPLY_HOURS = 24  # hours that a person has for a turn
MOST_MEMBERS, MOST_OPTIONS = 9, 6
DOCUMENTS = DocumentLimits(number=8, size=2 * 2**20, characters=60_000)


class OptionDirection(models.TextChoices):
    """Direction of an option with regard to the question, for its display."""

    FOR = "for", "For"
    BETWEEN = "between", "In between"
    AGAINST = "against", "Against"


class HistoryView(models.TextChoices):
    """How prompts show earlier messages."""

    PERSPECTIVE = "perspective", "Each from its own side"
    MINUTES = "minutes", "All alike, members as letters"


class DebateFlag(models.TextChoices):
    """Flags of an ended debate; the history can be filtered by them."""

    CHANGED = "changed", "Changed"
    MINORITY = "minority", "A minority"
    UNANIMOUS = "unanimous", "Unanimous"
    NO_DECISION = "no_decision", "No decision"
    CHALLENGED = "challenged", "Challenged"
    PERSON = "person", "A person took part"
    SILENT = "silent", "Somebody fell silent"
    CHAIR_NAMED_OPTION = "chair_named_option", "The chair named an option"


class OptionDict(TypedDict, total=False):
    word: str
    meaning: str
    direction: str


class MemberDict(TypedDict, total=False):
    name: str
    who: str
    model: str
    fallback: str
    user: Any


class SwitchDict(TypedDict, total=False):
    """Switches of a debate; those that are left out are on, except SWITCHED_OFF."""

    reply: bool
    call: bool
    challenge: bool
    first: bool
    free_floor: bool
    advisory: bool


SWITCHES = tuple(SwitchDict.__annotations__)
SWITCHED_OFF = ("free_floor", "advisory")


def active_switches(switches: Mapping[str, Any]) -> dict[str, bool]:
    """Return all switches with their values; those that are left out have their default."""
    return {name: bool(switches.get(name, name not in SWITCHED_OFF)) for name in SWITCHES}


def is_named(option: str, text: str) -> bool:
    """Return whether a text names the option: reviewers want to know if the chair did."""
    return re.search(rf"(?<!\w){re.escape(field_label(option))}(?!\w)", field_label(text)) is not None
