"""Share links: one record for people without an account. Creating and revoking one is noted in the record.

Why so: runs/DESIGN.md, Sharing.
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
from ..models import ShareLink
from ..models.share_links import MAX_LINKS
from ..procedure.spec import spec_of_run
from ..record.document import record_of
from ..rights import SHARE
from ..show_notes import ended_note, made_note

log = logging.getLogger(__name__)


def share_refusal(run: Run) -> str:
    """Return why the run cannot be shared; empty if it can."""
    if not run.is_ended:
        noun = spec_of_run(run).noun_with_article
        return f"{noun} that is not over cannot be shown to others: nobody knows yet how it ends."
    if run.redacted:
        return "Its texts were erased: there is nothing to show."
    return str(spec_of_run(run).hidden_run_ids([run]).get(run.pk, ""))


@after_deadlock
@transaction.atomic
def create_link(run: Run, by: Any, for_whom: str, days: int) -> ShareLink:
    """Create a link with its secret. Raises ValueError with a message if it is refused."""
    run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    if reason := share_refusal(run):
        raise ValueError(reason)
    if ShareLink.objects.holding().filter(run=run).count() >= MAX_LINKS:
        raise ValueError(f"{MAX_LINKS} links to it hold, as many as there may be. End one first.")
    share = ShareLink.new(run, by, for_whom, days)
    share.save()
    reviews.add_note(run, by, made_note(share))
    return share


@after_deadlock
@transaction.atomic
def revoke_share_link(share: ShareLink, by: Any) -> None:
    """Revoke it immediately; open pages are refused at the next request."""
    run = Run.objects.select_for_update(no_key=True).get(pk=share.run_id)
    if ShareLink.objects.filter(pk=share.pk, ended=None).update(ended=timezone.now()):
        reviews.add_note(run, by, ended_note(share))


def run_for_secret(secret: str) -> ShareLink | None:
    """Return the valid link with this secret, or None.

    It is not valid if the record was redacted, its creator may no longer share it, or a gate hides it from its
    approvers.
    """
    share = ShareLink.objects.of(secret)
    if share is None or share.by is None or share_refusal(share.run):
        return None
    shown = Run.objects.filter(pk=share.run_id).exclude(pk__in=Gate.objects.hidden())
    return share if SHARE.covers(share.by, share.run) and shown.exists() else None


def active_links(run: Run, links: Sequence[Any]) -> list[Any]:
    """Return those of the links or badges of one run that currently show something."""
    if share_refusal(run) or run.pk in set(Gate.objects.hidden()):
        return []
    may = SHARE.covering({link.by for link in links if link.by}, run)
    return [link for link in links if link.is_valid and link.by_id in may]


def log_link_view(share: ShareLink) -> None:
    """Count a view. A database that cannot be written must not keep the record from its reader."""
    try:
        with transaction.atomic():
            share.count_view(timezone.now())
    except DBError:
        log.warning("That link %s was opened is not written.", share.pk)


def guest_record(row: Any) -> dict[str, Any]:
    """Return the record without prompts, raw answers, costs, notes, gates, tool calls and provenance."""
    shown = record_of(row, [])
    return shown | {"record": replace(shown["record"], reviews=(), gates=(), uses=(), provenance=())}
