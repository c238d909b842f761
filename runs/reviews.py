"""Notes and overrides: reviews of a run that is over. They are shown next to the outcome and do not replace it."""

from datetime import timedelta
from typing import Any

from django import forms
from django.db import transaction
from django.utils import timezone

from engine.audit import sealing
from engine.ledger.merkle_log import LogLeaf
from engine.models import REVIEW_LENGTH, Review, Run, after_deadlock, record_name

from .forms import PlainTextField
from .models import RunFlag, SearchText
from .procedure.spec import spec_of_run
from .show_notes import is_reserved

RECENT_PERIOD = timedelta(minutes=10)
RESERVED = "The record notes in these words itself to whom it is shown: write yours in others."


class ReviewTextForm(forms.Form):
    text = PlainTextField(
        max_length=REVIEW_LENGTH, needed="Write the note, or the reason for deciding otherwise.", lines=True
    )


@after_deadlock
@transaction.atomic
def add_review(run: Run, author: Any, text: str, outcome: str | None = None) -> Review:
    """Add a note to a run that is over; with an outcome, an override.

    An identical review by the same person within RECENT_PERIOD is a double submission and is stored once. Raises
    ValueError if it is refused.
    """
    if not outcome and is_reserved(text):
        raise ValueError(RESERVED)
    return _add(run, author, text, outcome)


def _add(run: Run, author: Any, text: str, outcome: str | None = None) -> Review:
    # lock the run before the log, as redaction and retry do; another order would deadlock
    run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    LogLeaf.objects.lock()
    said = Review(
        run=run,
        author=author,
        by=record_name(author),
        kind=Review.Kind.OVERRIDE if outcome else Review.Kind.NOTE,
        outcome=outcome,
        text=text,
    )
    if again := _said_just_now(said):
        return again
    if sentence := override_refusal(run, outcome):
        raise ValueError(sentence)
    return _keep(said)


@after_deadlock
@transaction.atomic
def add_note(run: Run, author: Any, text: str) -> Review | None:
    """Note an action on the record of a run. A run that is being retried takes no note, so None is returned."""
    run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    return _add(run, author, text) if run.is_ended else None


def override_refusal(run: Run, outcome: str | None = None) -> str:
    """Return why no note can be added, or why this outcome cannot be set; empty if it can."""
    if not run.is_ended:
        return f"{spec_of_run(run).noun_with_article} that is not over cannot be reviewed."
    if outcome and run.redacted:
        return "Its texts were erased: nobody can read any more what was decided. Add a note."
    if outcome and outcome == run.standing_outcome:
        return f"It is {outcome} already. To agree with that, add a note."
    return ""


def alternatives(run: Run) -> list[str]:
    """Return the outcomes that a person may decide instead."""
    return [outcome for outcome in spec_of_run(run).outcomes_of(run) if not override_refusal(run, outcome)]


def _said_just_now(said: Review) -> Review | None:
    """Return the newest review of the run if it is identical; any other review in between makes it a new one."""
    last = Review.objects.filter(run=said.run, made__gte=timezone.now() - RECENT_PERIOD).last()
    return last if last and _what(last) == _what(said) else None


def _what(said: Review) -> tuple[Any, ...]:
    return said.author_id, said.by, said.kind, said.outcome, said.text


def _keep(said: Review) -> Review:
    run = said.run
    said.save()
    if said.outcome:
        Run.objects.filter(pk=run.pk).update(override=said.outcome)
    LogLeaf.objects.add(sealing.append_entries(run.pk, [said.draft(spec_of_run(run).outcome_name)]))
    SearchText.objects.flag(run.pk, RunFlag.OVERRIDDEN if said.outcome else RunFlag.NOTED)
    return said
