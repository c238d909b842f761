"""Badges: images of the latest outcome for other websites, at secret addresses.

Why so: runs/DESIGN.md, Sharing.
"""

import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from engine.models import Gate, Run, after_deadlock

from .. import reviews
from ..models import BadgeLink, PresetUse
from ..procedure.spec import spec_of_run
from ..rights import SHARE, PermissionReach
from ..show_notes import ended_note, made_note
from .links import share_refusal

MAX_RUNS_READ = 50  # newest runs of an item that are read
MAX_BADGES = 50  # valid badges of one user
TOO_MANY_TEXT = f"{MAX_BADGES} of your badges hold, as many as one person may have. End one first."
NO_RUNS_TEXT = "nothing yet"
LETTER, PADDING = 6.6, 8  # pixels; wider text is squeezed into the same width
TOO_FEW_RUNS = (
    (timedelta(days=365), "y"),
    (timedelta(days=1), "d"),
    (timedelta(hours=1), "h"),
    (timedelta(minutes=1), "min"),
)


@dataclass(frozen=True)
class BadgeImage:
    """The text of a badge; `state` gives the colour."""

    words: str
    said: str
    state: str = ""

    @property
    def left(self) -> int:
        return _width(self.words)

    @property
    def right(self) -> int:
        return _width(self.said)

    @property
    def width(self) -> int:
        return self.left + self.right


def _width(text: str) -> int:
    letters = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
    return round(LETTER * letters) + 2 * PADDING


@after_deadlock
@transaction.atomic
def create_badge(
    by: Any, days: int, words: str, run: Run | None = None, shelf: str = "", key: int | None = None
) -> BadgeLink:
    """Create a badge with its secret. Raises ValueError with a message if it is refused."""
    if run is not None:
        run = _locked(run.pk)
        if reason := share_refusal(run):
            raise ValueError(reason)
    if BadgeLink.objects.holding().filter(by=by).count() >= MAX_BADGES:
        raise ValueError(TOO_MANY_TEXT)
    badge = BadgeLink.create(by, days, words=words, run=run, shelf=shelf, key=key)
    badge.save()
    if run:
        reviews.add_note(run, by, made_note(badge))
    return badge


@after_deadlock
@transaction.atomic
def revoke_badge(badge: BadgeLink, by: Any) -> None:
    """Revoke it immediately; cached images expire within a minute."""
    run = _locked(badge.run_id) if badge.run_id else None
    if BadgeLink.objects.filter(pk=badge.pk, ended=None).update(ended=timezone.now()) and run:
        reviews.add_note(run, by, ended_note(badge))


def _locked(pk: UUID) -> Run:
    return Run.objects.select_for_update(no_key=True).get(pk=pk)


def badge_for_secret(secret: str) -> BadgeImage | None:
    """Return the image of a valid badge, or None if its creator may no longer share anything."""
    badge = BadgeLink.objects.of(secret)
    if badge is None or badge.by is None or SHARE.reach(badge.by) == PermissionReach.NOTHING:
        return None
    if badge.run:
        return _shown(badge.words, badge.run) if _may_be_shown(badge.run, badge.by) else None
    newest = next((run for run in _started(badge) if run.outcome and _may_be_shown(run, badge.by)), None)
    return _shown(badge.words, newest) if newest else BadgeImage(badge.words, NO_RUNS_TEXT)


def _may_be_shown(run: Run, by: Any) -> bool:
    return not share_refusal(run) and SHARE.covers(by, run) and run.pk not in set(Gate.objects.hidden())


def _started(badge: Any) -> list[Run]:
    """Return the newest runs that were started from the item, without rehearsals, which decide nothing."""
    starts = PresetUse.objects.filter(shelf=badge.shelf, key=badge.key, rehearsal=False)
    if SHARE.reach(badge.by) < PermissionReach.ALL:
        starts = starts.filter(owner=badge.by_id)
    return [start.run for start in starts.select_related("run").order_by("-id")[:MAX_RUNS_READ]]


def _shown(words: str, run: Run) -> BadgeImage:
    """Show the outcome in effect: an override takes precedence."""
    face = spec_of_run(run)
    outcome = run.override or run.outcome
    state, word = face.outcome_filter(outcome) if outcome else face.filter_labels(run)
    state = face.outcome_icons([run.pk]).get(run.pk, {}).get(outcome or "", state)
    return BadgeImage(words, f"{word.lower()} {_ago(run.ended, timezone.now())}".strip(), state)


def _ago(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return ""
    passed = now - moment
    return next((f"{passed // unit} {name} ago" for unit, name in TOO_FEW_RUNS if passed >= unit), "just now")


# ---- what a badge shows -----------------------------------------------------------------------------------


def badge_label(of: str, things: Any, user: Any) -> dict[str, Any]:
    """Resolve `run:<id>`, or `<section>:<key>` for an item of the library.

    Raises ValidationError if it is nothing that this user may share.
    """
    sort, _, key = of.partition(":")
    if of in things:
        return {"shelf": sort, "key": int(key)}
    try:
        run = Run.objects.filter(pk=UUID(key)).first() if sort == "run" else None
    except ValueError:
        run = None
    if run is None or not SHARE.covers(user, run):
        raise ValidationError("Choose what it shows.")
    return {"run": run}
