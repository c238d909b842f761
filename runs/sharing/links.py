"""Showing one record to people without an account, by a link that ends. Who made and ended it stands in the record.

Why so: docs/decisions.md, Sharing.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db import Error as DBError
from django.db import transaction
from django.utils import timezone

from engine.models import Gate, Run, after_deadlock

from .. import reviews
from ..models import Share
from ..models.share_links import MAX_LINKS
from ..procedure.spec import spec_of_run
from ..record.document import record_of
from ..rights import SHARE
from ..show_notes import ended_note, made_note

log = logging.getLogger(__name__)


def share_refusal(run: Run) -> str:
    """Why nobody can be shown it; empty where one can."""
    if not run.is_ended:
        noun = spec_of_run(run).noun_with_article
        return f"{noun} that is not over cannot be shown to others: nobody knows yet how it ends."
    if run.redacted:
        return "Its texts were erased: there is nothing to show."
    return str(spec_of_run(run).hidden_run_ids([run]).get(run.pk, ""))


@after_deadlock
@transaction.atomic
def create_link(run: Run, by: Any, for_whom: str, days: int) -> Share:
    """A link with its secret. ValueError, a sentence, where none can be made."""
    run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    if reason := share_refusal(run):
        raise ValueError(reason)
    if Share.objects.holding().filter(run=run).count() >= MAX_LINKS:
        raise ValueError(f"{MAX_LINKS} links to it hold, as many as there may be. End one first.")
    share = Share.new(run, by, for_whom, days)
    share.save()
    reviews.add_note(run, by, made_note(share))
    return share


@after_deadlock
@transaction.atomic
def revoke_share_link(share: Share, by: Any) -> None:
    """At once, for whoever has it open, too, when they load it again."""
    run = Run.objects.select_for_update(no_key=True).get(pk=share.run_id)
    if Share.objects.filter(pk=share.pk, ended=None).update(ended=timezone.now()):
        reviews.add_note(run, by, ended_note(share))


def run_for_secret(secret: str) -> Share | None:
    """What a link shows, if it holds. It does not where its record was redacted since, where its maker may not hand the
    record out any more, or where a gate hides it from those who have to decide first."""
    share = Share.objects.of(secret)
    if share is None or share.by is None or share_refusal(share.run):
        return None
    shown = Run.objects.filter(pk=share.run_id).exclude(pk__in=Gate.objects.hidden())
    return share if SHARE.covers(share.by, share.run) and shown.exists() else None


def active_links(run: Run, links: Sequence[Any]) -> list[Any]:
    """Those of these links, or badges, of one run that whoever comes by them is shown something by."""
    if share_refusal(run) or run.pk in set(Gate.objects.hidden()):
        return []
    may = SHARE.covering({link.by for link in links if link.by}, run)
    return [link for link in links if link.is_valid and link.by_id in may]


def log_link_view(share: Share) -> None:
    """A database that cannot be written hides no record from its reader."""
    try:
        with transaction.atomic():
            share.count_view(timezone.now())
    except DBError:
        log.warning("That link %s was opened is not written.", share.pk)


def guest_record(row: Any) -> dict[str, Any]:
    """As `record_of`, without prompts, raw answers and costs, for no call is given; without notes, what was asked at
    gates, what tools gave, and how it came about."""
    shown = record_of(row, [])
    return shown | {"record": replace(shown["record"], reviews=(), gates=(), uses=(), provenance=())}
