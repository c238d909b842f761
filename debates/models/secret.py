"""What nobody is told of a debate before its time, so that it sways nobody and helps nobody to foresee a draw."""

import hashlib
from collections.abc import Iterable, Mapping
from uuid import UUID

from engine.models import Run

from .debates import Debate

WITHHELD = (
    "A person sits at the table. The record has what members said alone, which nobody sees before the debate is over."
)
FINAL = (Run.Status.FINISHED, Run.Status.CANCELLED)


def firsts_hidden(debate: Debate) -> bool:
    """While a person on a seat may still be swayed by what members said alone, nobody sees it."""
    return debate.with_person and _may_go_on(debate.run)


def withheld(runs: Iterable[Run]) -> Mapping[UUID, str]:
    """Of which of these the sealed record is given to nobody yet, and why."""
    going_on = [run.pk for run in runs if _may_go_on(run)]
    seated = Debate.objects.filter(pk__in=going_on, members__user_name__gt="") if going_on else Debate.objects.none()
    return dict.fromkeys(seated.values_list("pk", flat=True), WITHHELD)


def _may_go_on(run: Run) -> bool:
    """What has failed does when it is tried again, unless somebody has decided otherwise or its texts are erased."""
    return run.status not in FINAL and run.override is None and not run.redacted


def seed_told(debate: Debate) -> str:
    """Empty while it may go on: what has failed draws on with the same seed when it is tried again."""
    return debate.seed if debate.run.status in FINAL else ""


def seed_digest(debate: Debate) -> str:
    """What was sealed of the seed when it was submitted."""
    return hashlib.sha256(bytes.fromhex(debate.seed)).hexdigest()
