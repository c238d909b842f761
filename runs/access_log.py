"""Who has looked at a record that was given: on record the first time, counted beside it after that.

Why so: runs/DESIGN.md, Sharing.
"""

import logging
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import Error as DBError
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from engine.models import Run, after_deadlock
from engine.text.invisible_chars import single_line

from . import reviews
from .models import AccessGrant, GrantView
from .rights import granted_among, sees_by_grant, still_granted

log = logging.getLogger(__name__)


def grants_for(user: Any, run: Run) -> AccessGrant | None:
    """What lets this person see it, if nothing else does."""
    if not sees_by_grant(user, run):
        return None
    given = AccessGrant.objects.active().of(user).filter(run=run)
    # by name before any group, the same on every database
    return next(iter(still_granted(given.order_by(F("group_id").asc(nulls_first=True), "-pk"))), None)


def log_view(run: Run, user: Any) -> None:
    """Of somebody who may see it because it was given. A database that cannot be written hides nothing from them."""
    if not sees_by_grant(user, run):
        return
    try:
        _note(run, user)
    except DBError:
        log.warning("That %s was looked at by whom it was given is not written.", run.pk)


def log_views(runs: Iterable[UUID], user: Any) -> None:
    """Of a list or a file that has all of each of these."""
    for run in Run.objects.filter(pk__in=granted_among(user, runs)):
        log_view(run, user)


@after_deadlock
@transaction.atomic
def _note(run: Run, user: Any) -> None:
    """The first look of each is an entry of the record; all are counted beside it. One at a run that is tried again
    is none yet: nothing can be noted of it before its end."""
    given = grants_for(user, run)
    if given is None:  # taken back in this moment
        return
    seen = GrantView.objects.filter(given=given, user=user).exists()
    if seen or reviews.add_note(run, user, f"Looked at, as it was given to {single_line(given.to)}."):
        GrantView.count(timezone.now(), given=given, user=user)
