"""What a judgement is to the engine and to all doors. What it says is said elsewhere: here it has its one name."""

from collections.abc import Iterator

from django.db.models import QuerySet

from engine.models import ModelCall
from runs.face import Face, Snapshot
from runs.fragments import Fragment

from . import evidence, guards, procedure, rehearsal
from .display import Display, display_of
from .fragments import fragments
from .models import Judgement


class Judging(Face[Judgement, Display]):
    noun, nouns = "judgement", "judgements"
    guards = guards.GUARDS
    rehearsals = {procedure.DECISION.name: rehearsal.answer}
    chores = (procedure.redact_due,)
    perform = staticmethod(procedure.judge)
    tell = staticmethod(evidence.tell)
    doubt = staticmethod(evidence.doubt)
    contradictions = staticmethod(evidence.contradictions)

    def rows(self) -> QuerySet[Judgement]:
        return Judgement.objects.whole()

    def calls(self, row: Judgement) -> list[ModelCall]:
        return row.calls

    def display(self, seen: Snapshot[Judgement]) -> Display:
        return display_of(seen.row, list(seen.calls), seen.texts)

    def fragments(self, display: Display) -> Iterator[Fragment]:
        return fragments(display)
