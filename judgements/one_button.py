"""A text judged with nothing else said: by the council that is first offered."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from . import procedure
from .estimate import MODELS, too_long_for
from .models import Council, CouncilChanged, OnlyCouncils
from .models.judgements import CONTENT_LENGTH


def judged(owner: Any, text: str, title: str) -> UUID | None:
    """By the council that is first offered; None where there is none that can."""
    council = Council.objects.offered().whole().first()
    if council is None or council.current is None or not 0 < len(text) <= CONTENT_LENGTH:
        return None
    if any(too_long_for(text, agent, model) for agent in council.agents() for model in MODELS):
        return None
    asked = {"content": text, "title": title, "agents": council.agents(), "council": council.current}
    with suppress(CouncilChanged, OnlyCouncils):  # it was revised in this very moment
        return procedure.submit(owner=owner, limited=True, **asked).pk
    return None
