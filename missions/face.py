"""What a mission is to the engine and to all doors. What it says is said elsewhere: here it has its one name."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from engine.evidence.told import Said
from engine.models import Gate, ModelCall, Run
from engine.models.gates import Decision
from engine.procedure import Asker
from runs.at_gates import asked_by
from runs.face import Face, Snapshot
from runs.filters import HistoryForm as AnyHistoryForm
from runs.filters import People
from runs.fragments import Fragment
from runs.redaction import redact_due
from runs.retention import KeptFor
from runs.rows import with_run
from runs.saved.evidence import SavedWitness
from runs.saved.retention import kept_for

from . import (
    api,
    comparing,
    customs,
    display,
    evidence,
    guards,
    leaving,
    pages,
    probing,
    procedure,
    rehearsal,
    remembering,
    replaying,
    schemas,
    tools,
)
from .as_model import AS_MODEL
from .display import Display, display_of
from .filters import HistoryForm
from .forking import MissionForks
from .fragments import fragments
from .models import Agent, Crew, Mission, keeping
from .models.reading import asked_in
from .models.remarks import Remark
from .offers import HELD, OFFERS
from .repositories import cloning
from .rules import OWN_STEPS
from .shelf import Crews, Memories


class Working(Face[Mission, Display]):
    noun, nouns = "mission", "missions"
    sign = "mission"
    schema = schemas.Mission
    as_model = AS_MODEL
    offers = OFFERS
    held = HELD
    begun_at, begun_with = "mission-new", "goal"
    begins_from = "mission__follows"
    forks = MissionForks()
    verb, good_for = "Work", "A goal that agents pursue in a sandbox: they run commands and change files."
    going_on = "working"
    outcomes = tuple(display.OUTCOMES)
    flags = tuple(Remark)
    shelves = (Crews(), Memories())
    guards = guards.GUARDS
    chains = (remembering.MemoryWitness(), SavedWitness(Crew))
    tools = tools.TOOLS
    chores = (redact_due, probing.daily, cloning.sweep)
    acts = True
    survives = True
    hurry = 3.0
    rehearsals = {
        "mission-step": rehearsal.step,
        "mission-summary": rehearsal.summary,
        "mission-memory": rehearsal.shorter,
    }
    stays = "The result stays."
    filters = ("crew", "rehearsal")
    perform = staticmethod(procedure.work)
    council_uses = staticmethod(leaving.council_uses)
    held_back = staticmethod(procedure.held_back)
    facts = staticmethod(api.facts)
    compared = staticmethod(comparing.compared)
    tell = staticmethod(evidence.tell)
    doubt = staticmethod(evidence.doubt)
    labels = staticmethod(evidence.labels)

    def contradictions(self, told: Mapping[Any, Said]) -> Iterator[tuple[Any, str]]:
        yield from super().contradictions(told)
        yield from evidence.misnamed(list(told))

    moments = staticmethod(replaying.moments)
    record_styles = ("css/mission.css",)
    record_without = ("prompt",)

    def kept_for(self) -> KeptFor:
        return kept_for(Crew, "mission__crew_version")

    def erase(self, run: UUID) -> None:
        keeping.erase(run)

    def bound(self, run: UUID) -> QuerySet[Run]:
        """Those that follow it have its files."""
        return Run.objects.filter(mission__follows=run)

    def rows(self) -> QuerySet[Mission]:
        return Mission.objects.whole()

    def rows_of_list(self) -> QuerySet[Mission]:
        return with_run(Mission.objects.all()).prefetch_related("agents")

    def facts_of_list(self, row: Mission) -> dict[str, Any]:
        return {"rehearsal": row.rehearsal}

    def asker(self, run: UUID, step: str) -> Asker:
        what, number = asked_in(step)
        if not number:
            return Asker()
        name = Agent.objects.filter(mission=run, number=number).values_list("name", flat=True).first()
        return Asker(name or "An agent", what)

    def calls(self, row: Mission) -> list[ModelCall]:
        return list(row.run.calls.all())

    def estimate(self, row: Mission) -> int | None:
        """Nobody knows how many steps it takes."""
        return 0 if row.rehearsal else None

    def display(self, seen: Snapshot[Mission]) -> Display:
        return display_of(seen)

    def fragments(self, display: Display) -> Iterator[Fragment]:
        return fragments(display)

    def grown(self, row: Mission) -> Mapping[str, str]:
        return {} if row.run.over else display.grown(row)

    def extra(self, request: HttpRequest, row: Mission) -> dict[str, Any]:
        return pages.beside(row, request)

    def at(self, row: Mission, moment: datetime) -> Mission:
        return replaying.at(row, moment)

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> AnyHistoryForm:
        return HistoryForm(asked, (*self.outcomes, *self.standings), people)

    def decided(self, outcome: str) -> tuple[str, str]:
        return display.OUTCOMES[outcome]

    def shown(self, run: Run) -> tuple[str, str]:
        return ("judging", "Working") if run.status == Run.Status.RUNNING else super().shown(run)

    def asked(self, row: Mission) -> dict[str, str]:
        return {"Goal": row.goal}

    def provenance(self, row: Mission) -> Iterator[tuple[str, str]]:
        yield "Crew", ", ".join(one.name for one in row.crew_list)
        if held := customs.read(row.customs):
            yield "Customs", customs.shown(held)
        yield "Steps", str(len(row.steps.all()))

    def rehearsal(self, row: Mission) -> str:
        return "Rehearsal: no model was asked. Steps follow a stated script." if row.rehearsal else ""

    def heading(self, gate: Gate) -> str:
        is_asked_by_agent = gate.kind == "question" and not gate.step.startswith(OWN_STEPS)
        return asked_by(gate.title.partition(":")[0], gate) if is_asked_by_agent else gate.title

    def words(self, gate: Gate) -> Mapping[str, str]:
        return {Decision.APPROVE: "Approve once", Decision.REJECT: "Reject"}

    def columns(self, row: Mission) -> tuple[Sequence[object], Sequence[object]]:
        return [row.goal], [len(row.steps.all()), row.result]

    heads = (["goal"], ["steps", "result"])
