"""The judgement's procedure spec: its names and hooks for the engine and all interfaces."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from engine.llm.errors import sentence_of
from engine.models import ModelCall, Run
from engine.runtime.procedure import StepRequester
from runs.presets.entries import PresetEntrySource
from runs.presets.retention import preset_retention as kept_for_by
from runs.procedure.exposure import ChatField, ChatModel, McpExposedTool
from runs.procedure.filters import People
from runs.procedure.fragments import PageFragment
from runs.procedure.spec import ProcedureSpec, ReviewFlag, RunSnapshot
from runs.record.redaction import redact_due
from runs.retention import KeptFor
from runs.row_queries import with_run

from . import comparison, council_approval, entries, history, procedure, record, rehearsal, responses, schemas
from .display import JudgementDisplay, display_of, fragments, new_decisions
from .estimate import MODELS, too_long_for
from .history import JudgementHistoryForm
from .models import (
    STATUS_LABELS,
    Council,
    CouncilChanged,
    CouncilRequired,
    Judgement,
    JudgementAgent,
    JudgementFlag,
    RoundDecision,
    status_of,
)
from .models.judgements import CONTENT_LENGTH
from .presets import CouncilSection
from .rerun import rerun_of, texts_loaded
from .rules import ROUNDS, SEATS, AgentDecision, Verdict
from .sentences import swayed_sentence
from .view_model import STATUS_TEXT

VERDICT_TEXT = {Verdict.APPROVED: "approves", Verdict.REJECTED: "rejects"}
CHAT_FIELDS = {
    "verdict": ChatField(words=tuple(Verdict)),
    "decision": ChatField(words=tuple(AgentDecision)),
    "approved": ChatField("boolean"),
    "reasons": ChatField("array"),
}


def chat_answer(judgement: Mapping[str, Any], holds: str) -> dict[str, Any]:
    approved = holds == Verdict.APPROVED
    reasons = [_reason(agent) for agent in judgement["agents"]]
    return {
        "verdict": holds,
        "decision": str(AgentDecision.APPROVE if approved else AgentDecision.REJECT),
        "approved": approved,
        "reasons": reasons,
        "reason": "\n".join(reasons),
    }


def _reason(agent: Mapping[str, Any]) -> str:
    who = f"{agent['name']} (agent {agent['seat']})"
    return f"{who} {VERDICT_TEXT[agent['verdict']]} ({agent['score']}): {agent['decisions'][-1]['reason']}"


def _names() -> list[str]:
    return [one.name for one in council_approval.offered()]


CHAT_MODEL = ChatModel(
    "council", _names, lambda name, text: {"content": text, "council": name}, chat_answer, CHAT_FIELDS
)

MCP_TOOLS = (
    McpExposedTool(
        "request_judgement",
        "Three agents judge in three rounds whether this very content may pass; fixed rules make approved "
        "or rejected of it. Name a council, or three agents. Act only on approved.",
        "judgements",
        schemas.NewJudgement,
    ),
    McpExposedTool(
        "list_councils",
        "The councils that can judge, and their agents. By `name`, one council with what each agent looks for.",
        "councils",
        one="council",
    ),
)


def judge_text(owner: Any, text: str, title: str) -> UUID | None:
    """Submit a judgement by the first available council; return its id, or None if no council can judge the text."""
    council = Council.objects.available().with_content().first()
    if council is None or council.current is None or not 0 < len(text) <= CONTENT_LENGTH:
        return None
    if any(too_long_for(text, agent, model) for agent in council.agents() for model in MODELS):
        return None
    asked = {"content": text, "title": title, "agents": council.agents(), "council": council.current}
    with suppress(CouncilChanged, CouncilRequired):  # it was revised just now
        return procedure.submit(owner=owner, limited=True, **asked).pk
    return None


def retention_days() -> KeptFor:
    return kept_for_by(Council, "judgement__council_version")


class JudgementSpec(ProcedureSpec[Judgement, JudgementDisplay]):
    noun, nouns = "judgement", "judgements"
    sign = "judge"
    schema = schemas.JudgementOut
    as_model = CHAT_MODEL
    offers = MCP_TOOLS
    going_on = "judging"
    begun_at, begun_with = "new", "content"
    begins_from = "judgement__earlier"
    longest_text = CONTENT_LENGTH
    verb, good_for = "Judge", "Yes or no to one thing. Three agents, each with its own criteria."
    rehearsals = {procedure.DECISION.name: rehearsal.answer}
    chores = (redact_due,)
    chains = (PresetEntrySource(Council),)
    waits = False
    decider_part = "judgements/_at_gate.html"
    outcome_name = entries.OUTCOME_NAME
    outcomes = tuple(Verdict)
    flags = tuple(JudgementFlag)
    looks = (ReviewFlag(JudgementFlag.SWAYED, "Swayed", "the first round alone would have decided otherwise", "retry"),)
    stays = "The agents' verdict stays."
    filters = (*JudgementHistoryForm.sets, "rehearsal")
    standings = STATUS_LABELS
    shelves = (CouncilSection(),)
    heads = history.TABLE_HEADERS
    prefetch_for_table = staticmethod(history.prefetch_for_table)
    status_label = staticmethod(status_of)
    perform = staticmethod(procedure.perform)
    build_entries = staticmethod(entries.build_entries)
    validate_entries = staticmethod(entries.validate_entries)
    labels = staticmethod(entries.labels)
    kept_for = staticmethod(retention_days)
    explanation = staticmethod(council_approval.explanation)
    judged_as = staticmethod(council_approval.judged_as)
    facts = staticmethod(responses.judgement_fields)
    compared = staticmethod(comparison.compare_judgements)
    recorded = staticmethod(record.judgement_record)

    def page_name(self, page: str) -> str:
        return page  # the names of these pages are older than the other procedures

    def erase(self, run: UUID) -> None:
        Judgement.objects.filter(pk=run).update(content="")
        RoundDecision.objects.filter(agent__judgement=run).update(reason="")

    def of_text(self, owner: Any, text: str, title: str) -> UUID | None:
        return judge_text(owner, text, title)

    def rows(self) -> QuerySet[Judgement]:
        return Judgement.objects.with_agents()

    def rows_of_list(self) -> QuerySet[Judgement]:
        return with_run(Judgement.objects.all()).select_related("council_version").prefetch_related("agents")

    def facts_of_list(self, row: Judgement) -> dict[str, Any]:
        return responses.facts_of_list(row)

    def calls(self, row: Judgement) -> list[ModelCall]:
        return row.calls

    def estimate(self, row: Judgement) -> int | None:
        return row.estimate().cost

    def display(self, seen: RunSnapshot[Judgement]) -> JudgementDisplay:
        return display_of(seen.row, list(seen.calls), seen.texts)

    def failure(self, row: Judgement, call: ModelCall) -> dict[str, Any]:
        who, what = self.asker(row.pk, call.step)
        return {"message": sentence_of(who, what, call.attempt, call.error)}

    def asker(self, run: UUID, step: str) -> StepRequester:
        name = JudgementAgent.objects.values_list("name", flat=True).filter(judgement=run, seat=step[:1]).first()
        return StepRequester(name or "An agent", f"decision in round {step[1:]}")

    def reveal_pauses(self, row: Judgement) -> list[datetime]:
        """Return when all three agents had decided in rounds 1 and 2: the replay pauses there, so that the last
        decision can be seen."""
        made = [[d.made for agent in row.agents.all() for d in agent.decided if d.round == n] for n in ROUNDS[:-1]]
        return [max(times) for times in made if len(times) == len(SEATS)]

    def answers(self, row: Judgement) -> dict[int, str]:
        return {d.call_id: d.reason for agent in row.agents.all() for d in agent.decided}

    def chapter(self, before: JudgementDisplay | None, display: JudgementDisplay) -> str:
        begun = display.running_round
        if not begun or (before and before.running_round == begun):
            return ""
        return "Round 1" if begun == 1 else str(begun)

    def replay_mark(self, before: JudgementDisplay | None, display: JudgementDisplay) -> str:
        return super().replay_mark(before, display) or (new_decisions(before, display) if before else "")

    def fragments(self, display: JudgementDisplay) -> Iterator[PageFragment]:
        return fragments(display)

    def prefetch_for_list(self, rows: QuerySet[Judgement]) -> QuerySet[Judgement]:
        return rows.select_related("run__owner", "council_version").defer("content")

    def glances(self, rows: Sequence[Judgement]) -> Mapping[UUID, history.JudgementSummary]:
        return history.judgement_summaries(rows)

    def columns(self, row: Judgement) -> tuple[Sequence[object], Sequence[object]]:
        return history.table_columns(row)

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> JudgementHistoryForm:
        return JudgementHistoryForm(asked, people)

    def filter_labels(self, run: Run) -> tuple[str, str]:
        return STATUS_TEXT[status_of(run)]

    def outcome_filter(self, outcome: str) -> tuple[str, str]:
        return STATUS_TEXT[outcome]

    def viewer_context(self, request: HttpRequest, row: Judgement) -> dict[str, Any]:
        return {"again": rerun_of(row, request.user)}

    def flag_reason(self, row: Judgement, look: ReviewFlag) -> str:
        return swayed_sentence(row) or look.sentence

    def rows_sharing_texts(self, run: Run) -> list[Judgement]:
        return texts_loaded(run.pk)

    def provenance(self, row: Judgement) -> Iterator[tuple[str, str]]:
        return record.provenance(row)

    def prompts(self, row: Judgement) -> dict[str, str]:
        return {"Content": row.content}

    def rehearsal(self, row: Judgement) -> str:
        return row.rehearsal_sentence
