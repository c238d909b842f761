"""What a judgement is to the engine and to all doors. What it says is said elsewhere: here it has its one name."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from engine.llm.failures import sentence_of
from engine.models import ModelCall, Run
from engine.procedure import Asker
from runs.face import Face, Look, Snapshot
from runs.filters import People
from runs.fragments import Fragment
from runs.redaction import redact_due
from runs.rows import with_run
from runs.saved.evidence import SavedWitness

from . import (
    api,
    comparing,
    deciding,
    evidence,
    glances,
    guards,
    one_button,
    procedure,
    record,
    rehearsal,
    retention,
    schemas,
    tables,
)
from .again import again_of, with_texts_beside
from .as_model import AS_MODEL
from .display import Display, display_of, newly_decided
from .filters import HistoryForm
from .fragments import fragments
from .models import STANDINGS, Agent, Council, Judgement, Remark, RoundDecision, status_of
from .models.judgements import CONTENT_LENGTH
from .offers import OFFERS
from .parts import PLATE
from .rules import ROUNDS, SEATS, Verdict
from .sentences import sentence_of_swayed
from .shelf import Councils


class Judging(Face[Judgement, Display]):
    noun, nouns = "judgement", "judgements"
    sign = "judge"
    schema = schemas.Judgement
    as_model = AS_MODEL
    offers = OFFERS
    going_on = "judging"
    begun_at, begun_with = "new", "content"
    begins_from = "judgement__earlier"
    longest_text = CONTENT_LENGTH
    verb, good_for = "Judge", "Yes or no to one thing. Three agents, each with its own criteria."
    guards = guards.GUARDS
    rehearsals = {procedure.DECISION.name: rehearsal.answer}
    chores = (redact_due,)
    chains = (SavedWitness(Council),)
    waits = False
    decider_part = "judgements/_at_gate.html"
    outcome_name = evidence.OUTCOME_NAME
    outcomes = tuple(Verdict)
    flags = tuple(Remark)
    looks = (Look(Remark.SWAYED, "Swayed", "the first round alone would have decided otherwise", "retry"),)
    stays = "The agents' verdict stays."
    filters = ("council", "rehearsal")
    standings = STANDINGS
    shelves = (Councils(),)
    heads = tables.HEADS
    tabled = staticmethod(tables.tabled)
    word = staticmethod(status_of)
    perform = staticmethod(procedure.judge)
    tell = staticmethod(evidence.tell)
    doubt = staticmethod(evidence.doubt)
    labels = staticmethod(evidence.labels)
    kept_for = staticmethod(retention.kept_for)
    grounds = staticmethod(deciding.grounds)
    judged_as = staticmethod(deciding.judged_as)
    facts = staticmethod(api.facts)
    compared = staticmethod(comparing.compared)
    recorded = staticmethod(record.recorded)

    def page_name(self, page: str) -> str:
        return page  # as before there were others

    def erase(self, run: UUID) -> None:
        Judgement.objects.filter(pk=run).update(content="")
        RoundDecision.objects.filter(agent__judgement=run).update(reason="")

    def of_text(self, owner: Any, text: str, title: str) -> UUID | None:
        return one_button.judged(owner, text, title)

    def rows(self) -> QuerySet[Judgement]:
        return Judgement.objects.whole()

    def rows_of_list(self) -> QuerySet[Judgement]:
        return with_run(Judgement.objects.all()).select_related("council_version").prefetch_related("agents")

    def facts_of_list(self, row: Judgement) -> dict[str, Any]:
        return api.facts_of_list(row)

    def calls(self, row: Judgement) -> list[ModelCall]:
        return row.calls

    def estimate(self, row: Judgement) -> int | None:
        return row.estimate().cost

    def display(self, seen: Snapshot[Judgement]) -> Display:
        return display_of(seen.row, list(seen.calls), seen.texts)

    def failure(self, row: Judgement, call: ModelCall) -> dict[str, Any]:
        who, what = self.asker(row.pk, call.step)
        return {"message": sentence_of(who, what, call.attempt, call.error)}

    def asker(self, run: UUID, step: str) -> Asker:
        name = Agent.objects.values_list("name", flat=True).filter(judgement=run, seat=step[:1]).first()
        return Asker(name or "An agent", f"decision in round {step[1:]}")

    def halts(self, row: Judgement) -> list[datetime]:
        """When all three had decided: else nobody would see it of those that decided last."""
        made = [[d.made for agent in row.agents.all() for d in agent.decided if d.round == n] for n in ROUNDS[:-1]]
        return [max(times) for times in made if len(times) == len(SEATS)]

    def answers(self, row: Judgement) -> dict[int, str]:
        return {d.call_id: d.reason for agent in row.agents.all() for d in agent.decided}

    def chapter(self, before: Display | None, display: Display) -> str:
        begun = display.begun
        if not begun or (before and before.begun == begun):
            return ""
        return "Round 1" if begun == 1 else str(begun)

    def mark(self, before: Display | None, display: Display) -> str:
        return super().mark(before, display) or (newly_decided(before, display) if before else "")

    def fragments(self, display: Display) -> Iterator[Fragment]:
        return fragments(display)

    def listed(self, rows: QuerySet[Judgement]) -> QuerySet[Judgement]:
        return rows.select_related("run__owner", "council_version").defer("content")

    def glances(self, rows: Sequence[Judgement]) -> Mapping[UUID, glances.Glance]:
        return glances.glances(rows)

    def columns(self, row: Judgement) -> tuple[Sequence[object], Sequence[object]]:
        return tables.columns(row)

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> HistoryForm:
        return HistoryForm(asked, people)

    def shown(self, run: Run) -> tuple[str, str]:
        return PLATE[status_of(run)]

    def decided(self, outcome: str) -> tuple[str, str]:
        return PLATE[outcome]

    def extra(self, request: HttpRequest, row: Judgement) -> dict[str, Any]:
        return {"again": again_of(row, request.user)}

    def why(self, row: Judgement, look: Look) -> str:
        return sentence_of_swayed(row) or look.sentence

    def beside(self, run: Run) -> list[Judgement]:
        return with_texts_beside(run.pk)

    def provenance(self, row: Judgement) -> Iterator[tuple[str, str]]:
        return record.provenance(row)

    def asked(self, row: Judgement) -> dict[str, str]:
        return {"Content": row.content}

    def rehearsal(self, row: Judgement) -> str:
        return row.rehearsal_sentence
