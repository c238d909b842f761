"""Registers inquiries with the engine, the pages, the API, MCP and commands."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from engine.audit.entries_from_rows import RunEntries
from engine.models import Gate, ModelCall, Run
from engine.models.gates import DecisionValue
from engine.runtime.procedure import InvalidAnswer, StepRequester
from runs.presets.entries import PresetEntrySource
from runs.presets.retention import preset_retention
from runs.procedure.exposure import ChatField, ChatModel, McpExposedResource, McpExposedTool
from runs.procedure.filters import People
from runs.procedure.filters import RunHistoryForm as AnyHistoryForm
from runs.procedure.fragments import PageFragment
from runs.procedure.spec import ListSummary, ProcedureSpec, RunSnapshot
from runs.record.redaction import redact_due
from runs.retention import KeptFor
from runs.row_queries import with_run

from . import comparison, display, entries, history, procedure, rehearsal, replay, responses, schemas
from .display import InquiryDisplay, display_of, fragments
from .gate_sources import sources_at
from .history import InquiryHistoryForm
from .models import DOCUMENTS, Inquiry, Roster, writes
from .models.presets import council_uses
from .presets import InquiryTeamSection
from .tools import sources, tables, web

DOCUMENT_SOURCE, WEB_SOURCE = "documents", "web"


def source_names() -> list[str]:
    """Return the names of sources in the chat API: MAGI's documents, and the web if a search is set up."""
    return [DOCUMENT_SOURCE, *([WEB_SOURCE] if settings.SEARCH else [])]


def chat_answer(inquiry: Mapping[str, Any], holds: str) -> dict[str, Any]:
    parts = [inquiry["answer"], inquiry["trace"] if inquiry["trace"] != inquiry["answer"] else None, inquiry["why"]]
    return {"answer": inquiry["answer"] or "", "reason": "\n\n".join(filter(None, parts))}


CHAT_MODEL = ChatModel(
    "inquiry",
    source_names,
    lambda name, text: {"question": text, "web": name == WEB_SOURCE},
    chat_answer,
    {"answer": ChatField()},
)

MCP_TOOLS = (
    McpExposedTool(
        "ask_inquiry",
        "Has a question answered from documents, step by step before critics; every quote is looked for "
        "in its source. It can say that it could not be answered.",
        "inquiries",
        schemas.NewInquiry,
    ),
)
MCP_RESOURCES = (McpExposedResource("sources", "A source of an inquiry, as it was read.", "inquiry_source"),)

ASKERS = {  # by the first part of a step's key
    "plan": StepRequester("The planner", "plan"),
    "research": StepRequester("The researcher", "next move"),
    "expert": StepRequester("The expert", "answer"),
    "critic": StepRequester("The critic", "review"),
    "finalizer": StepRequester("The finalizer", "final answer"),
}


class InquirySpec(ProcedureSpec[Inquiry, InquiryDisplay]):
    noun, nouns = "inquiry", "inquiries"
    sign = "inquiry"
    schema = schemas.InquiryOut
    as_model = CHAT_MODEL
    offers = MCP_TOOLS
    held = MCP_RESOURCES
    begun_at, begun_with = "inquiry-new", "question"
    begins_from = "inquiry__follows"
    verb, good_for = "Inquire", "A question answered from sources. Every quote is checked against its source."
    going_on = "asking"
    outcomes = tuple(display.OUTCOMES)
    documents = DOCUMENTS
    takes_files = True
    tools = (*sources.TOOLS, *tables.TOOLS, *web.TOOLS)
    chores = (redact_due,)
    acts = True
    survives = True
    rehearsal_speed = 3.0  # a dozen answers in well under a minute
    rehearsals = {
        "inquiry-plan": rehearsal.rehearse_planner,
        "inquiry-researcher": rehearsal.rehearse_researcher,
        "inquiry-expert": rehearsal.rehearse_expert,
        "inquiry-review": rehearsal.rehearse_critic,
        "inquiry-final": rehearsal.rehearse_finalizer,
    }
    stays = "The answer stays."
    filters = (*InquiryHistoryForm.sets, "rehearsal")
    shelves = (InquiryTeamSection(),)
    council_uses = staticmethod(council_uses)
    chains = (PresetEntrySource(Roster),)
    perform = staticmethod(procedure.perform)
    facts = staticmethod(responses.inquiry_fields)
    compared = staticmethod(comparison.compare_inquiries)
    build_entries = staticmethod(entries.build_entries)
    validate_entries = staticmethod(entries.validate_entries)
    labels = staticmethod(entries.labels)
    moments = staticmethod(replay.moments)
    record_styles = ("css/inquiry.css",)
    record_without = ("prompt",)

    def kept_for(self) -> KeptFor:
        return preset_retention(Roster, "inquiry__roster_version")

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> AnyHistoryForm:
        return InquiryHistoryForm(asked, (*self.outcomes, *self.standings), people)

    def prefetch_for_list(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return history.prefetch_for_list(rows)

    def glances(self, rows: Sequence[Inquiry]) -> Mapping[UUID, ListSummary]:
        return history.inquiry_summaries(rows)

    def erase(self, run: UUID) -> None:
        writes.erase(run)

    def rows(self) -> QuerySet[Inquiry]:
        return Inquiry.objects.with_assignments()

    def rows_of_list(self) -> QuerySet[Inquiry]:
        return with_run(Inquiry.objects.all()).prefetch_related("posts")

    def facts_of_list(self, row: Inquiry) -> dict[str, Any]:
        return {"rehearsal": row.rehearsal}

    def asker(self, run: UUID, step: str) -> StepRequester:
        place, *_ = step.split(".")
        return ASKERS.get(place, StepRequester())

    def calls(self, row: Inquiry) -> list[ModelCall]:
        return list(row.run.calls.all())

    def estimate(self, row: Inquiry) -> int | None:
        """Return None: the number of moves of its steps is unknown."""
        return 0 if row.rehearsal else None

    def display(self, seen: RunSnapshot[Inquiry]) -> InquiryDisplay:
        return display_of(seen)

    def fragments(self, display: InquiryDisplay) -> Iterator[PageFragment]:
        return fragments(display)

    def at_moment(self, row: Inquiry, moment: datetime) -> Inquiry:
        return replay.at_moment(row, moment)

    def outcome_filter(self, outcome: str) -> tuple[str, str]:
        return display.OUTCOMES[outcome]

    def filter_labels(self, run: Run) -> tuple[str, str]:
        return ("judging", "At work") if run.status == Run.Status.RUNNING else super().filter_labels(run)

    def prompts(self, row: Inquiry) -> dict[str, str]:
        return {"Question": row.question}

    def provenance(self, row: Inquiry) -> Iterator[tuple[str, str]]:
        yield "Retries", f"{row.state.retry_count} of {row.retry_limit}"
        yield "Sources", str(len(row.sources.all()))

    def rehearsal(self, row: Inquiry) -> str:
        return "Rehearsal: no model was asked. Answers follow a stated rule." if row.rehearsal else ""

    def related_run_ids(self, run: UUID) -> QuerySet[Run]:
        """Return the inquiries that follow this one: they have its sources."""
        return Run.objects.filter(inquiry__follows=run)

    def apply_decision(self, gate: Gate, choice: str, answer: Any) -> None:
        """Check a decision: a review is approved or rejected, and a person who rejects says what has to change."""
        decision = gate.last_decision
        if decision and decision.decision == DecisionValue.ANSWER:
            raise InvalidAnswer([("decision", "Only a decision is asked for: approve or reject it.")])
        if answer is not None:
            raise InvalidAnswer([("answer", "Only a decision is asked for. Leave it out.")])
        if (
            decision
            and decision.decision == DecisionValue.REJECT
            and decision.by_user_id
            and len(decision.text.split()) < 2
        ):
            raise InvalidAnswer([("text", "Say what has to change, in two words at least.")])

    def changes_nothing(self, gate: Gate) -> bool:
        return gate.kind == procedure.GATE

    def button_labels(self, gate: Gate) -> Mapping[str, str]:
        return {DecisionValue.APPROVE: "Approve work", DecisionValue.REJECT: "Reject work"}

    def gate_context(self, gate: Gate, typed: Mapping[str, Any]) -> dict[str, Any]:
        if gate.kind != procedure.GATE or gate.run.redacted:
            return {}
        return {"beside": "inquiries/_gate_sources.html", "look_up": sources_at(gate)}

    def unsealed_mismatches(self, runs: Mapping[Any, RunEntries]) -> Iterator[tuple[Any, str]]:
        yield from super().unsealed_mismatches(runs)
        yield from entries.inconsistent_runs(list(runs))

    def columns(self, row: Inquiry) -> tuple[Sequence[object], Sequence[object]]:
        return [row.question], [row.state.retry_count, row.answer]

    heads = (["question"], ["retries", "answer"])
