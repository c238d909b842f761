"""What a plan is to the engine and to all doors. What it says is said elsewhere: here it has its one name."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from engine.evidence.told import Said
from engine.models import Gate, ModelCall, Run
from engine.models.gates import Decision, title_that_fits
from engine.procedure import Asker
from engine.statements import fetch
from engine.tools import tool_named
from runs.at_gates import asked_by
from runs.face import Face, Snapshot
from runs.filters import People
from runs.fragments import Fragment
from runs.redaction import redact_due
from runs.retention import KeptFor
from runs.rows import with_run
from runs.saved.evidence import SavedWitness
from runs.saved.retention import kept_for

from . import (
    api,
    approvals,
    comparing,
    deciding,
    display,
    easing,
    evidence,
    guards,
    pages,
    procedure,
    rehearsal,
    replaying,
    schemas,
    taking_away,
    told,
)
from .as_model import AS_MODEL
from .display import Display, display_of
from .filters import HistoryForm
from .forking import PlanForks
from .fragments import fragments
from .models import OUTCOMES, Plan, Step, Team, keeping, reading
from .models.teams import council_uses
from .offers import OFFERS
from .rules.demands import Kind
from .rules.subjects import action_in
from .rules.words import Effect, Outcome
from .shelf import Teams

# where nothing else can be said without a choice
SAID_ALONE: Mapping[str, Mapping[str, str]] = {
    Kind.QUESTION: {Decision.ANSWER: "Answer"},
    Kind.SEAT: {Decision.APPROVE: "It is done"},
}


LETS = "_effects_of_its_steps"  # kept with a gate, for a list of many


class Planning(Face[Plan, Display]):
    noun, nouns = "plan", "plans"
    sign = "plan"
    schema = schemas.Plan
    as_model = AS_MODEL
    offers = OFFERS
    begun_at, begun_with = "plan-new", "task"
    begins_from = "plan__earlier"
    forks = PlanForks()
    verb, good_for = "Plan", "A task in steps. You see all of them before anything happens."
    going_on = "going on"
    outcomes = tuple(OUTCOMES)
    guards = guards.GUARDS
    chores = (redact_due, taking_away.erase_some)
    chains = (SavedWitness(Team),)
    rehearsals = {
        "plan": rehearsal.planner,
        "plan-tools": rehearsal.tools,
        "plan-move": rehearsal.agent,
        "plan-summary": rehearsal.closing,
    }
    stays = "What was done stays done."
    filters = ("team", "matter", "rehearsal")
    shelves = (Teams(),)
    perform = staticmethod(procedure.carry_out)
    answered = staticmethod(deciding.answered)
    place_of_words = staticmethod(deciding.place_of_words)
    word_sources = staticmethod(deciding.word_sources)
    council_uses = staticmethod(council_uses)
    eased = staticmethod(easing.eased)
    earlier = staticmethod(approvals.earlier)
    facts = staticmethod(api.facts)
    compared = staticmethod(comparing.compared)
    tell = staticmethod(evidence.tell)
    doubt = staticmethod(evidence.doubt)
    labels = staticmethod(evidence.labels)
    moments = staticmethod(replaying.moments)
    record_styles = ("css/plan.css",)
    record_without = ("prompt",)

    def erase(self, run: UUID) -> None:
        keeping.erase(run)

    def heard(self, run: Run) -> Q:
        [plan] = fetch(Plan, "pk", [run.pk])
        return plan.earlier_ones

    def beside(self, run: Run) -> list[Plan]:
        return reading.with_texts_beside(run.pk)

    def kept_for(self) -> KeptFor:
        return kept_for(Team, "plan__team_version")

    def rows(self) -> QuerySet[Plan]:
        return Plan.objects.whole()

    def rows_of_list(self) -> QuerySet[Plan]:
        return with_run(Plan.objects.select_related("team_version", "matter")).prefetch_related("team_version__agents")

    def facts_of_list(self, row: Plan) -> dict[str, Any]:
        return api.facts_of_list(row)

    def asker(self, run: UUID, step: str) -> Asker:
        kind, _, rest = step.partition("-")
        if kind != "step":
            return Asker("The planner", {"plan": "plan", "tools": "names of tools"}.get(kind, kind))
        number = rest.partition("-")[0]
        if not number.isdigit():
            return Asker()
        name = Step.objects.filter(plan=run, number=number).values_list("agent__name", flat=True).first()
        return Asker(name or "An agent", f"next move in step {number}")

    def calls(self, row: Plan) -> list[ModelCall]:
        return list(row.run.calls.all())

    def estimate(self, row: Plan) -> int | None:
        """Nobody knows how many moves its steps take."""
        return 0 if row.rehearsal else None

    def display(self, seen: Snapshot[Plan]) -> Display:
        return display_of(seen)

    def fragments(self, display: Display) -> Iterator[Fragment]:
        return fragments(display)

    def at(self, row: Plan, moment: datetime) -> Plan:
        return replaying.at(row, moment)

    def places(self, steps: Collection[tuple[UUID, str]]) -> Mapping[tuple[UUID, str], tuple[str, str]]:
        return reading.places_of(steps)

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> HistoryForm:
        return HistoryForm(asked, (*self.outcomes, *self.standings), people, user)

    def decided(self, outcome: str) -> tuple[str, str]:
        return display.OUTCOMES[Outcome(outcome)]

    def shown(self, run: Run) -> tuple[str, str]:
        return ("judging", "Working") if run.status == Run.Status.RUNNING else super().shown(run)

    def asked(self, row: Plan) -> dict[str, str]:
        return {"Task": row.task}

    def provenance(self, row: Plan) -> Iterator[tuple[str, str]]:
        yield "Team", f"{row.team_version.name}, version {row.team_version.number}"
        yield "Revisions", str(row.revision)

    def rehearsal(self, row: Plan) -> str:
        return "Rehearsal: no model was asked. Answers follow a stated rule." if row.rehearsal else ""

    def extra(self, request: HttpRequest, row: Plan) -> dict[str, Any]:
        return pages.beside(row, request)

    def words(self, gate: Gate) -> Mapping[str, str]:
        if gate.kind in SAID_ALONE:
            return SAID_ALONE[gate.kind]
        return {word: sentence for word, sentence in super().words(gate).items() if word != Decision.ANSWER}

    def refused_at(self, gate: Gate) -> Collection[tuple[str, str]]:
        return reading.refused_at(gate)

    def folds(self, gate: Gate) -> bool:
        """Its steps stand above it, and say what its text does."""
        return gate.kind in (Kind.PLAN, Kind.STEP)

    def look_at(self, gates: Sequence[Gate]) -> None:
        plans = [gate for gate in gates if gate.kind == Kind.PLAN]
        found = defaultdict(set)
        rows = Step.objects.filter(plan__in={gate.run_id for gate in plans}, last_in=None)
        for plan, effect in rows.order_by().values_list("plan", "effect").distinct():
            found[plan].add(effect)
        for gate in plans:
            gate.__dict__[LETS] = found[gate.run_id]

    def reaches_out(self, gate: Gate) -> bool:
        return gate.reaches_out or Effect.REACHES_OUT in _effects(gate)

    def changes_nothing(self, gate: Gate) -> bool:
        return set(_effects(gate)) == {Effect.READS}

    def comes_first(self, gate: Gate) -> bool:
        return gate.kind == Kind.PLAN

    def heading(self, gate: Gate) -> str:
        step = gate.title.partition(" of ")[0]
        if gate.kind == Kind.QUESTION:
            if gate.text.startswith("The planner "):  # it gave no plan, and is not who asks
                return title_that_fits(gate.text)
            return asked_by(f"{step} asks" if reading.number_of(gate) else "The planner asks", gate)
        if gate.kind == Kind.FAILURE and gate.title:
            return f"{step} failed. What now?"
        if gate.kind == Kind.SEAT:
            return asked_by(f"{step} is for a person", gate)
        action = " ".join(action_in(gate.text).split()) if gate.kind == Kind.STEP else ""
        return title_that_fits(f"{step}: {action}") if action else gate.title

    def recorded(self, seen: Snapshot[Plan], display: Display) -> dict[str, Any]:
        dropped = [step for step in seen.row.steps.all() if step.last_in is not None]
        return {
            "dropped": dropped,
            "came_about": [("Revisions", told.revisions(seen.row)), ("Moves", told.moves(seen.row))],
        }

    def contradictions(self, runs: Mapping[Any, Said]) -> Iterator[tuple[Any, str]]:
        yield from super().contradictions(runs)
        yield from evidence.misstanding(list(runs))

    def columns(self, row: Plan) -> tuple[Sequence[object], Sequence[object]]:
        return [row.task, row.team_version.name, row.team_version.number], [row.revision, row.summary]

    heads = (["task", "team", "team version"], ["revisions", "summary"])


def _effects(gate: Gate) -> Collection[str]:
    """Of all that a yes lets happen; none where that is not known of its kind."""
    if gate.kind == Kind.PLAN:
        return (
            gate.__dict__[LETS]
            if LETS in gate.__dict__
            else set(Step.objects.filter(plan=gate.run_id, last_in=None).values_list("effect", flat=True))
        )
    if gate.kind == Kind.TOOL:
        tool = tool_named(gate.tool)
        return [tool.effect if tool else Effect.REACHES_OUT]
    return [gate.effect] if gate.effect else []
