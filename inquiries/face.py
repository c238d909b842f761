"""What an inquiry is to the engine and to all doors. What it says is said elsewhere: here it has its one name."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from engine.evidence.told import Said
from engine.models import Gate, ModelCall, Run
from engine.models.gates import Decision
from engine.procedure import Asker, DoesNotFit
from runs.face import Face, Glance, Snapshot
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
    display,
    evidence,
    glances,
    guards,
    procedure,
    rehearsal,
    replaying,
    schemas,
    standing,
    tables,
    tools,
    web,
)
from .as_model import AS_MODEL
from .display import Display, display_of
from .filters import HistoryForm
from .fragments import fragments
from .gate_sources import sources_at
from .models import DOCUMENTS, Inquiry, Roster, keeping
from .models.rosters import council_uses
from .offers import HELD, OFFERS
from .shelf import Rosters

ASKERS = {  # by the first part of a step's key
    "plan": Asker("The planner", "plan"),
    "research": Asker("The researcher", "next move"),
    "expert": Asker("The expert", "answer"),
    "critic": Asker("The critic", "review"),
    "finalizer": Asker("The finalizer", "final answer"),
}


class Asking(Face[Inquiry, Display]):
    noun, nouns = "inquiry", "inquiries"
    sign = "inquiry"
    schema = schemas.Inquiry
    as_model = AS_MODEL
    offers = OFFERS
    held = HELD
    begun_at, begun_with = "inquiry-new", "question"
    begins_from = "inquiry__follows"
    verb, good_for = "Inquire", "A question answered from sources. Every quote is checked against its source."
    going_on = "asking"
    outcomes = tuple(display.OUTCOMES)
    guards = guards.GUARDS
    documents = DOCUMENTS
    tools = (*tools.TOOLS, *tables.TOOLS, *web.TOOLS)
    chores = (redact_due,)
    acts = True
    survives = True
    hurry = 3.0  # a dozen answers in well under a minute
    rehearsals = {
        "inquiry-plan": rehearsal.planner,
        "inquiry-researcher": rehearsal.researcher,
        "inquiry-expert": rehearsal.expert,
        "inquiry-review": rehearsal.critic,
        "inquiry-final": rehearsal.finalizer,
    }
    stays = "The answer stays."
    filters = ("roster", "rehearsal")
    shelves = (Rosters(),)
    council_uses = staticmethod(council_uses)
    chains = (SavedWitness(Roster),)
    perform = staticmethod(procedure.inquire)
    facts = staticmethod(api.facts)
    compared = staticmethod(comparing.compared)
    tell = staticmethod(evidence.tell)
    doubt = staticmethod(evidence.doubt)
    labels = staticmethod(evidence.labels)
    moments = staticmethod(replaying.moments)
    record_styles = ("css/inquiry.css",)
    record_without = ("prompt",)

    def kept_for(self) -> KeptFor:
        return kept_for(Roster, "inquiry__roster_version")

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> AnyHistoryForm:
        return HistoryForm(asked, (*self.outcomes, *self.standings), people)

    def listed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return glances.listed(rows)

    def glances(self, rows: Sequence[Inquiry]) -> Mapping[UUID, Glance]:
        return glances.glances(rows)

    def erase(self, run: UUID) -> None:
        keeping.erase(run)

    def rows(self) -> QuerySet[Inquiry]:
        return Inquiry.objects.whole()

    def rows_of_list(self) -> QuerySet[Inquiry]:
        return with_run(Inquiry.objects.all()).prefetch_related("posts")

    def facts_of_list(self, row: Inquiry) -> dict[str, Any]:
        return {"rehearsal": row.rehearsal}

    def asker(self, run: UUID, step: str) -> Asker:
        place, *_ = step.split(".")
        return ASKERS.get(place, Asker())

    def calls(self, row: Inquiry) -> list[ModelCall]:
        return list(row.run.calls.all())

    def estimate(self, row: Inquiry) -> int | None:
        """Nobody knows how many moves its steps take."""
        return 0 if row.rehearsal else None

    def display(self, seen: Snapshot[Inquiry]) -> Display:
        return display_of(seen)

    def fragments(self, display: Display) -> Iterator[Fragment]:
        return fragments(display)

    def at(self, row: Inquiry, moment: datetime) -> Inquiry:
        return replaying.at(row, moment)

    def decided(self, outcome: str) -> tuple[str, str]:
        return display.OUTCOMES[outcome]

    def shown(self, run: Run) -> tuple[str, str]:
        return ("judging", "At work") if run.status == Run.Status.RUNNING else super().shown(run)

    def asked(self, row: Inquiry) -> dict[str, str]:
        return {"Question": row.question}

    def provenance(self, row: Inquiry) -> Iterator[tuple[str, str]]:
        yield "Retries", f"{row.state.retry_count} of {row.retry_limit}"
        yield "Sources", str(len(row.sources.all()))

    def rehearsal(self, row: Inquiry) -> str:
        return "Rehearsal: no model was asked. Answers follow a stated rule." if row.rehearsal else ""

    def bound(self, run: UUID) -> QuerySet[Run]:
        """Those that follow it have its sources."""
        return Run.objects.filter(inquiry__follows=run)

    def answered(self, gate: Gate, choice: str, answer: Any) -> None:
        """Who sends work back says what has to change; a review is a yes or a no."""
        said = gate.last
        if said and said.decision == Decision.ANSWER:
            raise DoesNotFit([("decision", "Only a decision is asked for: approve or reject it.")])
        if answer is not None:
            raise DoesNotFit([("answer", "Only a decision is asked for. Leave it out.")])
        if said and said.decision == Decision.REJECT and said.by_user_id and len(said.text.split()) < 2:
            raise DoesNotFit([("text", "Say what has to change, in two words at least.")])

    def changes_nothing(self, gate: Gate) -> bool:
        return gate.kind == procedure.GATE

    def words(self, gate: Gate) -> Mapping[str, str]:
        return {Decision.APPROVE: "Approve work", Decision.REJECT: "Reject work"}

    def gate_context(self, gate: Gate, typed: Mapping[str, Any]) -> dict[str, Any]:
        if gate.kind != procedure.GATE or gate.run.redacted:
            return {}
        return {"beside": "inquiries/_gate_sources.html", "look_up": sources_at(gate)}

    def contradictions(self, told: Mapping[Any, Said]) -> Iterator[tuple[Any, str]]:
        yield from super().contradictions(told)
        yield from standing.misstanding(list(told))

    def columns(self, row: Inquiry) -> tuple[Sequence[object], Sequence[object]]:
        return [row.question], [row.state.retry_count, row.answer]

    heads = (["question"], ["retries", "answer"])
