"""Notes and overrides: what people say of a run that is over. It stands beside the outcome, never in its place."""

from typing import Any

from django.db import transaction

from engine.evidence import sealing
from engine.evidence.log import Leaf
from engine.models import Review, Run, after_deadlock, record_name

from .face import face_of
from .models import Flag, SearchText


@after_deadlock
@transaction.atomic
def add(run: Run, author: Any, text: str, outcome: str | None = None) -> Review:
    """What a person says of a run that is over; with an outcome, what that person decides instead.

    ValueError for a run that goes on.
    """
    # the run first, then the log, as in a redaction and a retry: whoever locks in another order waits for ever
    run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    Leaf.objects.lock()
    face = face_of(run)
    if not run.over:
        raise ValueError(f"{face.a_noun} that is not over cannot be reviewed.")
    kind = Review.Kind.OVERRIDE if outcome else Review.Kind.NOTE
    review = Review.objects.create(
        run=run, author=author, by=record_name(author), kind=kind, outcome=outcome, text=text
    )
    if outcome:
        Run.objects.filter(pk=run.pk).update(override=outcome)
    Leaf.objects.add(sealing.append(run.pk, [review.draft(face.outcome_name)]))
    SearchText.objects.flag(run.pk, Flag.OVERRIDDEN if outcome else Flag.NOTED)
    return review
