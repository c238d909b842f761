"""Explanations why a record needs a review."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.timesince import timesince

from engine.models import Run, last_override

from ..formatting import cause_of, user_label
from ..procedure.spec import ProcedureSpec, spec_of_run
from .rows import RunRow


@dataclass(frozen=True)
class ReviewReason:
    """One reason: the name of the flag, and a sentence."""

    flag: str
    text: str


def reason_sentence(run: Run, row: RunRow, flags: Sequence[Any]) -> str:
    """Return the first reason, as a line of the list shows it."""
    if run.status == Run.Status.FAILED:
        return failure_sentence(run)
    if row.override:
        return f"{row.overridden_by} {_decided(run)}."
    return next((look.sentence for look in row.face.looks if look.flag in flags), "")


def _decided(run: Run) -> str:
    return f"reinstated {run.override}" if run.reinstated else f"decided {run.override} instead"


def failure_sentence(run: Run) -> str:
    """Return the error in a sentence."""
    error = run.error or {}
    return error.get("message") or f"{failure_label(error.get('code', ''))}."


def _later(run: Run, moment: datetime) -> str:
    if run.ended is None or moment < run.ended + timedelta(minutes=1):
        return ""
    return f", {timesince(run.ended, moment, depth=1)} later"


def reasons_of(row: Any, flags: Sequence[Any]) -> list[ReviewReason]:
    """Return all reasons for a review, of a row that was read with `rows` of its procedure."""
    run, found = row.run, []
    face: ProcedureSpec[Any, Any] = spec_of_run(run)
    if run.status == Run.Status.FAILED:
        found.append(ReviewReason("error", failure_sentence(run)))
    if last := last_override(run.reviews.all()):
        said = f": “{last.text}”" if last.text else "."
        who = user_label(last.author) or last.by  # the same name as in the list
        found.append(ReviewReason("overridden", f"{who} {_decided(run)}{_later(run, last.made)}{said}"))
    found += [ReviewReason(look.name.lower(), face.flag_reason(row, look)) for look in face.looks if look.flag in flags]
    return found


def failure_label(code: str) -> str:
    words = cause_of(code) or "no reason given"
    return f"{words[0].upper()}{words[1:]}"
