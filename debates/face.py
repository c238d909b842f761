"""What a debate is to the engine and to all doors. What it says is said elsewhere: here it has its one name."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict

from engine.evidence.told import Said
from engine.models import Gate, ModelCall, Run
from engine.procedure import Asker
from runs.face import Face, Look, Snapshot
from runs.filters import People
from runs.fragments import Fragment
from runs.redaction import redact_due
from runs.retention import KeptFor
from runs.rows import with_run
from runs.saved.evidence import SavedWitness
from runs.saved.retention import kept_for

from . import (
    api,
    chair,
    comparing,
    evidence,
    glances,
    guards,
    people,
    procedure,
    record,
    rehearsal,
    replaying,
    schemas,
    standing,
    tables,
)
from .again import again_of, with_texts_beside
from .as_model import AS_MODEL
from .display import Display, display_of
from .filters import HistoryForm, in_words
from .forking import DebateForks
from .fragments import fragments
from .models import DOCUMENTS, Debate, Member, Option, Panel, Remark, Turn, erase
from .models.secret import hidden_steps, withheld
from .offers import OFFERS
from .rules.outcome import NO_DECISION
from .shelf import Panels


class Debating(Face[Debate, Display]):
    noun, nouns = "debate", "debates"
    sign = "debate"
    schema = schemas.Debate
    as_model = AS_MODEL
    offers = OFFERS
    going_on = "debating"
    begun_at, begun_with = "debate-new", "question"
    begins_from = "debate__earlier"
    forks = DebateForks()
    verb, good_for = "Debate", "What speaks for what. Two to nine members argue until each has settled on an option."
    guards = guards.GUARDS
    documents = DOCUMENTS
    hurry = 3.0  # a whole debate in about a minute
    chores = (redact_due, people.look_for_the_gone)
    chains = (SavedWitness(Panel),)
    shelves = (Panels(),)
    rehearsals = {
        "message": procedure.rehearsed,
        "closing": rehearsal.closing,
        "first": rehearsal.first,
        "timekeeper": rehearsal.timekeeper,
    }
    flags = tuple(Remark)
    looks = (
        Look(Remark.NO_DECISION, "No decision", "its members' verdicts made none by the rule", "dash"),
        Look(Remark.CHAIR_NAMED_OPTION, "Chair named an option", "the chair spoke of one of the options", "person"),
    )
    stays = "The members' verdicts stay."
    filters = ("panel", "rehearsal")
    heads = tables.HEADS
    tabled = staticmethod(tables.tabled)
    perform = staticmethod(procedure.debate)
    answered = staticmethod(people.answered)
    held_back = staticmethod(procedure.held_back)
    facts = staticmethod(api.facts)
    compared = staticmethod(comparing.compared)
    tell = staticmethod(evidence.tell)
    doubt = staticmethod(evidence.doubt)
    labels = staticmethod(evidence.labels)

    def contradictions(self, told: Mapping[Any, Said]) -> Iterator[tuple[Any, str]]:
        yield from super().contradictions(told)
        yield from standing.misstanding(list(told))

    recorded = staticmethod(record.recorded)
    survives = True
    moments = staticmethod(replaying.moments)
    chapter = staticmethod(replaying.chapter)
    mark = staticmethod(replaying.mark)
    record_styles = ("css/debate.css", "css/documents.css", "css/debate-record.css")
    record_without = ("prompt",)

    def erase(self, run: UUID) -> None:
        erase(run)

    def kept_for(self) -> KeptFor:
        return kept_for(Panel, "debate__panel_version")

    def rows(self) -> QuerySet[Debate]:
        return Debate.objects.whole()

    def rows_of_list(self) -> QuerySet[Debate]:
        return with_run(Debate.objects.all()).prefetch_related("members")

    def facts_of_list(self, row: Debate) -> dict[str, Any]:
        return {"rehearsal": row.rehearsal}

    def asker(self, run: UUID, step: str) -> Asker:
        kind, _, number = step.partition("-")
        if not number.isdigit():
            return Asker()
        if kind == "turn":
            named = Turn.objects.filter(debate=run, number=number).values_list("member__name", flat=True)
            return Asker(named.first() or "A member", "message")
        if kind == "note":
            return Asker("The timekeeper", "words for its note")
        seated = Member.objects.filter(debate=run, seat=number).values_list("name", flat=True)
        return Asker(seated.first() or "A member", "first position")

    def calls(self, row: Debate) -> list[ModelCall]:
        return row.calls

    def extra(self, request: HttpRequest, row: Debate) -> dict[str, Any]:
        """`key`: by which what is sent twice from one page is done once. Besides, what whoever sits there is asked."""
        own = people.sits(row, request.user) | {"held": again_of(row, request.user)}
        leave = {"seated": chair.may_withdraw(row, request.user), "verdicts": row.settings.options}
        leave["may_look"] = row.with_person and chair.may_look(row, request.user)
        return {"key": secrets.token_hex(16), **leave, **own}

    # ---- its lists ----

    def listed(self, rows: QuerySet[Debate]) -> QuerySet[Debate]:
        return glances.listed(rows)

    def glances(self, rows: Sequence[Debate]) -> Mapping[UUID, glances.Glance]:
        return glances.glances(rows)

    def signs(self, runs: Sequence[UUID]) -> Mapping[UUID, Mapping[str, str]]:
        return {pk: glances.signs_of(looks) for pk, looks in glances.looks_in(runs).items()}

    def columns(self, row: Debate) -> tuple[Sequence[object], Sequence[object]]:
        return tables.columns(row)

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> HistoryForm:
        return HistoryForm(asked, list(self.standings), people)

    def may_come_to(self, outcome: str) -> bool:
        """Any word may be somebody's option, but how a run stands is none."""
        return outcome not in self.standings

    def shown(self, run: Run) -> tuple[str, str]:
        return ("judging", "Debating") if run.status == Run.Status.RUNNING else super().shown(run)

    def decided(self, outcome: str) -> tuple[str, str]:
        """The sign of an option is its debate's; see `signs`."""
        return glances.UNDECIDED_SIGN if outcome == NO_DECISION else "mid", in_words(outcome)

    def in_words(self, outcome: str | None) -> str:
        """Options are shown as they were written."""
        return "no decision" if outcome == NO_DECISION else outcome or ""

    def calls_shown(self, row: Debate, calls: Sequence[ModelCall]) -> list[ModelCall]:
        hidden = hidden_steps(row)
        return [call for call in calls if call.step not in hidden]

    def rehearsal(self, row: Debate) -> str:
        return row.rehearsal_sentence

    def outcomes_of(self, run: Run) -> list[str]:
        return [*Option.objects.filter(debate=run.pk).values_list("word", flat=True), NO_DECISION]

    def estimate(self, row: Debate) -> int | None:
        return row.estimate().cost

    def display(self, seen: Snapshot[Debate]) -> Display:
        return display_of(seen)

    def fragments(self, display: Display) -> Iterator[Fragment]:
        return fragments(display)

    def beside(self, run: Run) -> Sequence[Debate]:
        return with_texts_beside(run.pk)

    def withheld(self, runs: Iterable[Run]) -> Mapping[UUID, str]:
        return withheld(runs)

    def at(self, row: Debate, moment: datetime) -> Debate:
        return replaying.at(row, moment)

    def answers(self, row: Debate) -> Mapping[int, str]:
        return replaying.answers(row)

    def provenance(self, row: Debate) -> Iterator[tuple[str, str]]:
        return record.provenance(row)

    def asked(self, row: Debate) -> dict[str, str]:
        return {"Question": row.question}

    def gate_template(self, gate: Gate) -> str:
        return "debates/_turn.html"

    def gate_context(self, gate: Gate, typed: Mapping[str, Any]) -> dict[str, Any]:
        return people.form_of(gate, typed)

    def gate_answer(self, gate: Gate, typed: QueryDict) -> Any:
        if typed.get("said", "").endswith(f" {people.SKIP}"):
            return None  # what stood in the form was not said
        return people.answer_of(typed)
