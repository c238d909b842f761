"""Notes and overrides: what people say of a run that is over. It stands beside the outcome, never in its place."""

from datetime import timedelta
from typing import Any

from django import forms
from django.db import transaction
from django.utils import timezone

from engine.evidence import sealing
from engine.evidence.log import Leaf
from engine.models import REVIEW_LENGTH, Review, Run, after_deadlock, record_name

from .face import face_of
from .forms import Text
from .models import Flag, SearchText
from .show_notes import is_reserved

JUST_NOW = timedelta(minutes=10)
RESERVED = "The record notes in these words itself to whom it is shown: write yours in others."


class ReviewText(forms.Form):
    text = Text(max_length=REVIEW_LENGTH, needed="Write the note, or the reason for deciding otherwise.", lines=True)


@after_deadlock
@transaction.atomic
def add(run: Run, author: Any, text: str, outcome: str | None = None) -> Review:
    """What a person says of a run that is over; with an outcome, what that person decides instead.

    Who says the very same twice within minutes has sent it twice: it is kept once. ValueError where it cannot be said.
    """
    if not outcome and is_reserved(text):
        raise ValueError(RESERVED)
    return _add(run, author, text, outcome)


def _add(run: Run, author: Any, text: str, outcome: str | None = None) -> Review:
    # the run first, then the log, as in a redaction and a retry: whoever locks in another order waits for ever
    run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    Leaf.objects.lock()
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
    if sentence := why_not(run, outcome):
        raise ValueError(sentence)
    return _keep(said)


@after_deadlock
@transaction.atomic
def note(run: Run, author: Any, text: str) -> Review | None:
    """That somebody did something with its record. Of one that is tried again just now nothing can be noted."""
    run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    return _add(run, author, text) if run.over else None


def why_not(run: Run, outcome: str | None = None) -> str:
    """Why nobody can note anything of it, or decide this instead; empty where one can."""
    if not run.over:
        return f"{face_of(run).a_noun} that is not over cannot be reviewed."
    if outcome and run.redacted:
        return "Its texts were erased: nobody can read any more what was decided. Add a note."
    if outcome and outcome == run.held:
        return f"It is {outcome} already. To agree with that, add a note."
    return ""


def alternatives(run: Run) -> list[str]:
    """What a person may decide instead."""
    return [outcome for outcome in face_of(run).outcomes_of(run) if not why_not(run, outcome)]


def _said_just_now(said: Review) -> Review | None:
    """The newest word on the run, where it is the same; another one in between makes it a new one."""
    last = Review.objects.filter(run=said.run, made__gte=timezone.now() - JUST_NOW).last()
    return last if last and _what(last) == _what(said) else None


def _what(said: Review) -> tuple[Any, ...]:
    return said.author_id, said.by, said.kind, said.outcome, said.text


def _keep(said: Review) -> Review:
    run = said.run
    said.save()
    if said.outcome:
        Run.objects.filter(pk=run.pk).update(override=said.outcome)
    Leaf.objects.add(sealing.append(run.pk, [said.draft(face_of(run).outcome_name)]))
    SearchText.objects.flag(run.pk, Flag.OVERRIDDEN if said.outcome else Flag.NOTED)
    return said
